"""States: exactly one series of an object is 1, whatever states the API makes up."""

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exporter.clouds.fields import NOT_REPORTED, normal_state
from exporter.clouds.nsml import families as nsml
from exporter.clouds.nsml.models import Project, Run, RunMembers, RunNode
from exporter.clouds.rows import R, Record, read_row
from exporter.clouds.scp import families as scp
from exporter.clouds.scp.models import ClusterFabric, GpuNode
from exporter.families import Binding, State, StateCounts, Table
from exporter.sheet import Sheet
from exporter.sites import vocabularies
from exporter.snapshots import Sighting, Snapshot, TargetId
from exporter.states import MAX_UNLISTED, OTHER, Vocabulary

TIME = "2024-05-17T00:23:17Z"
EXPECTED = ("ENDED", "FAILED")

# What is odd in a label value is the business of other tests: here none has a quote.
LINE = re.compile(r"(\w+)\{(.*)\} (\S+)\n")
LABEL = re.compile(r'(\w+)="([^"]*)"')

Samples = list[tuple[dict[str, str], float]]
Steps = list[tuple[dict[int, str], bool]]

listed = st.sampled_from([*scp.NODE_STATES, *scp.FABRIC_STATES, *nsml.RUN_STATES, *EXPECTED])
odd = st.sampled_from(["", "  ", "running", "Running ", "RUNNING*", "일시 중지", "a\nb", '"', "%s"])
made_up = st.integers(0, 60).map("ODD_{}".format)
states = listed | odd | made_up
polls = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 5), states, max_size=5), st.booleans()),
    min_size=1,
    max_size=5,
)
sequences = settings(max_examples=40)


@cache
def gpu_node(number: int, state: str) -> Record[GpuNode]:
    """Return a node; the same Record for the same row, as the readers do."""
    row = {
        "id": f"id-{number}", "gpu_node_name": "same", "state": state, "lock_enabled": True,
        "policy_use_nat": False, "pfs_ip": ["192.0.2.1"], "server_type": "g2c96h8_metal",
        "cluster_fabric_id": f"f-{number % 2}", "created_at": TIME, "modified_at": TIME,
    }  # fmt: skip
    return _read(GpuNode, row)


@cache
def fabric(number: int, state: str) -> Record[ClusterFabric]:
    """Return a fabric of which one member is in the fabric's own state."""
    row = {
        "id": f"id-{number}", "cluster_name": "same", "state": state, "used_server_count": 1,
        "gpu_node_details": [{"state": state}], "created_at": TIME, "modified_at": TIME,
    }  # fmt: skip
    return _read(ClusterFabric, row)


@cache
def project(number: int, state: str) -> Record[Project]:
    """Return a project."""
    row = {"projectId": f"id-{number}", "status": state, "runCount": 1, "nodeCount": 1}
    return _read(Project, row)


@cache
def run(number: int, state: str) -> Record[Run]:
    """Return a run."""
    row = {"projectId": "p", "runName": f"id-{number}", "status": state, "createTime": TIME,
           "updateTime": TIME}  # fmt: skip
    return _read(Run, row)


@cache
def run_node(number: int, state: str) -> Record[RunNode]:
    """Return a node that has ended."""
    row = {
        "nodeId": f"id-{number}", "state": state, "rank": number, "exitCode": 1,
        "createTime": TIME, "updateTime": TIME,
    }  # fmt: skip
    ids = {"project_id": "p", "run_name": "2"}
    return _record(replace(_read(RunNode, row).item, **ids))


def _read(model: type[R], row: Mapping[str, object]) -> Record[R]:
    record = read_row(model, json.dumps(row).encode())
    assert record is not None
    return record


def _record(item: Any) -> Record[Any]:  # noqa: ANN401 - any row
    return Record(item.key, item)


KINDS = [
    pytest.param(scp.GPU_NODES, gpu_node, "gpu_node_id", id="gpu-nodes"),
    pytest.param(scp.CLUSTER_FABRICS, fabric, "cluster_fabric_id", id="fabrics"),
    pytest.param(nsml.PROJECTS, project, "project_id", id="projects"),
    pytest.param(nsml.RUNS, run, "run_name", id="runs"),
    pytest.param(nsml.RUN_NODES, run_node, "node_id", id="run-nodes"),
]

Builder = Callable[[int, str], Record[Any]]


def snapshot(*tables: Table[Any], current: bool = False) -> Snapshot:
    """Return a snapshot of one target, with no unlisted state met yet."""
    binding = Binding(
        labels={"account": "prod"},
        vocabularies=vocabularies(),
        expected_states=EXPECTED,
        current_state_only=current,
        derived={"gpu_model": lambda _: "H100"},
    )
    target = TargetId("scp", "prod", "e", "kr-west1", tables[0].name)
    return Snapshot(target, 300.0, tuple(Sheet(table, binding) for table in tables))


