"""The web configuration file: what it may say, who is let in, and how it is followed."""

import asyncio
import base64
import io
import os
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import bcrypt
import pytest
from pydantic import SecretStr

from exporter.app import Application
from exporter.credentials import SETTLED_NS
from exporter.web import access, passwords, web_config
from exporter.web.access import Followed, WebConfigError, load
from exporter.web.passwords import Login, Passwords
from tests.clocks import FakeClock
from tests.simulated import until, write
from tests.web.material import BAD, GOOD, lay_out
from tests.web.serving import HASH, LOGIN, PASSWORD, USER, USERS, Served, serving

OTHER_HASH = "$2b$04$9V0R7YIEIVSuM1jYzIUVPeqxNMcrIIw6Ra62C5o0ncsXdC3Iq6z9q"
USERS_OF_ONE = {USER: SecretStr(HASH)}
PATHS = ("/", "/metrics", "/-/healthy", "/-/ready", "/nothing", "/dashboards/", "/config")


@pytest.fixture
async def app(clock: FakeClock) -> AsyncIterator[Application]:
    """Give an application that polls nothing."""
    async with Application(environ={}, clock=clock) as application:
        yield application


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a web configuration file with one user."""
    path = tmp_path / "web.yml"
    path.write_text(USERS)
    return path


@pytest.fixture
async def guarded(app: Application, file: Path) -> AsyncIterator[Served]:
    """Give a server with one user."""
    async with serving(app, file) as served:
        yield served


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Give the passwords that bcrypt was asked about."""
    asked: list[bytes] = []
    matches = passwords._matches

    def noted(password: bytes, checked_hash: bytes) -> bool:
        asked.append(password)
        return matches(password, checked_hash)

    monkeypatch.setattr(passwords, "_matches", noted)
    return asked


def basic(user: str, password: str) -> str:
    """Return the header of a login."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def remove(file: Path) -> None:
    """Delete a file."""
    file.unlink()


# What a file may say


@pytest.mark.tool("openssl")
@pytest.mark.parametrize("fixture", GOOD, ids=lambda path: path.stem)
def test_a_good_file_is_read(tool: str, fixture: Path, tmp_path: Path) -> None:
    """Each kind of key the exporter-toolkit has is taken."""
    read = load(lay_out(tool, tmp_path, fixture.stem) / fixture.name)
    text = fixture.read_text()
    assert (read.tls is not None) == ("cert_file" in text)
    assert set(read.users) == ({USER} if "basic_auth_users" in text else set())


@pytest.mark.tool("openssl")
@pytest.mark.parametrize("fixture", BAD, ids=lambda path: path.stem)
def test_a_bad_file_is_told_line_by_line(tool: str, fixture: Path, tmp_path: Path) -> None:
    """Every fault has a line with its key and the way out, and no secret is shown."""
    with pytest.raises(WebConfigError) as raised:
        load(lay_out(tool, tmp_path, fixture.stem) / fixture.name)
    told = str(raised.value).replace(str(tmp_path), "DIR")
    assert told.splitlines() == fixture.with_suffix(".txt").read_text().splitlines()
    assert raised.value.problems == str(raised.value).splitlines()
    for secret in ("made-up", "1234567", HASH[7:]):
        assert secret not in told


@pytest.mark.tool("openssl")
def test_paths_start_at_the_file(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at the directory that the exporter was started in."""
    lay_out(tool, tmp_path, "tls")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert load(Path("..") / "tls.yml").tls is not None


