"""Nodes as targets of Prometheus: what is asked, what is listed, and for how long."""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from exporter.discovery import Answer, Group, NotListedYet, answer
from exporter.questions import GPU_NODES, MOST_PORTS, RUN_NODES, BadQuestion, Kind, question
from exporter.snapshots import Snapshot
from tests.seen import (
    STALE_AFTER,
    fabric_target,
    gpu_node,
    gpu_node_target,
    run_node,
    run_node_target,
    run_nodes,
    sighting,
)


def ask(query: str, *snapshots: Snapshot, kind: Kind = GPU_NODES) -> Answer:
    """Return the answer to the query of a URL."""
    return answer(question(kind, parse_qsl(query, keep_blank_values=True)), snapshots)


def runs(query: str, *snapshots: Snapshot) -> Answer:
    """Return the answer to a query for nodes of runs."""
    return ask(query, *snapshots, kind=RUN_NODES)


def ids(found: Answer, label: str = "__meta_scp_gpu_node_id") -> list[str]:
    """Return the ids of the nodes of an answer."""
    return [group["labels"][label] for group in found.groups]


def addresses(groups: Iterable[Group]) -> list[str]:
    """Return the addresses of an answer."""
    return [address for group in groups for address in group["targets"]]


def refusal(query: str, *snapshots: Snapshot, kind: Kind = GPU_NODES) -> str:
    """Return why a question has no answer."""
    with pytest.raises(BadQuestion) as raised:
        ask(query, *snapshots, kind=kind)
    return str(raised.value)


@pytest.fixture
def west() -> Snapshot:
    """Give a region with three nodes in two fabrics."""
    snapshot = gpu_node_target()
    first = {"cluster_fabric_name": "first", "node_pool_id": "P1", "server_type": "g2"}
    second = {"cluster_fabric_name": "second", "node_pool_id": "P2", "server_type": "g3"}
    nodes = (
        gpu_node("c", policy_ip="10.0.0.3", state="ERROR", **second),
        gpu_node("a", policy_ip="10.0.0.1", **first),
        gpu_node("b", policy_ip="10.0.0.2", policy_nat="198.51.100.2", **first),
    )
    snapshot.update(sighting(*nodes), 0.0)
    return snapshot


@pytest.fixture
def east() -> Snapshot:
    """Give another region, whose list is empty."""
    snapshot = gpu_node_target(region="kr-east1")
    snapshot.update(sighting(), 0.0)
    return snapshot


def test_a_node_is_listed_with_its_ports_and_labels(west: Snapshot) -> None:
    """One group for each node: a target for each port, and the control plane's labels."""
    groups = ask("port=9400&port=9100&port=9400", west).groups
    assert groups[0] == {
        "targets": ["10.0.0.1:9400", "10.0.0.1:9100"],
        "labels": {
            "__meta_scp_account": "prod",
            "__meta_scp_environment": "e",
            "__meta_scp_region": "kr-west1",
            "__meta_scp_gpu_node_id": "a",
            "__meta_scp_gpu_node_name": "name-a",
            "__meta_scp_gpu_node_state": "RUNNING",
            "__meta_scp_cluster_fabric_id": "",
            "__meta_scp_cluster_fabric_name": "first",
            "__meta_scp_node_pool_id": "P1",
            "__meta_scp_server_type": "g2",
            "__meta_scp_gpu_model": "model of g2",
            "__meta_scp_vpc_id": "",
        },
    }


def test_nodes_stand_in_a_lasting_order(west: Snapshot) -> None:
    """By their ids, however the API lists them, and whatever their states are."""
    assert ids(ask("port=9400", west)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("account=prod", "abc"),
        ("region=kr-west1&environment=e", "abc"),
        ("region=kr-west1&region=kr-east1", "abc"),
        ("region=kr-east1", ""),
        ("state=RUNNING", "ab"),
        ("state=error", "c"),
        ("state=RUNNING&state=ERROR", "abc"),
        ("cluster_fabric_name=second", "c"),
        ("cluster_fabric_name=first&cluster_fabric_name=second", "abc"),
        ("node_pool_id=P1", "ab"),
        ("server_type=g3&state=RUNNING", ""),
        ("address=policy_ip", "abc"),
        ("address=policy_nat", "b"),
    ],
)
def test_filters_choose(west: Snapshot, east: Snapshot, query: str, expected: str) -> None:
    """Of each filter one value has to fit; a filter that fits none leaves an empty list."""
    assert "".join(ids(ask(f"port=9400&{query}", west, east))) == expected