def samples(of: Snapshot) -> dict[str, Samples]:
    """Return the samples of each family that stands on the page at once after the last poll."""
    assert of.updated is not None
    found: dict[str, Samples] = {}
    for piece in (piece for pieces in of.pieces(of.updated) for piece in pieces.values()):
        for name, labels, value in LINE.findall(piece.text.decode()):
            found.setdefault(name, []).append((dict(LABEL.findall(labels)), float(value)))
    return found


def polled(of: Snapshot, table: Table[Any], records: Iterable[Record[Any]], **how: Any) -> None:  # noqa: ANN401 - fields of a sighting
    """Let the snapshot take in one poll, a second after the one before."""
    tables = {table.name: {record.key: record for record in records}}
    of.update(Sighting(tables, **how), (of.updated or 0.0) + 1.0)


def followed(
    of: Snapshot, table: Table[Any], build: Builder, steps: Steps
) -> Iterable[dict[int, str]]:
    """Take in poll after poll; after each yield the objects that there should be, by number."""
    there: dict[int, str] = {}
    for seen, complete in steps:
        there = dict(seen) if complete else there | seen
        polled(of, table, (build(*each) for each in seen.items()), complete=complete)
        yield there


@pytest.mark.parametrize(("table", "build", "id_label"), KINDS)
@given(polls)
@sequences
def test_one_series_of_an_object_is_1(
    table: Table[Any], build: Builder, id_label: str, steps: Steps
) -> None:
    """After any polls each object is in one state, and in all families or in none."""
    (family,) = (each for each in table.families if isinstance(each, State))
    names = [each.name for each in table.families if id_label in each.labels]
    kept = snapshot(table)
    for there in followed(kept, table, build, steps):
        found = samples(kept)
        by_object: dict[str, dict[str, float]] = {}
        for labels, value in found.get(family.name, []):
            by_object.setdefault(labels[id_label], {})[labels["state"]] = value

        for name in names:
            ids = {labels[id_label] for labels, _ in found.get(name, [])}
            assert ids == {f"id-{number}" for number in there}, name
        for number, state in there.items():
            series = by_object[f"id-{number}"]
            stripped = build(number, state).item.state_name
            known = kept.sheets[0].binding.vocabularies[family.kind]
            assert {name for name, value in series.items() if value} == {stripped}
            assert set(series.values()) <= {0.0, 1.0}
            assert series.keys() == {*known.listed, stripped}


@pytest.mark.parametrize(("table", "build", "id_label"), KINDS)
@given(polls)
@sequences
def test_current_mode_writes_the_present_state_alone(
    table: Table[Any], build: Builder, id_label: str, steps: Steps
) -> None:
    """With `state_series: current` an object has one series, which is 1, in the same state."""
    (family,) = (each for each in table.families if isinstance(each, State))
    kept = snapshot(table, current=True)
    for there in followed(kept, table, build, steps):
        found = [
            (labels[id_label], labels["state"], value)
            for labels, value in samples(kept).get(family.name, [])
        ]
        assert sorted(found) == sorted(
            (f"id-{number}", build(number, state).item.state_name, 1.0)
            for number, state in there.items()
        )


@pytest.mark.parametrize("current", [False, True])
@given(polls)
@sequences
def test_sums_over_states_are_the_number_of_objects(
    current: bool,  # noqa: FBT001 - a parameter of the test
    steps: Steps,
) -> None:
    """The counts of a group sum up to its objects, and keep their zeros in either mode."""
    kept = snapshot(scp.GPU_NODES, current=current)
    for there in followed(kept, scp.GPU_NODES, gpu_node, steps):
        groups: dict[str, dict[str, float]] = {}
        for labels, value in samples(kept).get("scp_gpu_nodes", []):
            groups.setdefault(labels["cluster_fabric_id"], {})[labels["state"]] = value

        assert groups.keys() == {f"f-{number % 2}" for number in there}
        for name, counts in groups.items():
            mine = [state for number, state in there.items() if f"f-{number % 2}" == name]
            assert sum(counts.values()) == len(mine)
            assert counts.keys() >= {*scp.NODE_STATES, NOT_REPORTED}
            assert counts["RUNNING"] == [normal_state(state) for state in mine].count("RUNNING")


