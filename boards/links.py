"""Links from one dashboard to another, which take along what was chosen."""

from boards.panels import Link

_TIME = "${__url_time_range}"
_PLACE = "${account:queryparam}&${environment:queryparam}&${region:queryparam}"
_DATASOURCE = "${datasource:queryparam}"

DCGM = Link(
    "GPUs of the node (dcgm-exporter)",
    f"/d/Oxed_c6Wz?var-instance=${{__data.fields.Address:percentencode}}:9400&{_TIME}",
)
"""NVIDIA's own dashboard of its exporter, by the uid that it is published with."""

NODE_EXPORTER = Link(
    "System of the node (node_exporter)",
    f"/d/rYdddlPWk?var-node=${{__data.fields.Address:percentencode}}:9100&{_TIME}",
)
"""The dashboard "Node Exporter Full", by the uid that it is published with."""


def to(uid: str, title: str, *chosen: str) -> Link:
    """Return a link to a dashboard with the place that is chosen here, and more parameters."""
    parts = (_DATASOURCE, *([] if any("account" in c for c in chosen) else [_PLACE]), *chosen)
    return Link(title, f"/d/{uid}?{'&'.join((*parts, _TIME))}")


def field(name: str) -> str:
    """Return the variable for a field of a table's row, by the title of its column."""
    return f'${{__data.fields["{name}"]:percentencode}}'


def label(name: str) -> str:
    """Return the variable for a label of the series."""
    return f"${{__field.labels.{name}:percentencode}}"
