"""A certificate authority of the tests' own, and simulated clouds that have TLS."""

import ssl
import subprocess
from pathlib import Path

from aiohttp import web

from exporter.simulator.server import Simulator

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


def make_certificates(openssl: str, directory: Path) -> tuple[Path, Path]:
    """Return the certificate of a new authority, and one of 127.0.0.1, with its key, by it."""
    authority, key, request, certificate, extensions = (
        directory / name for name in ("ca.pem", "key.pem", "request.pem", "cert.pem", "ext.cnf")
    )
    ca_key = directory / "ca-key.pem"
    # Newer releases of Python want to know by which key a certificate was signed.
    extensions.write_text("subjectAltName=IP:127.0.0.1\nauthorityKeyIdentifier=keyid\n")

    def run(*arguments: object) -> None:
        command = [openssl, *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - all stands here

    usage = ("-addext", "keyUsage=critical,keyCertSign")
    run("req", "-x509", *KEY, "-subj", "/CN=tests", *usage, "-keyout", ca_key, "-out", authority)
    run("req", "-new", *KEY[:-2], "-subj", "/CN=server", "-keyout", key, "-out", request)
    signing = ("-CA", authority, "-CAkey", ca_key, "-CAcreateserial", "-extfile", extensions)
    run("x509", "-req", "-in", request, *signing, "-days", "2", "-out", certificate)
    both = directory / "server.pem"
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    return authority, both


async def serve_tls(simulator: Simulator, certificate: Path) -> str:
    """Let a simulator that is started listen on a port with TLS too; return the address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    runner = simulator._runner
    assert runner is not None
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    return f"https://127.0.0.1:{runner.addresses[-1][1]}"