@pytest.mark.tool("openssl")
@pytest.mark.parametrize("on", ["linux", "darwin"])
def test_certificates_may_stand_in_the_file_itself(
    tool: str, tmp_path: Path, on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As cert, key and client_ca, on systems with files in memory and on others."""
    monkeypatch.setattr("sys.platform", on)
    lay_out(tool, tmp_path)
    text = "tls_server_config:\n  client_auth_type: RequireAndVerifyClientCert\n"
    for key, name in {
        "cert": "server.crt",
        "key": "server.key",
        "client_ca": "clients.crt",
    }.items():
        pem = (tmp_path / name).read_text().replace("\n", "\n    ")
        text += f"  {key}: |\n    {pem}\n"
    (tmp_path / "inline.yml").write_text(text)
    read = load(tmp_path / "inline.yml")
    assert read.tls is not None
    assert read.tls.cert_store_stats()["x509_ca"] == 1


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "no such file"),
        (b"\xff\xfe", "is not valid UTF-8"),
        (b"#" * (web_config.MAX_FILE_BYTES + 1), "has more than 1048576 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path, content: bytes | None, why: str
) -> None:
    """With its path and the reason."""
    path = tmp_path / "web.yml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(WebConfigError) as raised:
        load(path)
    assert raised.value.problems == [f"{path}: {why}"]


def test_a_path_that_leads_through_a_file_is_told(tmp_path: Path) -> None:
    """What the system says is passed on."""
    long = tmp_path / ("x" * 300)
    with pytest.raises(WebConfigError, match="cannot be read: File name too long"):
        load(long)


# Who is let in


async def test_nobody_gets_in_without_a_password(guarded: Served) -> None:
    """Neither to what there is nor to what there isn't, by whatever method."""
    for path in PATHS:
        for method in ("GET", "HEAD", "POST", "DELETE"):
            answer = await guarded.ask(path, method)
            assert answer.status == 401, (path, method)
            assert answer.headers["WWW-Authenticate"] == access._CHALLENGE
    assert (await guarded.ask("/-/reload", "POST")).status == 401


async def test_every_route_stands_behind_the_password(guarded: Served) -> None:
    """Also those that are added one day."""
    web_application = guarded.runner.app
    paths = {
        route.resource.canonical for route in web_application.router.routes() if route.resource
    }
    assert {"/metrics", "/-/reload"} <= paths
    for path in paths:
        assert (await guarded.ask(path.replace("{", "").replace("}", ""))).status == 401


async def test_the_right_password_opens(guarded: Served) -> None:
    """Whichever way the scheme is written."""
    assert await guarded.login() == 200
    assert await guarded.login(LOGIN.replace("Basic ", "basic  ")) == 200
    assert await guarded.login(path="/nothing") == 404


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Basic",
        "Basic !!!",
        "Basic " + base64.b64encode(b"alice").decode(),
        "Basic " + base64.b64encode(b"\xff:\xff").decode(),
        "Bearer " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode(),
        basic(USER, ""),
        basic(USER, PASSWORD + "\0"),
        basic(USER, "x" * 100),
        basic("", PASSWORD),
        basic("bob", PASSWORD),
        basic(USER + "\0", PASSWORD),
        basic("앨리스", "비밀"),
    ],
)
async def test_anything_else_does_not(guarded: Served, header: str | None) -> None:
    """The answer is the same, and the second time too."""
    assert [await guarded.login(header) for _ in range(2)] == [401, 401]
    assert await guarded.login() == 200


async def test_a_password_is_compared_by_its_first_72_bytes(file: Path, app: Application) -> None:
    """As bcrypt does everywhere."""
    long = "made-up-" * 10
    hashed = bcrypt.hashpw(long.encode()[:72], bcrypt.gensalt(4)).decode()
    write(file, f"basic_auth_users: {{{USER}: {hashed}}}\n")
    async with serving(app, file) as served:
        assert await served.login(basic(USER, long)) == 200
        assert await served.login(basic(USER, long[:71])) == 401


async def test_without_users_everybody_gets_in(app: Application, file: Path) -> None:
    """A password that nobody asked for is no fault."""
    write(file, "")
    async with serving(app, file) as served:
        assert await served.login(None) == 200
        assert await served.login("Basic !!!") == 200


async def test_passwords_in_the_clear_are_warned_of(
    app: Application, file: Path, log: io.StringIO
) -> None:
    """Once, at the start."""
    async with serving(app, file) as served:
        await served.login()
    assert log.getvalue().count("passwords are sent in the clear") == 1


# How passwords are checked


async def test_a_check_is_remembered(checks: list[bytes]) -> None:
    """Bcrypt is asked once about each login, good or bad."""
    known = Passwords()
    for _ in range(3):
        assert await known.good(Login(USER, PASSWORD.encode()), USERS_OF_ONE)
        assert not await known.good(Login(USER, b"wrong"), USERS_OF_ONE)
        assert not await known.good(Login("bob", PASSWORD.encode()), USERS_OF_ONE)
    assert checks == [PASSWORD.encode(), b"wrong", PASSWORD.encode()]


