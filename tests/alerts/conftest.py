"""What the tests of the alerts share."""

import os
import shutil

import pytest


def program(*names: str) -> str:
    """Return the path of a program by one of its names; skip, or fail in CI, where none is."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{names[0]} is not installed")
        pytest.skip(f"NEEDS {names[0]}")
    return found


@pytest.fixture(scope="session")
def prometheus_program() -> str:
    """Give the path of Prometheus."""
    return program("prometheus")


@pytest.fixture(scope="session")
def alertmanager_program() -> str:
    """Give the path of Alertmanager, which Debian calls otherwise than its makers."""
    return program("prometheus-alertmanager", "alertmanager")
