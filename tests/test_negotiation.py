"""Negotiation: each scraper gets the format and compression that it prefers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.negotiation import OPENMETRICS, TEXT, accepts_gzip, content_type

OM = "application/openmetrics-text"

SCRAPERS = {
    "Prometheus 2.5 to 2.40": (
        f"{OM}; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        OPENMETRICS,
    ),
    "Prometheus 2.42": (
        f"{OM};version=1.0.0,{OM};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        OPENMETRICS,
    ),
    "Prometheus 2.42 with native histograms": (
        (
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
            f"encoding=delimited,{OM};version=1.0.0;q=0.8,{OM};version=0.0.1;q=0.75,"
            "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
        ),
        OPENMETRICS,
    ),
    "Prometheus 2.50 and later": (
        (
            f"{OM};version=1.0.0;q=0.5,{OM};version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,"
            "*/*;q=0.2"
        ),
        OPENMETRICS,
    ),
    "Prometheus 3": (
        (
            f"{OM};version=1.0.0;escaping=allow-utf-8;q=0.6,"
            f"{OM};version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
            "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
        ),
        OPENMETRICS,
    ),
    "Prometheus 3 without OpenMetrics": (
        (
            "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5,"
            "*/*;q=0.2"
        ),
        TEXT,
    ),
    "Grafana Alloy and the OpenTelemetry collector, protobuf first": (
        (
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
            f"encoding=delimited;q=0.6,{OM};version=1.0.0;escaping=allow-utf-8;q=0.5,"
            f"{OM};version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
            "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
        ),
        OPENMETRICS,
    ),
    "VictoriaMetrics": ("text/plain;version=0.0.4;q=1,*/*;q=0.1", TEXT),
    "Telegraf": (
        (
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
            "encoding=delimited;q=0.7,text/plain;version=0.0.4;q=0.3"
        ),
        TEXT,
    ),
    "a browser": (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        TEXT,
    ),
    "curl": ("*/*", TEXT),
    "no header": ("", TEXT),
}


@pytest.mark.parametrize(("header", "wanted"), SCRAPERS.values(), ids=SCRAPERS)
def test_scrapers_get_the_format_that_they_prefer(header: str, wanted: str) -> None:
    """The Accept headers of real scrapers get OpenMetrics where that stands first, else text."""
    assert content_type(header) == wanted


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (OM, OPENMETRICS),
        (f"{OM};version=1.0.0", OPENMETRICS),
        (f'{OM}; version="1.0.0"; charset=utf-8', OPENMETRICS),
        (f"{OM.upper()};VERSION=1.0.0;Q=1", OPENMETRICS),
        (f"{OM};version=2.0.0", TEXT),
        (f"{OM};version=2.0.0,{OM};version=1.0.0;q=0.1", OPENMETRICS),
        ("text/plain", TEXT),
        ("text/plain;version=1.0.0", TEXT),
        ("application/json", TEXT),
        ("text/*", TEXT),
    ],
)
def test_version_is_part_of_what_is_asked_for(header: str, wanted: str) -> None:
    """A version that is not served is not chosen; without a version the served one is meant."""
    assert content_type(header) == wanted


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (f"{OM};q=0.9,text/plain;q=0.1", OPENMETRICS),
        (f"text/plain;q=0.1,{OM};q=0.9", OPENMETRICS),
        (f"{OM};q=0.1,text/plain;q=0.9", TEXT),
        (f"{OM};q=0.001,text/plain;q=0", OPENMETRICS),
        (f"{OM};q=0.5,*/*;q=0.9", TEXT),
        (f"{OM};q=0", TEXT),
        (f"{OM};q=0.0,*/*", TEXT),
        (f"{OM};q=0,text/plain;q=0", TEXT),
    ],
)
def test_quality_values_decide(header: str, wanted: str) -> None:
    """The highest quality wins, wherever it stands; 0 refuses."""
    assert content_type(header) == wanted


@pytest.mark.parametrize(
    "header",
    [
        f"{OM},text/plain",
        f"text/plain,{OM}",
        f"{OM};q=0.5,text/plain;q=0.5",
        f"{OM},*/*",
        "*/*,*/*",
    ],
)
def test_equal_qualities_get_text(header: str) -> None:
    """Where nothing is preferred the page is in the format that every scraper reads."""
    assert content_type(header) == TEXT


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (f"*/*,text/plain;q=0.1,{OM};q=0.5", OPENMETRICS),
        (f"text/*,text/plain;q=0.1,{OM};q=0.5", OPENMETRICS),
        (f"text/plain;q=0.1,{OM};q=0.5,*/*;q=0.8", OPENMETRICS),
        ("text/plain;q=0,*/*", OPENMETRICS),
        ("text/*;q=0.2,*/*;q=0.4", OPENMETRICS),
        ("application/*", OPENMETRICS),
        ("application/*;q=0.5,text/*;q=0.8", TEXT),
    ],
)
def test_the_most_specific_range_speaks_for_a_format(header: str, wanted: str) -> None:
    """A wildcard's quality is that of what no closer range names."""
    assert content_type(header) == wanted


@pytest.mark.parametrize(
    "header",
    [
        f"{OM};q=high", f"{OM};q=", f"{OM};q=-1", f"{OM};q=1.5", f"{OM};q=nan", f"{OM};q=inf",
        f"{OM};version=abc", f"{OM};version=1.0.0.0.0", f"{OM}/1.0.0",
        ";", ",", ",,;;,=", "=;q==", "\x00", '"', f'"{OM}"', "text", "é;q=½", "q=1", ";q=1",
    ],
)  # fmt: skip
def test_malformed_header_gets_text(header: str) -> None:
    """What can't be understood gets what every scraper reads, and no error."""
    assert content_type(header) == TEXT


@given(st.text() | st.lists(st.sampled_from([OM, "text/plain", ";", ",", "q=", "0.5", "*/*", "="])))
def test_any_header_gets_an_answer(header: str | list[str]) -> None:
    """Whatever a header holds, it gets one of the two formats, and gzip or not."""
    text = "".join(header)

    assert content_type(text) in {TEXT, OPENMETRICS}
    assert accepts_gzip(text) in {True, False}


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("gzip", True),  # Prometheus, VictoriaMetrics, Alloy
        ("gzip,deflate", True),
        ("gzip, deflate, br, zstd", True),  # browsers
        ("deflate, gzip;q=1.0, *;q=0.5", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("*", True),
        ("*;q=0.1", True),
        ("identity;q=1, gzip;q=0.001", True),
        ("", False),
        ("identity", False),
        ("deflate, br", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000", False),
        ("gzip;q=0, *", False),
        ("*;q=0", False),
        ("gzip;q=0, x-gzip", False),
        ("gzip ; q = 0", False),
        ("gzip;q=high", False),
        ("gzip;q=2", False),
        ("gzipped", False),
        (",;,", False),
    ],
)
def test_gzip_is_used_where_it_is_accepted(header: str, wanted: bool) -> None:  # noqa: FBT001 - data
    """Compression is for those who take it: `gzip;q=0` and unreadable headers do not."""
    assert accepts_gzip(header) is wanted