async def test_a_crowd_with_one_password_is_checked_once(checks: list[bytes]) -> None:
    """Those who wait find what the first has found."""
    known = Passwords()
    login = Login(USER, PASSWORD.encode())
    crowd = [known.good(login, USERS_OF_ONE) for _ in range(passwords.MAX_WAITING)]
    assert all(await asyncio.gather(*crowd))
    assert len(checks) == 1


async def test_an_unknown_user_costs_a_check(checks: list[bytes]) -> None:
    """Against the hash of somebody, always the same for a name: the time tells nothing."""
    known = Passwords()
    users = {"alice": SecretStr(HASH), "carol": SecretStr(OTHER_HASH)}
    assert not await known.good(Login("bob", b"guess"), users)
    assert checks == [b"guess"]
    hashes = {name: known._hash_for(name, users) for name in map(str, range(50))}
    assert set(hashes.values()) == {HASH.encode(), OTHER_HASH.encode()}
    assert all(known._hash_for(name, users) == hashed for name, hashed in hashes.items())


async def test_a_changed_hash_ends_the_old_password() -> None:
    """What was remembered of the old one is of no use."""
    known = Passwords()
    login = Login(USER, PASSWORD.encode())
    assert await known.good(login, USERS_OF_ONE)
    assert not await known.good(login, {USER: SecretStr(OTHER_HASH)})
    assert await known.good(login, USERS_OF_ONE)


async def test_what_is_remembered_is_bounded_and_no_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Refused logins drive out each other, and never a good one."""
    monkeypatch.setattr(passwords, "MAX_REFUSED", 10)
    monkeypatch.setattr(passwords, "_matches", lambda password, _: password == PASSWORD.encode())
    known = Passwords()
    assert await known.good(Login(USER, PASSWORD.encode()), USERS_OF_ONE)
    for number in range(100):
        assert not await known.good(Login(f"user-{number}", b"wrong"), USERS_OF_ONE)
    assert len(known._refused) == 10
    assert list(known._good) == [USER]
    kept = repr((known._good, known._refused))
    assert PASSWORD not in kept
    assert "wrong" not in kept


class Held:
    """Bcrypt checks that last until they are let go; how many ran at once at most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go_on = threading.Event()
        self.running = self.most = self.done = 0
        monkeypatch.setattr(passwords, "_matches", self.matches)

    def matches(self, _: bytes, __: bytes) -> bool:
        """Find no match, once let go."""
        self.running += 1
        self.most = max(self.most, self.running)
        assert self.go_on.wait(20)
        self.running -= 1
        self.done += 1
        return False


