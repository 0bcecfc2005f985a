"""A real Prometheus that scrapes over TLS, with a password and with a client certificate."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from benchmarks.processes import Running, running
from exporter.app import Application
from tests.web.material import lay_out
from tests.web.serving import PASSWORD, USER, USERS, Served, serving

pytestmark = [pytest.mark.slow, pytest.mark.scale, pytest.mark.tool("prometheus")]

PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 0.2
TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
CLIENTS = """\
  client_ca_file: clients.crt
  client_auth_type: RequireAndVerifyClientCert
  client_allowed_sans: [prometheus.example]
"""
UNVERIFIED = {
    "RequestClientCert": {"prometheus", "other", "stranger", "none"},
    "RequireAnyClientCert": {"prometheus", "other", "stranger"},
    "RequireAnyClientCert\n  client_allowed_sans: [prometheus.example]": {"prometheus", "stranger"},
    "RequireAnyClientCert\n  client_ca_file: clients.crt": {"prometheus", "other", "stranger"},
}
"""Who is admitted without being verified; an authority is no more than a hint to clients."""

JOB = """\
  - job_name: {name}
    scheme: https
    scrape_interval: 1s
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
    tls_config: {{ca_file: servers.crt{certificate}}}
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Give certificates of servers and clients."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("NEEDS openssl")
    return lay_out(openssl, tmp_path)


@pytest.fixture
async def app() -> AsyncIterator[Application]:
    """Give an application that polls nothing."""
    async with Application(environ={}) as application:
        yield application


def job(name: str, served: Served, client: str = "", more: str = "") -> str:
    """Write a job of Prometheus."""
    files = f", cert_file: {client}.crt, key_file: {client}.key" if client else ""
    return JOB.format(name=name, port=served.port, certificate=files) + more


@asynccontextmanager
async def scraping(tool: str, directory: Path, jobs: str) -> AsyncIterator[Running]:
    """Run a Prometheus with these jobs."""
    (directory / "prometheus.yml").write_text("scrape_configs:\n" + jobs)
    flags = ("--web.listen-address=127.0.0.1:0", "--storage.tsdb.path=data")
    with running([tool, "--config.file=prometheus.yml", *flags], directory=directory) as process:
        await asyncio.to_thread(process.wait_until_ready)
        yield process


async def outcomes(process: Running, jobs: int) -> dict[str, str]:
    """Return what Prometheus says of each job once all were scraped: an error, or nothing."""
    async with asyncio.timeout(PATIENCE_SECONDS), aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"{process.url}/api/v1/targets") as response:
                found = (await response.json())["data"]["activeTargets"] if response.ok else []
            if len(found) == jobs and all(each["health"] != "unknown" for each in found):
                return {each["labels"]["job"]: each["lastError"] for each in found}
            await asyncio.sleep(PAUSE_SECONDS)


async def test_it_scrapes_over_tls_with_a_password(
    tool: str, directory: Path, app: Application
) -> None:
    """The right one is let in; a wrong one and none are told 401."""
    file = directory / "web.yml"
    file.write_text(TLS + USERS)
    login = "    basic_auth: {{username: {user}, password: {password}}}\n"
    async with serving(app, file) as served:
        jobs = [
            job("right", served, more=login.format(user=USER, password=PASSWORD)),
            job("wrong", served, more=login.format(user=USER, password="guess")),
            job("none", served),
        ]
        async with scraping(tool, directory, "".join(jobs)) as process:
            found = await outcomes(process, len(jobs))
    assert found["right"] == ""
    assert "401 Unauthorized" in found["wrong"]
    assert "401 Unauthorized" in found["none"]


async def test_it_scrapes_with_a_client_certificate(
    tool: str, directory: Path, app: Application
) -> None:
    """One with the right name by the right authority is let in, and no other."""
    file = directory / "web.yml"
    file.write_text(TLS + CLIENTS)
    async with serving(app, file) as served:
        clients = ("prometheus", "other", "stranger", "")
        jobs = [job(client or "none", served, client) for client in clients]
        async with scraping(tool, directory, "".join(jobs)) as process:
            found = await outcomes(process, len(jobs))
    assert found["prometheus"] == ""
    assert all(found[name] for name in ("other", "stranger", "none"))


async def test_it_scrapes_with_a_certificate_that_nobody_verifies(
    tool: str, directory: Path, app: Application
) -> None:
    """Whoever signed it; with none where none is required, and by the name where names count."""
    clients = ("prometheus", "other", "stranger", "none")
    jobs, expected = "", {}
    async with AsyncExitStack() as servers:
        for number, (kind, good) in enumerate(UNVERIFIED.items()):
            file = directory / f"{number}.yml"
            file.write_text(f"{TLS}  client_auth_type: {kind}\n")
            served = await servers.enter_async_context(serving(app, file))
            for client in clients:
                name = f"{client}-{number}"
                jobs += job(name, served, client.removesuffix("none"))
                expected[name] = client in good
        async with scraping(tool, directory, jobs) as process:
            found = await outcomes(process, len(expected))
    assert {name: error == "" for name, error in found.items()} == expected, found
