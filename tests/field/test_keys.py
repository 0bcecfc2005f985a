"""Credentials on disk and in the environment: replaced, half written, gone, expired."""

import io
from pathlib import Path

import pytest

from exporter.simulator.faults import Refuse
from tests.field.rig import NODES, Field
from tests.simulated import config_text, write

WATCH_SECONDS = 3.0
"""The time within which a changed file is seen, and a little."""
KEYS = ("SCP_ACCESS_KEY", "SCP_SECRET_KEY")


class Mount:
    """A directory of secrets that changes as a kubelet changes a mounted secret."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "secrets"
        self.directory.mkdir()
        self._versions = 0

    def swap(self, contents: dict[str, str]) -> None:
        """Put all files in place at once: a link to another directory of them is renamed."""
        self._versions += 1
        version = self.directory / f"..version-{self._versions}"
        version.mkdir()
        for name, text in contents.items():
            (version / name).write_text(text)
            if not (link := self.directory / name).is_symlink():
                link.symlink_to(Path("..data") / name)
        other = self.directory / "..data_tmp"
        other.symlink_to(version.name)
        other.rename(self.directory / "..data")


def file_config(field: Field) -> str:
    """Write a configuration whose keys are files, by paths relative to it."""
    text = config_text(field.simulator.url, regions=["kr-west1"], nsml=False)
    for name in KEYS:
        key = name.removeprefix("SCP_").lower()
        text = text.replace(f"{key}_env: {name}", f"{key}_file: secrets/{name}")
    return text


def keys_of(field: Field) -> dict[str, str]:
    """Return what the cloud accepts now."""
    return {name: field.simulator.credentials[name] for name in KEYS}


@pytest.fixture
def mount(tmp_path: Path) -> Mount:
    """Give a directory of secrets."""
    return Mount(tmp_path)


@pytest.mark.parametrize("half", ["", "\n", "   \n", "two\nlines\n"])
async def test_a_rotation_keeps_the_last_good_keys_and_takes_the_new_ones_at_once(
    field: Field, mount: Mount, half: str, log: io.StringIO
) -> None:
    """Swapped links, half-written and empty files: none of it ends a poll that was well."""
    mount.swap(keys_of(field))
    await field.start(file_config(field))
    old = keys_of(field)
    mount.swap(dict.fromkeys(KEYS, half))
    await field.pass_time(60)
    assert await field.outcome() == (1.0, "")
    assert "secret keeps its last good value" in log.getvalue()
    field.simulator.drills.rotate_keys("scp")
    await field.pass_time(400)
    assert await field.outcome() == (0.0, "auth")
    assert field.poller()._failed_whole > 3
    asked = len(field.requests("/v1/gpu-nodes"))
    mount.swap(keys_of(field))
    await field.clock.advance(WATCH_SECONDS)
    await field.quiet()
    assert len(field.requests("/v1/gpu-nodes")) == asked + 2  # a page, and the end of the list
    assert await field.outcome() == (1.0, "auth")
    assert await field.own("target_consecutive_failures") == 0.0
    for secret in (*old.values(), *keys_of(field).values()):
        assert secret not in log.getvalue()


async def test_files_that_are_gone_leave_the_last_good_keys(field: Field, mount: Mount) -> None:
    """Also while they are missing altogether; what comes in their place is used."""
    mount.swap(keys_of(field))
    await field.start(file_config(field))
    for name in KEYS:
        (mount.directory / name).unlink()
    await field.pass_time(60)
    assert await field.outcome() == (1.0, "")
    field.simulator.drills.rotate_keys("scp")
    for name, key in keys_of(field).items():
        write(mount.directory / name, key + "\n")
    await field.pass_time(30)
    assert await field.outcome() == (1.0, "")


async def test_keys_of_the_environment_are_used(field: Field) -> None:
    """Both clouds take them; a variable with another value is a refused key."""
    await field.start(nsml=True)
    assert await field.outcome() == (1.0, "")
    assert await field.outcome(collector="runs") == (1.0, "")
    field.environ["SCP_SECRET_KEY"] = "made-up-and-wrong"
    await field.start(nsml=True, polling="interval: 20s")
    assert await field.outcome() == (0.0, "auth")


async def test_a_refusal_that_passes_costs_one_interval(field: Field) -> None:
    """401 once: not asked again within the poll, and well with the next."""
    await field.start()
    field.simulator.faults.add(Refuse(path="/v1/gpu-nodes$", requests=1))
    before = len(field.requests("/v1/gpu-nodes"))
    await field.next_poll()
    assert await field.outcome() == (0.0, "auth")
    assert len(field.requests("/v1/gpu-nodes")) == before + 1
    await field.next_poll()
    assert await field.own("target_up", **NODES) == 1.0


@pytest.mark.parametrize("cloud", ["scp", "nsml"])
async def test_expired_keys_cost_one_request_an_interval_at_most(field: Field, cloud: str) -> None:
    """401 for ever, counted at the server; after some failures it is less than that."""
    await field.start(nsml=True)
    field.simulator.drills.rotate_keys("scp" if cloud == "scp" else "nsml")
    await field.next_poll(**(NODES if cloud == "scp" else {"collector": "runs"}))
    await field.pass_time(30)
    asked = len(field.simulator.requests)
    await field.pass_time(600)
    late = list(field.simulator.requests)[asked:]
    refused = [request for request in late if request.status == 401]
    targets = [
        poller
        for poller in field.app.pollers
        if poller.collector.target.provider == cloud and poller.collector.pace.interval == 30
    ]
    assert len(targets) == 3
    assert 3 <= len(refused) <= 3 * 600 / 30 / 2
    assert all(not poller.snapshot.health.up for poller in targets)
    other = {"collector": "runs"} if cloud == "scp" else NODES
    assert await field.own("target_up", **other) == 1.0