def test_the_public_address_is_asked_for(west: Snapshot) -> None:
    """A node that has none is left out."""
    groups = ask("port=9400&address=policy_nat", west).groups
    assert addresses(groups) == ["198.51.100.2:9400"]


def test_a_public_address_that_is_not_in_use_is_none() -> None:
    """Somebody else may have it by now."""
    snapshot = gpu_node_target()
    node = gpu_node("a", policy_nat="198.51.100.1", policy_use_nat=False)
    snapshot.update(sighting(node), 0.0)
    assert ask("port=1&address=policy_nat", snapshot).groups == []


@pytest.mark.parametrize(
    ("given", "listed"),
    [
        (" 10.0.0.9 ", ["10.0.0.9:9400"]),
        ("2001:db8::0:1", ["[2001:db8::1]:9400"]),
        ("[2001:db8::1]", ["[2001:db8::1]:9400"]),
        ("node-1.example.com", ["node-1.example.com:9400"]),
        ("", []),
        (None, []),
        ("-", []),
        ("N/A", []),
        ("10.0.0.256", []),
        ("10.0.0.9/24", []),
        ("10.0.0.9:22", []),
        ("10.0.0.9, 10.0.0.10", []),
        ("0.0.0.0", []),  # noqa: S104 - nothing listens there
        ("::", []),
        ("http://10.0.0.9", []),
        ("exämple.com", []),
    ],
)
def test_an_address_is_an_address(given: str | None, listed: list[str]) -> None:
    """IPv6 stands in brackets; a node is left out where there is none, or none that can be."""
    snapshot = gpu_node_target()
    snapshot.update(sighting(gpu_node("a", policy_ip=given)), 0.0)
    assert addresses(ask("port=9400", snapshot).groups) == listed


def test_gpu_nodes_of_one_address_are_all_listed() -> None:
    """Private addresses may be the same in two VPCs, which their labels tell apart."""
    snapshot = gpu_node_target()
    snapshot.update(sighting(gpu_node("a", vpc_id="v"), gpu_node("b", vpc_id="w")), 0.0)
    found = ask("port=9400", snapshot)
    assert addresses(found.groups) == ["10.0.0.1:9400"] * 2
    assert found.shared == {}


@pytest.mark.parametrize(
    "port", ["0", "65536", "99999", "-1", "1e3", "9400/", "x", "tcp0", "\uff19"]
)
def test_a_bad_port_is_refused(west: Snapshot, port: str) -> None:
    """With what was found, and what is allowed."""
    expected = f"port is a number from 1 to 65535; found {port!r}"
    assert refusal(f"port=9400&port={port}", west) == expected


def test_an_answer_is_no_longer_than_it_need_be(west: Snapshot) -> None:
    """A query full of ports does not fill the memory."""
    ports = [f"port={number}" for number in range(1, MOST_PORTS + 2)]
    assert len(addresses(ask("&".join(ports[:-1]), west).groups)) == 3 * MOST_PORTS
    assert len(ask("&".join(ports[:-1] * 2), west).groups) == 3
    assert refusal("&".join(ports), west) == "33 ports are asked for, 32 at most are given"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "port is missing: name one or more, such as port=9400&port=9100"),
        ("port=", "port is empty: leave it out, or say what to look for"),
        ("port=1&region=", "region is empty: leave it out, or say what to look for"),
        ("port=1&address=nat", "unknown address 'nat'; known: policy_ip, policy_nat"),
        (
            "port=1&address=policy_ip&address=policy_nat",
            "address is named more than once; it is one of policy_ip, policy_nat",
        ),
        (
            "port=1&regio=kr-west1",
            (
                "unknown parameter 'regio'; did you mean region? known: port, address, account, "
                "environment, region, state, cluster_fabric_name, node_pool_id, server_type"
            ),
        ),
        (
            "port=1&account=test",
            "unknown account 'test' among those whose gpu_nodes are polled; known: prod",
        ),
        (
            "port=1&account=prod&account=test",
            "unknown account 'test' among those whose gpu_nodes are polled; known: prod",
        ),
        (
            "port=1&environment=g",
            "unknown environment 'g' among those whose gpu_nodes are polled; known: e",
        ),
        (
            "port=1&region=kr-west",
            (
                "unknown region 'kr-west' among those whose gpu_nodes are polled; "
                "did you mean kr-west1? known: kr-west1, kr-east1"
            ),
        ),
    ],
)
def test_a_bad_question_is_refused(
    west: Snapshot, east: Snapshot, query: str, expected: str
) -> None:
    """A slip of the pen must not look like a fleet that is gone."""
    assert refusal(query, west, east) == expected


