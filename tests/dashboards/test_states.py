"""The colours of states: one for each, which people of every colour vision tell apart."""

from itertools import combinations

import pytest

from boards.states import FAILED, GOOD, LOOKS, UNLISTED, code_mappings, code_table, name_mappings
from exporter.clouds.fields import NOT_REPORTED
from exporter.config.models import NsmlAccount
from exporter.sites import vocabularies

Triple = tuple[float, float, float]

KINDS = {kind: vocabulary.listed for kind, vocabulary in vocabularies().items()}
TERMINAL = NsmlAccount.model_fields["terminal_run_states"].default
PANEL_BACKGROUNDS = {"dark": "#181b1f", "light": "#ffffff"}

# How the three kinds of dichromats see linear RGB: Machado, Oliveira and Fernandes, 2009.
VISIONS: dict[str, tuple[Triple, Triple, Triple]] = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "no blue": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
LEAST_DIFFERENCE = 10.0
"""Of CIE 1976: about 2 is the least that can be seen side by side."""


def linear(colour: str) -> Triple:
    """Return the linear RGB of a colour like #009E73."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return red, green, blue


def times(matrix: tuple[Triple, Triple, Triple], vector: Triple) -> Triple:
    """Multiply a matrix and a vector, and keep what is left of it within 0 and 1."""
    first, second, third = (
        min(max(sum(a * b for a, b in zip(row, vector, strict=True)), 0), 1) for row in matrix
    )
    return first, second, third


def lab(rgb: Triple) -> Triple:
    """Return linear RGB in CIE L*a*b*, under daylight."""
    to_xyz = (
        (0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047),
        (0.2126729, 0.7151522, 0.0721750),
        (0.0193339 / 1.08883, 0.1191920 / 1.08883, 0.9503041 / 1.08883),
    )
    x, y, z = (
        part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116
        for part in times(to_xyz, rgb)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one: str, other: str, vision: str) -> float:
    """Return how far apart two colours are to someone."""
    seen = (lab(times(VISIONS[vision], linear(colour))) for colour in (one, other))
    return float(sum((a - b) ** 2 for a, b in zip(*seen, strict=True)) ** 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_every_listed_state_has_a_look(kind: str) -> None:
    """A state that the exporter lists is never shown as one that nobody knows."""
    assert set(KINDS[kind]) <= LOOKS.keys()


def test_every_terminal_state_of_a_run_has_a_look() -> None:
    """Those that the configuration names by default."""
    assert set(TERMINAL) <= LOOKS.keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vision", VISIONS)
def test_states_of_one_kind_differ_to_every_eye(kind: str, vision: str) -> None:
    """Each two of one kind that may stand side by side, and what is not listed."""
    colours = {state: LOOKS[state].colour for state in KINDS[kind]}
    colours["not listed"] = UNLISTED.colour
    close = {
        (one, other): round(difference(colours[one], colours[other], vision), 1)
        for one, other in combinations(colours, 2)
        if difference(colours[one], colours[other], vision) < LEAST_DIFFERENCE
    }
    assert close == {}


@pytest.mark.parametrize("vision", VISIONS)
def test_failure_is_far_from_health(vision: str) -> None:
    """What matters most is seen at a glance."""
    for state in FAILED.split("|"):
        assert difference(GOOD, LOOKS[state].colour, vision) > 3 * LEAST_DIFFERENCE


@pytest.mark.parametrize("background", PANEL_BACKGROUNDS)
def test_every_state_stands_out_from_the_panel(background: str) -> None:
    """In Grafana's dark theme and in its light one."""
    for state, look in LOOKS.items():
        assert difference(look.colour, PANEL_BACKGROUNDS[background], "all colours") > 15, state


def test_a_worse_state_has_a_higher_code() -> None:
    """Timelines keep the worst: failed before unknown before off before at work."""
    order = ["RUNNING", "CREATING", "STOPPED", NOT_REPORTED, "UNKNOWN", "ERROR"]
    codes = [LOOKS[state].code for state in order]
    assert codes == sorted(codes)
    assert len({look.code for look in LOOKS.values()} | {UNLISTED.code}) == len(LOOKS) + 1


def test_codes_names_and_queries_tell_of_the_same_states() -> None:
    """One table makes them all."""
    [codes] = code_mappings()
    names, other = name_mappings()
    assert {each["text"]: each["color"] for each in codes["options"].values()} == {
        **{state: look.colour for state, look in LOOKS.items()},
        "not listed": UNLISTED.colour,
    }
    assert names["options"].keys() == LOOKS.keys()
    assert other["options"]["result"]["color"] == UNLISTED.colour
    assert all(
        f'vector({look.code}), "state", "{state}"' in code_table() for state, look in LOOKS.items()
    )
