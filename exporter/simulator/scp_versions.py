"""The versions of the SCP API: the document that lists them, and which one answers a request."""

import datetime as dt
from dataclasses import dataclass

from exporter.simulator.calls import Call
from exporter.simulator.errors import Refused
from exporter.simulator.facts import Facts
from exporter.simulator.scp_models import ApiVersion, VersionLink, VersionsResponse

SERVICE = "multinodegpucluster"
COMING_DAYS = 60
PAST_DAYS = -7


@dataclass(frozen=True, slots=True)
class Version:
    """A version; `not_before` is the day its status is tied to."""

    number: str
    status: str
    not_before: dt.date

    def is_served(self, today: dt.date) -> bool:
        """Say whether it still answers: a deprecated version ends with its day."""
        return self.status != "DEPRECATED" or today < self.not_before


OLD = (
    Version("1.1", "DEPRECATED", dt.date(2026, 3, 31)),
    Version("1.0", "DEPRECATED", dt.date(2025, 12, 31)),
)
PAGE = (Version("1.2", "CURRENT", dt.date(2026, 2, 23)), *OLD)
SUCCESSOR = Version("1.3", "CURRENT", dt.date(2026, 9, 1))


def versions(facts: Facts, wall: float) -> tuple[Version, ...]:
    """Return the versions, the newest first, as the facts have them."""
    today = dt.datetime.fromtimestamp(wall, dt.UTC).date()
    end = today + dt.timedelta(days=PAST_DAYS if facts.scp_versions == "expired" else COMING_DAYS)
    listed: dict[str, tuple[Version, ...]] = {
        "page": PAGE,
        "successor": (SUCCESSOR, Version("1.2", "SUPPORTED", PAGE[0].not_before), *OLD),
        "withdrawn": (SUCCESSOR,),
    }
    return listed.get(facts.scp_versions, (SUCCESSOR, Version("1.2", "DEPRECATED", end), *OLD))


def document(facts: Facts, wall: float, address: str) -> VersionsResponse:
    """Write the version document; `address` is where it stands."""
    return VersionsResponse(
        versions=[
            ApiVersion.model_validate(
                {
                    "id": f"v{version.number}",
                    "status": version.status,
                    "not_before": _day(version, facts),
                    "links": [VersionLink(href=f"{address}/v1", rel="self")],
                }
            )
            for version in versions(facts, wall)
        ]
    )


def served(call: Call, facts: Facts, wall: float) -> str:
    """Return the number of the version that answers the request: the newest where none is asked.

    Raises Refused (400) for a version that isn't served, or a header of another form.
    """
    listed = versions(facts, wall)
    header = call.headers.get("Scp-Api-Version")
    if header is None:
        return listed[0].number
    service, _, number = header.strip().partition(" ")
    today = dt.datetime.fromtimestamp(wall, dt.UTC).date()
    known = {version.number for version in listed if version.is_served(today)}
    if service != SERVICE or number.strip() not in known:
        raise Refused(400, "The API version is not supported")
    return number.strip()


def _day(version: Version, facts: Facts) -> str:
    if facts.scp_not_before == "dashed":
        return version.not_before.isoformat()
    return "-" if version.status == "CURRENT" else version.not_before.strftime("%Y%m%d")