def test_places_that_do_not_meet_are_refused(west: Snapshot) -> None:
    """An account and a region of two accounts are known, and nothing is polled at both."""
    other = gpu_node_target("test", "kr-east1")
    expected = "no gpu_nodes are polled where these meet: account test, region kr-west1"
    assert refusal("port=1&account=test&region=kr-west1", west, other) == expected


def test_an_account_whose_nodes_are_not_polled_is_refused() -> None:
    """It may have any number of nodes: that is no empty list."""
    expected = "no scp account of the configuration polls gpu_nodes"
    assert refusal("port=1&account=prod", fabric_target()) == expected
    assert refusal("port=1") == expected
    expected = "no nsml account of the configuration polls run_nodes"
    assert refusal("port=1", gpu_node_target(), kind=RUN_NODES) == expected


def test_before_the_first_whole_list_nobody_knows(west: Snapshot) -> None:
    """Neither an empty list nor half of one; what does not ask for that target has its answer."""
    east = gpu_node_target(region="kr-east1")
    for _ in range(2):
        with pytest.raises(NotListedYet, match=r"^no whole list yet: scp/prod/e/kr-east1/gpu_node"):
            ask("port=9400", west, east)
        assert ids(ask("port=9400&region=kr-west1", west, east)) == ["a", "b", "c"]
        east.update(sighting(gpu_node("d"), complete=False), 0.0)  # no whole list either
    east.update(sighting(), 30.0)
    assert ids(ask("port=9400", west, east)) == ["a", "b", "c"]


def test_an_empty_list_is_one(east: Snapshot) -> None:
    """Where the cloud says that there is nothing, nothing is listed."""
    assert ask("port=9400", east) == Answer([], {})


def test_a_node_is_gone_with_the_next_whole_list(west: Snapshot) -> None:
    """And not before: until then it is listed in whatever state it is."""
    west.update(sighting(gpu_node("a", state="TERMINATED"), gpu_node("b")), 30.0)
    assert ids(ask("port=9400", west)) == ["a", "b"]
    west.update(sighting(gpu_node("b")), 60.0)
    assert ids(ask("port=9400", west)) == ["b"]


def test_partial_polls_take_nothing_away(west: Snapshot) -> None:
    """What a partial poll does not see stays for good; what it does see is as it says."""
    for poll in range(1, 50):
        seen = gpu_node("b", policy_ip="10.0.0.22")
        west.update(sighting(seen, complete=False), poll * STALE_AFTER / 4)
    assert addresses(ask("port=9400", west).groups) == [
        "10.0.0.1:9400",
        "10.0.0.22:9400",
        "10.0.0.3:9400",
    ]
    west.update(sighting(gpu_node("b")), 10_000.0)
    assert ids(ask("port=9400", west)) == ["b"]


def test_what_only_partial_polls_saw_goes_when_it_is_old(west: Snapshot) -> None:
    """A list that is never whole does not grow for ever."""
    west.update(sighting(gpu_node("new"), complete=False), 30.0)
    assert ids(ask("port=9400", west)) == ["a", "b", "c", "new"]
    west.update(sighting(gpu_node("a"), complete=False), 31.0 + STALE_AFTER)
    assert ids(ask("port=9400", west)) == ["a", "b", "c"]


def test_a_reload_takes_nothing_away(west: Snapshot) -> None:
    """A target that is built anew has the list of the old one, also what only that remembers."""
    west.update(sighting(gpu_node("a"), complete=False), 2 * STALE_AFTER)
    renewed = gpu_node_target()
    renewed.adopt(west, 3 * STALE_AFTER)
    assert ids(ask("port=9400", renewed)) == ["a", "b", "c"]


