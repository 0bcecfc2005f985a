"""Certificates of the tests' own, beside the web configuration files that name them."""

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures" / "web"
GOOD = sorted((FIXTURES / "good").glob("*.yml"))
BAD = sorted((FIXTURES / "bad").glob("*.yml"))

CURVE = ("-pkeyopt", "ec_paramgen_curve:prime256v1")
CLIENTS = {
    "prometheus": "DNS:prometheus.example",
    "address": "IP:2001:db8::1",
    "mail": "email:scraper@example.com",
    "uri": "URI:spiffe://example.com/scraper",
    "other": "DNS:other.example",
}


class Authority:
    """Somebody who signs certificates."""

    def __init__(self, openssl: str, directory: Path, name: str) -> None:
        self._openssl = openssl
        self._directory = directory
        self._name = name
        usage = ("-addext", "keyUsage=critical,keyCertSign")
        self._run("req", "-x509", *self._new(name), *usage, "-days", "2", "-out", f"{name}.crt")

    def issue(self, name: str, san: str, kind: str = "ec") -> None:
        """Write NAME.crt and NAME.key, of a certificate with this alternative name."""
        extensions = self._directory / "extensions.cnf"
        # Newer releases of Python want to know by which key a certificate was signed.
        extensions.write_text(f"subjectAltName={san}\nauthorityKeyIdentifier=keyid\n")
        by = ("-CA", f"{self._name}.crt", "-CAkey", f"{self._name}.key", "-CAcreateserial")
        self._run("req", "-new", *self._new(name, kind), "-out", "request.pem")
        signed = ("-in", "request.pem", "-days", "2", "-extfile", "extensions.cnf")
        self._run("x509", "-req", *signed, *by, "-out", f"{name}.crt")

    def _new(self, name: str, kind: str = "ec") -> tuple[str, ...]:
        key = ("-newkey", kind, *(CURVE if kind == "ec" else ()))
        return (*key, "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key")

    def _run(self, *arguments: str) -> None:
        command = [self._openssl, *arguments]
        subprocess.run(  # noqa: S603 - all stands here
            command, check=True, capture_output=True, cwd=self._directory
        )


@functools.cache
def _made(openssl: str) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        servers = Authority(openssl, directory, "servers")
        for server in ("server", "other", "renewed"):
            servers.issue(server, "IP:127.0.0.1")
        clients = Authority(openssl, directory, "clients")
        for client, san in CLIENTS.items():
            clients.issue(client, san)
        strangers = Authority(openssl, directory, "strangers")
        strangers.issue("stranger", CLIENTS["prometheus"])
        strangers.issue("weak", CLIENTS["other"], "rsa:1024")
        encrypt = ["ec", "-in", "server.key", "-aes256", "-passout", "pass:made-up"]
        subprocess.run(  # noqa: S603 - all stands here
            [openssl, *encrypt, "-out", "encrypted.key"],
            check=True,
            capture_output=True,
            cwd=directory,
        )
        return {file.name: file.read_bytes() for file in directory.iterdir()}


def lay_out(openssl: str, directory: Path, *fixtures: str) -> Path:
    """Write certificates, keys and the fixtures of these names into a directory; return it."""
    for name, content in _made(openssl).items():
        (directory / name).write_bytes(content)
    (directory / "junk.pem").write_text("no certificate, and no key\n")
    (directory / "empty.pem").write_text("")
    for file in (*GOOD, *BAD):
        if file.stem in fixtures:
            shutil.copy(file, directory)
    return directory
