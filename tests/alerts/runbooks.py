"""The runbooks, and the queries in them."""

import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RUNBOOKS = sorted((ROOT / "docs" / "runbooks").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A label's name in capitals stands for its value in the alert.
PLACEHOLDER = re.compile(
    '"(PROVIDER|ACCOUNT|ENVIRONMENT|REGION|COLLECTOR|GPU_NODE_ID|CLUSTER_FABRIC_ID|PROJECT_ID|RUN_NAME)"'
)


def blocks(runbook: Path, language: str) -> list[str]:
    """Return a runbook's blocks of code in a language."""
    return [text for found, text in BLOCK.findall(runbook.read_text()) if found == language]


def queries() -> list[str]:
    """Return the queries of all runbooks."""
    return [query for runbook in RUNBOOKS for query in blocks(runbook, "promql")]


def filled_queries(runbook: Path, labels: Mapping[str, str]) -> list[str]:
    """Return a runbook's queries as one would ask them for an alert with these labels."""
    return [
        PLACEHOLDER.sub(lambda found: f'"{labels.get(found[1].lower(), "")}"', query)
        for query in blocks(runbook, "promql")
    ]
