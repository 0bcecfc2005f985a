"""What Grafana's dashboard-linter asks for, and what our own conventions add.

The linter itself can't be installed here. Its rules on the template variables `job` and
`instance`, and on their matchers in every query, hold for the exporter's own dashboard
alone: the others show the clouds, whichever replica saw them, and choose by account,
environment and region.
"""

import re
from collections import Counter
from urllib.parse import parse_qsl, urlsplit

import promql_parser as promql
import pytest

from boards import links
from tests.dashboards.files import ALL, Json, all_panels, all_queries, all_variables

PANELS = {f"{uid} / {panel['title']}": panel for uid, panel in all_panels()}
VARIABLES = {f"{uid} / {one['name']}": one for uid, one in all_variables()}
QUERIES = dict(all_queries())
CHAINS = {
    "gpu-fleet": ["account", "environment", "region"],
    "gpu-fabric": ["account", "environment", "region", "fabric"],
    "gpu-node": ["account", "environment", "region", "fabric", "node"],
    "gpu-nsml-runs": ["account", "project", "run"],
    "gpu-exporter": ["account", "environment", "region", "job", "instance"],
}
UNITS = {
    "none", "short", "s", "bytes", "percentunit", "ops", "reqps", "bool_on_off", "bool_yes_no",
    "dateTimeAsIso", "dateTimeFromNow",
}  # fmt: skip
ELSEWHERE = {urlsplit(link.url).path: link for link in (links.DCGM, links.NODE_EXPORTER)}
_PER_OBJECT = re.compile(r"max by \([^)]*_id[^)]*\)|topk")
_BY_PLACE = re.compile(r"(?:sum|max) by \(account, environment, region\)")
_BUILT_IN = re.compile(r"\$\{__(?:url_time_range|data\.fields|field\.labels)[^}]*\}")


def all_links(panel: Json) -> list[Json]:
    """Return the links of all fields of a panel."""
    config = panel["fieldConfig"]
    return [
        *config["defaults"].get("links", []),
        *(
            link
            for override in config["overrides"]
            for each in override["properties"]
            if each["id"] == "links"
            for link in each["value"]
        ),
    ]


@pytest.mark.parametrize("board", ALL.values(), ids=list(ALL))
def test_the_data_source_is_a_variable(board: Json) -> None:
    """template-datasource-rule: the first variable chooses a Prometheus; nothing is an input."""
    first = board["templating"]["list"][0]
    assert (first["type"], first["name"], first["query"]) == (
        "datasource",
        "datasource",
        "prometheus",
    )
    assert first["label"] == "Data source"
    assert "__inputs" not in board
    assert "__requires" not in board


def test_a_panel_asks_the_chosen_data_source() -> None:
    """panel-datasource-rule: so does each of its queries."""
    for name, one in PANELS.items():
        asked = [one["datasource"], *(target["datasource"] for target in one["targets"])]
        assert {(each["type"], each["uid"]) for each in asked} == {
            ("prometheus", "${datasource}")
        }, name


def test_a_panel_says_what_it_shows() -> None:
    """panel-title-description-rule: in a sentence or two, and no two panels have one name."""
    assert len(PANELS) == len(list(all_panels()))
    for name, one in PANELS.items():
        assert one["title"], name
        assert one["description"].endswith("."), name
        assert len(one["description"]) < 300, name


def test_a_panel_has_a_unit_and_thresholds() -> None:
    """panel-units-rule, for every kind of panel; thresholds rise from one without a value."""
    for name, one in PANELS.items():
        defaults = one["fieldConfig"]["defaults"]
        assert defaults["unit"] in UNITS, name
        first, *others = [step["value"] for step in defaults["thresholds"]["steps"]]
        assert first is None, name
        assert others == sorted(set(others)), name


def test_a_panel_has_queries_named_once() -> None:
    """panel-no-targets-rule; and each query has a letter of its own."""
    for name, one in PANELS.items():
        letters = [target["refId"] for target in one["targets"]]
        assert letters, name
        assert letters == sorted(set(letters)), name


def test_a_query_is_promql() -> None:
    """target-promql-rule, template-label-promql-rule: also those of variables and annotations."""
    for query in QUERIES.values():
        promql.parse(re.sub(r"\$__\w+", "1m", query))


def test_a_rate_is_over_the_rate_interval() -> None:
    """target-rate-interval-rule, target-counter-agg-rule: and a counter is never shown bare."""
    for name, query in QUERIES.items():
        assert set(re.findall(r"\[([^\]]+)\]", query)) <= {"$__rate_interval"}, name
        counters = re.findall(r"\w+(?:_total|_bucket)\{", query)
        assert len(counters) == len(re.findall(r"rate\(\w+(?:_total|_bucket)\{", query))


def test_the_exporters_own_dashboard_chooses_job_and_instance() -> None:
    """template-job-rule, template-instance-rule, target-job-rule, target-instance-rule."""
    for name in ("job", "instance"):
        variable = VARIABLES[f"gpu-exporter / {name}"]
        assert variable["multi"]
        assert variable["includeAll"]
    for name, query in QUERIES.items():
        if name.startswith("gpu-exporter") and not re.search(r"\$|Firing", name):
            assert query.count('job=~"$job"') == query.count('instance=~"$instance"') > 0, name


