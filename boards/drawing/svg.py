"""The few elements of SVG that a plain drawing needs."""

from collections.abc import Iterable
from html import escape

FONT = "Inter, Roboto, 'DejaVu Sans', Helvetica, Arial, sans-serif"
TEXT = "#ccccdc"
DIM = "#8e8e9b"
GRID = "#2c3235"
PAGE = "#111217"
PANEL = "#181b1f"
_WIDTH_OF_A_LETTER = 0.58


def text(  # noqa: PLR0913 - each is one attribute
    x: float,
    y: float,
    words: str,
    *,
    size: float = 12,
    colour: str = TEXT,
    anchor: str = "start",
    weight: str = "normal",
) -> str:
    """Return words whose base line begins, or is centred, or ends at a point."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"'
        f' text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'
    )


def rectangle(  # noqa: PLR0913 - each is one attribute
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    opacity: float = 1.0,
    stroke: str = "none",
    radius: float = 0,
) -> str:
    """Return a filled rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
        f' fill="{fill}" fill-opacity="{opacity:g}" stroke="{stroke}" rx="{radius:g}"/>'
    )


def line(points: Iterable[tuple[float, float]], colour: str, *, dashed: bool = False) -> str:
    """Return a line through points."""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'


def area(points: Iterable[tuple[float, float]], colour: str) -> str:
    """Return a filled area within points."""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polygon points="{joined}" fill="{colour}" fill-opacity="0.75"/>'


def part(x: float, y: float, width: float, height: float, *content: str) -> str:
    """Return a drawing within a drawing, cut off at its edges."""
    box = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return "\n".join([f"<svg {box}>", *content, "</svg>"])


def page(width: float, height: float, *content: str) -> str:
    """Return a whole drawing as a file holds it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}"'
        f' viewBox="0 0 {width:g} {height:g}" font-family="{FONT}">'
    )
    return "\n".join([head, rectangle(0, 0, width, height, PAGE), *content, "</svg>"]) + "\n"


def shortened(words: str, width: float, size: float = 12) -> str:
    """Return words cut off where they would not fit."""
    fit = int(width / (size * _WIDTH_OF_A_LETTER))
    return words if len(words) <= fit else words[: max(fit - 1, 1)] + "…"