async def test_a_flood_of_wrong_passwords_delays_nobody_else(
    guarded: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One check runs at a time and few wait; who is known is answered meanwhile."""
    assert await guarded.login() == 200
    held = Held(monkeypatch)
    flood = [
        asyncio.ensure_future(guarded.login(basic(USER, f"guess {number}")))
        for number in range(passwords.MAX_WAITING + 20)
    ]
    await until(lambda: held.running and sum(each.done() for each in flood) == 20)
    assert {each.result() for each in flood if each.done()} == {429}
    assert [await guarded.login(path=path) for path in ("/metrics", "/-/healthy")] == [200, 200]
    assert held.done == 0
    held.go_on.set()
    statuses = await asyncio.gather(*flood)
    assert sorted(statuses) == [401] * passwords.MAX_WAITING + [429] * 20
    assert held.most == 1


# How fast


async def test_requests_beyond_the_rate_are_refused(
    app: Application, file: Path, clock: FakeClock
) -> None:
    """As many as the burst at once, then one each interval; before any password is looked at."""
    write(file, "rate_limit: {interval: 10s, burst: 2}\n" + USERS)
    async with serving(app, file) as served:
        assert [await served.login() for _ in range(3)] == [200, 200, 429]
        clock.jump(9.9)
        assert await served.login() == 429
        clock.jump(0.2)
        assert [await served.login(None) for _ in range(2)] == [401, 429]
        clock.jump(1000)
        assert [await served.login() for _ in range(3)] == [200, 200, 429]


async def test_a_rate_can_be_changed_and_lifted(
    app: Application, file: Path, clock: FakeClock
) -> None:
    """What is left of the old one does not count; a reading that changes nothing gives nothing."""
    write(file, "rate_limit: {interval: 10s, burst: 1}\n")
    async with serving(app, file) as served:
        assert [await served.login() for _ in range(2)] == [200, 429]
        write(file, "rate_limit: {interval: 10s, burst: 1}\n# the same\n")
        assert await served.login() == 429
        write(file, "rate_limit: {interval: 0, burst: 1}\n")
        assert [await served.login() for _ in range(5)] == [200] * 5
    clock.jump(1)


# How the file is followed


async def test_a_change_is_seen_by_the_next_request(guarded: Served, file: Path) -> None:
    """Users come and go without a restart, on connections that are kept."""
    assert await guarded.login() == 200
    write(file, f"basic_auth_users: {{carol: {HASH}}}\n")
    assert await guarded.login() == 401
    assert await guarded.login(basic("carol", PASSWORD)) == 200


@pytest.mark.parametrize("left", ["", "# being written\n", "basic_auth_users:\n", "rate_limit:\n"])
async def test_passwords_do_not_go_while_listening(
    guarded: Served, file: Path, log: io.StringIO, left: str
) -> None:
    """A file that was emptied or cut short opens no door: that takes a restart."""
    write(file, left)
    for _ in range(2):
        assert await guarded.login() == 200
        assert await guarded.login(None) == 401
    assert log.getvalue().count("restart to go without passwords") == 1


@pytest.mark.parametrize("broken", ["basic_auth_users: [\n", "", "basic_auth_users: {alice: no}"])
async def test_a_change_for_the_worse_changes_nothing(
    guarded: Served, file: Path, log: io.StringIO, broken: str
) -> None:
    """The last good state stays in force, and the log says why, once."""
    write(file, broken) if broken else remove(file)
    for _ in range(3):
        assert await guarded.login() == 200
        assert await guarded.login(None) == 401
    assert log.getvalue().count("keeps its last good state") == 1
    write(file, USERS + "# mended\n")
    assert await guarded.login() == 200
    assert log.getvalue().count("web configuration read again") == 1


@pytest.mark.tool("openssl")
async def test_tls_does_not_come_or_go_while_listening(
    tool: str, app: Application, tmp_path: Path, log: io.StringIO
) -> None:
    """Who came by http goes on by http; the log asks for a restart."""
    file = lay_out(tool, tmp_path, "users", "users-no-tls") / "users-no-tls.yml"
    async with serving(app, file) as served:
        shutil.copy(tmp_path / "users.yml", file)
        assert [await served.login() for _ in range(2)] == [200, 200]
    assert log.getvalue().count("restart to change between http and https") == 1


def test_a_quiet_file_is_not_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its status is asked for, from 2 s after its last change."""
    now = [file.stat().st_mtime_ns]
    followed = Followed(file, lambda: now[0])
    reads: list[Path] = []
    read = access._content

    def noted(path: Path) -> bytes | None:
        reads.append(path)
        return read(path)

    monkeypatch.setattr(access, "_content", noted)
    for _ in range(3):
        followed.current()
    assert len(reads) == 3
    now[0] += SETTLED_NS + 1
    for _ in range(3):
        followed.current()
    assert len(reads) == 4
    os.utime(file, ns=(now[0], now[0]))
    now[0] += SETTLED_NS + 1
    for _ in range(3):
        followed.current()
    assert len(reads) == 5


# What every answer carries


async def test_headers_of_the_file_are_on_every_answer(app: Application, file: Path) -> None:
    """Also on refusals; one that is blank is not set, and the file's word comes last."""
    headers = '{Content-Security-Policy: "default-src \'self\'", X-XSS-Protection: "0"}'
    write(file, f"{USERS}http_server_config: {{headers: {headers}}}\n")
    async with serving(app, file) as served:
        for path, login in (("/", LOGIN), ("/metrics", LOGIN), ("/nothing", LOGIN), ("/", "")):
            answer = await served.ask(path, headers={"Authorization": login})
            assert answer.headers.getall("Content-Security-Policy") == ["default-src 'self'"]
            assert answer.headers["X-XSS-Protection"] == "0"
            assert "Strict-Transport-Security" not in answer.headers