def test_a_reload_before_the_first_list_makes_none() -> None:
    """A target that saw nothing has nothing to hand on."""
    renewed = gpu_node_target()
    renewed.adopt(gpu_node_target(), 1.0)
    with pytest.raises(NotListedYet):
        ask("port=9400", renewed)


@pytest.fixture
def research() -> Snapshot:
    """Give an account of runs whose nodes have a machine each, and ports of their own."""
    snapshot = run_node_target()
    first = run_node(
        "a",
        of="1",
        rank=0,
        host="203.0.113.1",
        tcpPorts=[15001, 15002],
        projectName="models",
        resourceType="8GPU",
    )
    second = run_node("b", of="2", rank=0, host="203.0.113.2", tcpPorts=[15001])
    snapshot.update(run_nodes({"1": [first], "2": [second]}), 0.0)
    return snapshot


RUN_NODE_ID = "__meta_nsml_node_id"


def test_a_node_of_a_run_is_listed_with_its_labels(research: Snapshot) -> None:
    """By its host, a number or one of its own open ports behind it."""
    groups = runs("port=9400&port=tcp1&port=tcp0", research).groups
    assert groups[0] == {
        "targets": ["203.0.113.1:9400", "203.0.113.1:15002", "203.0.113.1:15001"],
        "labels": {
            "__meta_nsml_account": "research",
            "__meta_nsml_project_id": "project",
            "__meta_nsml_project_name": "models",
            "__meta_nsml_run_name": "1",
            "__meta_nsml_node_id": "a",
            "__meta_nsml_rank": "0",
            "__meta_nsml_node_state": "RUNNING",
            "__meta_nsml_resource_type": "8GPU",
        },
    }


def test_a_node_without_such_a_port_is_left_out(research: Snapshot) -> None:
    """One that has others is listed with those."""
    assert ids(runs("port=tcp1", research), RUN_NODE_ID) == ["a"]
    assert addresses(runs("port=tcp1&port=9100", research).groups) == [
        "203.0.113.1:15002",
        "203.0.113.1:9100",
        "203.0.113.2:9100",
    ]


def test_the_other_spelling_of_open_ports_is_known() -> None:
    """The API page has two; a port that can't be one is none."""
    snapshot = run_node_target()
    snapshot.update(run_nodes({"1": [run_node("a", tcpProts=[15001, 0, 70000])]}), 0.0)
    found = runs("port=tcp0&port=tcp1&port=tcp2", snapshot)
    assert addresses(found.groups) == ["203.0.113.1:15001"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("account=research", "ab"),
        ("run_name=2", "b"),
        ("run_name=1&run_name=2", "ab"),
        ("project_id=project&project_name=models", "a"),
        ("resource_type=8GPU", "a"),
        ("state=running", "ab"),
        ("state=FAILED", ""),
    ],
)
def test_filters_choose_among_the_nodes_of_runs(
    research: Snapshot, query: str, expected: str
) -> None:
    """By what the labels are, as with GPU nodes."""
    assert "".join(ids(runs(f"port=tcp0&{query}", research), RUN_NODE_ID)) == expected


@pytest.mark.parametrize("port", ["tcp", "tcp-1", "TCP0", "tcp0000", "udp0", "0"])
def test_a_bad_port_of_a_run_is_refused(research: Snapshot, port: str) -> None:
    """It is a number, or names an open port by its place."""
    assert refusal(f"port={port}", research, kind=RUN_NODES) == (
        "port is a number from 1 to 65535, or tcp0 for the first of a node's open ports; "
        f"found {port!r}"
    )


@pytest.mark.parametrize("query", ["address=host", "region=kr-west1", "environment=e"])
def test_what_runs_do_not_have_is_refused(research: Snapshot, query: str) -> None:
    """There is one address, and there are no regions."""
    assert refusal(f"port=1&{query}", research, kind=RUN_NODES).startswith("unknown parameter")


@pytest.fixture
def shared() -> Snapshot:
    """Give two nodes of two runs on one machine, one of which has ended."""
    snapshot = run_node_target()
    running = run_node("a", of="1", tcpPorts=[15001])
    ended = run_node("b", of="2", tcpPorts=[15002], state="NODE_STATE_COMPLETED")
    alone = run_node("c", of="2", host="203.0.113.2", tcpPorts=[15001])
    snapshot.update(run_nodes({"1": [running], "2": [ended, alone]}), 0.0)
    return snapshot