@pytest.mark.parametrize(
    ("families", "kind"),
    [(scp.TABLES, "gpu_node"), (scp.TABLES, "cluster_fabric"), (nsml.TABLES, "run"),
     (nsml.TABLES, "run_node"), (nsml.TABLES, "project")],
)  # fmt: skip
def test_not_reported_is_listed_in_every_state_family(
    families: tuple[Table[Any], ...], kind: str
) -> None:
    """NOT_REPORTED has a series beside the API's own states, wherever states are written."""
    kinds = {
        family.kind
        for table in families
        for family in table.families
        if isinstance(family, State | StateCounts)
    }

    assert kind in kinds
    assert NOT_REPORTED in vocabularies()[kind].listed


def test_absent_members_have_no_counts() -> None:
    """A fabric whose member list is null has no counts, and keeps its state."""
    kept = snapshot(scp.CLUSTER_FABRICS)
    item = ClusterFabric(cluster_fabric_id="f", state="ACTIVE", gpu_node_details=None)
    polled(kept, scp.CLUSTER_FABRICS, [_record(item)])

    assert "scp_cluster_fabric_nodes" not in samples(kept)
    assert "scp_cluster_fabric_state" in samples(kept)


def test_run_without_nodes_has_zeros() -> None:
    """A run whose nodes are gone has a zero for each listed state of nodes."""
    kept = snapshot(nsml.RUN_MEMBERS)
    polled(kept, nsml.RUN_MEMBERS, [_record(RunMembers(project_id="p", run_name="2", states=()))])

    counts = {labels["state"]: value for labels, value in samples(kept)["nsml_run_nodes"]}
    assert counts == {"RUNNING": 0.0, "UNKNOWN": 0.0, NOT_REPORTED: 0.0}


@pytest.mark.parametrize("current", [False, True])
def test_states_past_the_limit_are_other(current: bool) -> None:  # noqa: FBT001 - a parameter
    """32 unlisted states keep their names for good; objects in further ones are in OTHER."""
    kept = snapshot(scp.GPU_NODES, current=current)
    crowd = [gpu_node(number, f"ODD_{number}") for number in range(MAX_UNLISTED + 8)]
    for records in (crowd, [*crowd, gpu_node(99, "ODD_NEW"), gpu_node(98, "RUNNING")]):
        polled(kept, scp.GPU_NODES, records)
        found = samples(kept)

        ones = [labels for labels, value in found["scp_gpu_node_state"] if value == 1.0]
        assert len(ones) == len(records)
        others = [labels for labels in ones if labels["state"] == OTHER]
        assert len(others) == len([each for each in records if "ODD" in each.item.state]) - 32
        counts = found["scp_gpu_nodes"]
        assert sum(value for _, value in counts) == len(records)
        assert sum(value for labels, value in counts if labels["state"] == OTHER) == len(others)


def told(vocabulary: Vocabulary) -> list[str]:
    """Return a list that grows with each state that the vocabulary tells of."""
    heard: list[str] = []
    vocabulary.on_unlisted = lambda _kind, state: heard.append(state)
    return heard


def test_unlisted_state_is_told_once() -> None:
    """A surprise is told when it is first met, and never again; OTHER is not told."""
    vocabulary = Vocabulary("thing", ("UP",))
    heard = told(vocabulary)
    names = [f"ODD_{number}" for number in range(MAX_UNLISTED + 5)]
    for name in (*names, *names, "UP", NOT_REPORTED):
        vocabulary.label(name, ())

    assert heard == names[:MAX_UNLISTED]


def test_expected_states_take_no_place() -> None:
    """States that the configuration expects keep their names, however many others were met."""
    vocabulary = Vocabulary("thing", ("UP",))
    heard = told(vocabulary)
    for number in range(MAX_UNLISTED):
        vocabulary.label(f"ODD_{number}", ("ENDED",))

    assert vocabulary.label("ENDED", ("ENDED",)) == "ENDED"
    assert vocabulary.label("ENDED", ()) == OTHER
    assert "ENDED" not in heard


def test_vocabulary_without_a_listener_says_nothing() -> None:
    """A vocabulary that nobody listens to names a surprise all the same."""
    assert Vocabulary("thing", ("UP",)).label("ODD", ()) == "ODD"


class Rendezvous(frozenset[str]):
    """Expected states, none, whose reading lets two threads wait for each other."""

    meeting = threading.Barrier(2, timeout=10)

    def __contains__(self, _: object) -> bool:
        self.meeting.wait()
        return False


def test_threads_meet_a_surprise_once() -> None:
    """A state that two targets meet at the same moment is told once."""
    vocabulary = Vocabulary("thing", ("UP",))
    heard = told(vocabulary)
    threads = [
        threading.Thread(target=vocabulary.label, args=("ODD", Rendezvous())) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert heard == ["ODD"]
