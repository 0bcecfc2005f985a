"""The exporter on the simulated clouds, as several tests need it."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from exporter.app import Application
from exporter.config import Config, load

PATIENCE_SECONDS = 20.0
PAUSE_SECONDS = 0.005
_SCP = """\
  - account: {account}
    environment: e
    regions: [{regions}]
    access_key_env: SCP_ACCESS_KEY
    secret_key_env: SCP_SECRET_KEY
    endpoint: {url}/scp/{{environment}}/{{region}}
"""
_NSML = """\
  - account: research
    access_key_env: NCP_ACCESS_KEY
    secret_key_env: NCP_SECRET_KEY
    api_key_env: NCP_API_KEY
    endpoint: {url}/nsml/v1
    polling: {{requests_per_second: 10000, interval: 30s}}
"""


def config_text(
    url: str,
    *,
    account: str = "prod",
    regions: Iterable[str] = ("kr-west1", "kr-east1"),
    nsml: bool = True,
    polling: str = "interval: 30s",
) -> str:
    """Write a configuration of one account of each cloud; the credentials are variables."""
    text = f"polling: {{requests_per_second: 10000, {polling}}}\nscp:\n"
    text += _SCP.format(account=account, url=url, regions=", ".join(regions))
    return text + ("nsml:\n" + _NSML.format(url=url) if nsml else "")


def read_config(directory: Path, text: str, environ: Mapping[str, str]) -> Config:
    """Read a configuration as the command line does."""
    path = directory / "gpu-cluster-exporter.yml"
    path.write_text(text)
    return load(path, environ)


async def first_polls(application: Application) -> None:
    """Wait until each target was polled once."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        for poller in application.pollers:
            await poller.attempted.wait()


async def until(condition: Callable[[], object]) -> None:
    """Wait until something holds that no event of this process tells of."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - it depends on a socket's other end
            await asyncio.sleep(PAUSE_SECONDS)


def write(file: Path, text: str) -> None:
    """Write a file; it is small, and the loop may wait for it."""
    file.write_text(text)


def samples(page: bytes) -> list[str]:
    """Return the lines of a page that are samples."""
    return [line for line in page.decode().splitlines() if line and not line.startswith("#")]


def values(page: bytes, name: str, **labels: str) -> list[float]:
    """Return the values of the samples of a name that have these labels."""
    wanted = [f'{key}="{text}"' for key, text in labels.items()]
    return [
        float(line.rsplit(" ", 1)[1])
        for line in samples(page)
        if line.startswith((name + "{", name + " ")) and all(part in line for part in wanted)
    ]


def value(page: bytes, name: str, **labels: str) -> float | None:
    """Return the only sample of a name that has these labels, or None."""
    found = values(page, name, **labels)
    assert len(found) <= 1, found
    return found[0] if found else None