@pytest.mark.parametrize("uid", CHAINS)
def test_variables_are_chained_in_order(uid: str) -> None:
    """Each is chosen from what those before it allow; hidden ones follow from the others."""
    seen = ["datasource"]
    for variable in ALL[uid]["templating"]["list"][1:]:
        used = set(re.findall(r"\$(?!__)(\w+)", variable["query"]["query"]))
        assert used <= set(seen), variable["name"]
        seen.append(variable["name"])
    shown = [one["name"] for one in ALL[uid]["templating"]["list"] if not one["hide"]]
    assert shown == ["datasource", *CHAINS[uid]]


def test_a_variable_takes_several_values_or_all() -> None:
    """template-on-time-change-reload-rule: and it is read again when the time range changes."""
    for name, one in VARIABLES.items():
        if one["type"] == "query":
            assert one["multi"], name
            assert one["includeAll"], name
            assert one["refresh"] == 2, name
            # All names no values, but for the hidden ones, which name a few of many.
            assert one.get("allValue") == (None if one["hide"] else ".*"), name


def test_a_chosen_value_is_a_regular_expression() -> None:
    """Several values become one; a variable that is compared otherwise would find nothing."""
    for name, query in QUERIES.items():
        used = re.findall(r"\$(?!__)\w+", query)
        assert len(re.findall(r'=~"\$\w+"', query)) == len(used), name


def test_a_panel_uses_only_variables_that_its_dashboard_has() -> None:
    """In its queries and in its links."""
    for name, one in PANELS.items():
        uid = name.partition(" / ")[0]
        has = {variable["name"] for variable in ALL[uid]["templating"]["list"]}
        texts = [target["expr"] for target in one["targets"]]
        texts += [_BUILT_IN.sub("", link["url"]) for link in all_links(one)]
        used = {name for text in texts for name in re.findall(r"\$\{?(?!__)(\w+)", text)}
        assert used <= has, name


def test_a_link_leads_to_a_dashboard_that_takes_what_it_brings() -> None:
    """Each parameter is a variable there; the time range comes along."""
    for name, one in PANELS.items():
        for link in all_links(one):
            url = urlsplit(link["url"])
            assert "${__url_time_range}" in url.query, name
            if url.path in ELSEWHERE:
                continue
            target = ALL[url.path.removeprefix("/d/")]
            has = {variable["name"] for variable in target["templating"]["list"]}
            given = {key.removeprefix("var-") for key, _ in parse_qsl(url.query)}
            given |= set(re.findall(r"\$\{(\w+):queryparam\}", url.query))
            assert given <= has | {"environment", "region"}, link["url"]


@pytest.mark.parametrize("title", [t for t in PANELS if t.startswith("gpu-fleet")])
def test_every_number_of_the_overview_leads_on(title: str) -> None:
    """To the dashboard that explains it, by a link with what was chosen."""
    urls = [link["url"] for link in all_links(PANELS[title])]
    assert [url for url in urls if not url.startswith("/d/gpu-fleet")]
    assert all("${datasource:queryparam}" in url for url in urls)


def test_a_column_that_links_need_is_in_the_table() -> None:
    """A link names a column by its title; filtered out, it would lead nowhere."""
    for name, one in PANELS.items():
        needed = {
            match
            for link in all_links(one)
            for match in re.findall(r'__data\.fields(?:\["|\.)(\w[\w ]*?)(?:"\])?[:}]', link["url"])
        }
        if one["type"] == "table":
            [organize] = [step for step in one["transformations"] if step["id"] == "organize"]
            assert needed <= set(organize["options"]["renameByName"].values()), name
        else:
            assert not needed, name


def test_a_table_or_timeline_has_a_limit() -> None:
    """Nothing draws 10,000 rows: of objects there are top lists, counts, or a chosen few."""
    for name, one in PANELS.items():
        for target in one["targets"]:
            expr = target["expr"]
            limited = re.search(r"\b(?:top|bottom)k\(\d+, ", expr) or '=~"$worst_' in expr
            of_objects = one["type"] == "table" or _PER_OBJECT.match(expr)
            assert limited or not of_objects or _BY_PLACE.match(expr), name


@pytest.mark.parametrize("board", ALL.values(), ids=list(ALL))
def test_panels_lie_in_the_grid_and_never_overlap(board: Json) -> None:
    """Numbers are unique, widths end at 24, and each place of the grid belongs to one panel."""
    assert max(Counter(panel["id"] for panel in board["panels"]).values()) == 1
    places: Counter[tuple[int, int]] = Counter()
    for panel in board["panels"]:
        grid = panel["gridPos"]
        assert grid["x"] + grid["w"] <= 24
        for x in range(grid["x"], grid["x"] + grid["w"]):
            places.update((x, y) for y in range(grid["y"], grid["y"] + grid["h"]))
    assert max(places.values()) == 1


@pytest.mark.parametrize("board", ALL.values(), ids=list(ALL))
def test_firing_alerts_are_marked(board: Json) -> None:
    """By an annotation that names the alert and shows those of what was chosen."""
    [annotation] = board["annotations"]["list"]
    assert annotation["enable"]
    assert annotation["expr"].startswith('ALERTS{alertstate="firing"')
    assert 'account=~"$account"' in annotation["expr"]
    assert annotation["titleFormat"] == "{{alertname}}"


@pytest.mark.parametrize("board", ALL.values(), ids=list(ALL))
def test_a_dashboard_is_of_the_schema_of_grafana_10_4(board: Json) -> None:
    """Newer ones migrate it; it refreshes, can't be edited in place, and is found by its tag."""
    assert board["schemaVersion"] == 39
    assert board["refresh"] == "30s"
    assert board["editable"] is False  # template-uneditable-rule
    assert board["tags"] == ["gpu-cluster-exporter"]
    assert (board["time"]["from"], board["time"]["to"]) == ("now-3h", "now")
