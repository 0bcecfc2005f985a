"""Numbers as Grafana writes them in the units that the dashboards use."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

_SCALES = ((86400 * 365, "year"), (86400 * 30, "month"), (86400, "day"), (3600, "h"), (60, "min"))
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")


def shown(value: float, unit: str, now: float) -> str:
    """Return a number in a unit; `now` is what dates are told from."""
    if unit == "dateTimeFromNow":
        return _from_now(value / 1000 - now)
    return _UNITS.get(unit, _short)(value)


def _plain(value: float) -> str:
    return f"{value:.3g}" if value % 1 else f"{value:.0f}"


def _short(value: float) -> str:
    for size, letter in ((1e9, " Bil"), (1e6, " Mil"), (1e3, " K")):
        if abs(value) >= size:
            return _plain(value / size) + letter
    return _plain(value)


def _seconds(value: float) -> str:
    if 0 < abs(value) < 1:
        return f"{value * 1000:.3g} ms"
    for size, name in _SCALES:
        if abs(value) >= size:
            return f"{value / size:.3g} {name}" + ("s" if size >= 86400 and value != size else "")  # noqa: PLR2004 - days and longer
    return f"{value:.3g} s"


def _from_now(seconds: float) -> str:
    words = _seconds(abs(seconds))
    return f"in {words}" if seconds > 0 else f"{words} ago"


def _bytes(value: float) -> str:
    for unit in _BYTES:
        if abs(value) < 1024 or unit == _BYTES[-1]:  # noqa: PLR2004 - bytes in a KiB
            break
        value /= 1024
    return f"{value:.3g} {unit}"


_UNITS: Mapping[str, Callable[[float], str]] = {
    "none": _plain,
    "short": _short,
    "s": _seconds,
    "bytes": _bytes,
    "percentunit": lambda value: f"{value * 100:.3g}%",
    "ops": lambda value: f"{_short(value)} ops/s",
    "reqps": lambda value: f"{_short(value)} req/s",
    "bool_on_off": lambda value: "On" if value else "Off",
    "bool_yes_no": lambda value: "Yes" if value else "No",
    "dateTimeAsIso": lambda value: f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M:%S}",
}