def test_an_address_that_several_nodes_share_is_left_out(shared: Snapshot) -> None:
    """Nobody can tell whose series those would be; a port of one's own tells."""
    found = runs("port=9400", shared)
    assert addresses(found.groups) == ["203.0.113.2:9400"]
    assert found.shared == {"203.0.113.1:9400": 2}
    found = runs("port=tcp0", shared)
    assert ids(found, RUN_NODE_ID) == ["a", "b", "c"]
    assert found.shared == {}


def test_who_is_not_asked_for_shares_an_address_all_the_same(shared: Snapshot) -> None:
    """A filter for one run does not make the machine that run's own."""
    assert runs("port=9400&run_name=1", shared).groups == []


def test_a_node_in_a_state_that_is_not_asked_for_shares_nothing(shared: Snapshot) -> None:
    """What has ended answers no more: who asks for what runs gets it."""
    assert ids(runs("port=9400&state=RUNNING", shared), RUN_NODE_ID) == ["a", "c"]


def test_an_ended_run_goes_and_an_unread_one_stays(research: Snapshot) -> None:
    """In a partial poll too: what is known to be gone is gone, what is not known stays."""
    gone = run_nodes({}, complete=False, settled=frozenset({("project", "1")}))
    for time in (STALE_AFTER, 2 * STALE_AFTER, 3 * STALE_AFTER):
        research.update(gone, time)
    assert ids(runs("port=tcp0", research), RUN_NODE_ID) == ["b"]


def test_a_run_that_was_read_in_a_partial_poll_is_as_it_was_read(research: Snapshot) -> None:
    """With nodes that the last whole list did not have, for as long as it is not read again."""
    renewed = {"1": [run_node("new", of="1", tcpPorts=[15009])]}
    research.update(run_nodes(renewed, complete=False, settled=frozenset({("project", "1")})), 10.0)
    other = run_nodes({"2": []}, complete=False, settled=frozenset({("project", "2")}))
    research.update(other, 20.0 + STALE_AFTER)
    assert ids(runs("port=tcp0", research), RUN_NODE_ID) == ["new"]


def test_runs_of_which_only_partial_polls_know_go_when_they_are_old(research: Snapshot) -> None:
    """A list that is never whole does not grow with every run there ever was."""
    settled = frozenset({("project", "3")})
    third = {"3": [run_node("c", of="3", host="203.0.113.3")]}
    research.update(run_nodes(third, complete=False, settled=settled), 10.0)
    assert ids(runs("port=9400", research), RUN_NODE_ID) == ["a", "b", "c"]
    research.update(run_nodes({}, complete=False), 20.0 + STALE_AFTER)
    assert ids(runs("port=9400", research), RUN_NODE_ID) == ["a", "b"]


@pytest.mark.parametrize("kind", [GPU_NODES, RUN_NODES])
def test_the_documentation_names_all_that_there_is(kind: Kind) -> None:
    """Every label and every parameter, and no label that does not exist."""
    text = (Path(__file__).parent.parent / "docs" / "discovery.md").read_text()
    labels = {kind.name(label) for label in kind.labels}
    assert set(re.findall(rf"__meta_{kind.provider}_\w+", text)) == labels
    assert [name for name in kind.parameters if f"`{name}`" not in text] == []
    assert f"({MOST_PORTS} at most)" in text


def test_nodes_of_which_none_has_an_address_are_not_listed_as_none() -> None:
    """Where running nodes have lost theirs all at once, Prometheus keeps what it had."""
    west = gpu_node_target()
    west.update(sighting(gpu_node("a", policy_ip=""), gpu_node("b", policy_ip="10.0.0.1/24")), 0.0)
    with pytest.raises(NotListedYet, match="none of 2 nodes has policy_ip"):
        ask("port=9400", west)
    assert ask("port=9400&address=policy_nat", west).groups == []

    starting = gpu_node_target()
    starting.update(sighting(gpu_node("a", policy_ip="", state="CREATING")), 0.0)
    assert ask("port=9400", starting).groups == []
