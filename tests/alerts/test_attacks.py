"""The alerts stand what they were once broken with: evidence that is old, refused or told twice."""

from pathlib import Path

import pytest
import yaml

from recordings.rules import ALERTS, FILES
from tests.alerts import drills
from tests.alerts.test_drills import run

ATTACKS = Path(__file__).with_name("attacks.yml")
# For `make scale`.
SLOW = {
    *("back_after_outage", "bad_field_once", "failed_then_stopped", "first_poll_slow", "goes_on"),
    *("cloud_back_in_part", "cloud_flickers", "cloud_refuses", "cloud_slow", "no_nodes_listed"),
    *("one_list_refused", "partial_once", "seen_twice", "vanished_slowly", "vanished_then_deleted"),
    *("without_nodes", "refused_then_cloud_gone", "shard_pod_replaced", "rank_zero_leaves"),
}
CASES = {test["name"]: test for test in drills.tests_of(ATTACKS)}


@pytest.mark.tool("promtool")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.scale if name in SLOW else ()) for name in CASES],
)
def test_an_attack_on_the_alerts_fails(name: str, tmp_path: Path, tool: str) -> None:
    """Exactly those alerts fire that should, in as many evaluations, and no rule has an error."""
    document = {
        **yaml.safe_load(ATTACKS.read_text()),
        "rule_files": [str(ALERTS / file) for file in FILES],
        "tests": [CASES[name]],
    }
    file = tmp_path / "attack.yml"
    file.write_text(yaml.safe_dump(document))
    assert run(tool, "test", "rules", file) == ""
