"""Clients of TLS: how they fare, and certificates of theirs that nobody would issue."""

import asyncio
import shutil
import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from exporter.web.access import load
from tests.web.serving import Served, trusting

TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
ANY = f"{TLS}  client_auth_type: RequireAnyClientCert\n"
REQUESTED = f"{TLS}  client_auth_type: RequestClientCert\n"
NAMED = f"{ANY}  client_allowed_sans: [prometheus.example]\n"
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
DAY = timedelta(days=1)


def careless(file: Path, client: str, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    """Return how a client connects that would send any certificate, and by which version."""
    context = trusting(file.parent)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    if version is not None:
        context.minimum_version = context.maximum_version = version
    if client:
        context.load_cert_chain(file.with_name(f"{client}.crt"), file.with_name(f"{client}.key"))
    return context


def context(file: Path, text: str) -> ssl.SSLContext:
    """Return what serves by a file that says this."""
    file.write_text(text)
    made = load(file).tls
    assert made is not None
    return made


async def admitted(served: Served, context: ssl.SSLContext) -> bool:
    """Return whether a client gets an answer, over a connection of its own."""
    try:
        answer = await served.ask(ssl=context, headers={"Connection": "close"})
    except aiohttp.ClientError:
        return False
    assert answer.status == 200
    return True


async def connected(served: Served, context: ssl.SSLContext) -> ssl.SSLObject:
    """Return the TLS side of a new connection, which is closed again."""
    _, writer = await asyncio.open_connection("127.0.0.1", served.port, ssl=context)
    connection: ssl.SSLObject = writer.get_extra_info("ssl_object")
    writer.transport.abort()
    return connection


async def serial(served: Served, context: ssl.SSLContext) -> object:
    """Return the serial number of the certificate that a new connection is served with."""
    certificate = (await connected(served, context)).getpeercert()
    assert certificate is not None
    return certificate["serialNumber"]


def make(
    directory: Path, name: str, *extensions: x509.ExtensionType, since: timedelta = -DAY
) -> None:
    """Write NAME.crt and NAME.key: signed by itself, good for two days from a day of its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    starts = datetime.now(UTC) + since
    made = x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(starts).not_valid_after(starts + 2 * DAY)
    for extension in extensions:
        made = made.add_extension(extension, critical=True)
    signed = made.sign(key, hashes.SHA256())
    (directory / f"{name}.crt").write_bytes(signed.public_bytes(Encoding.PEM))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    (directory / f"{name}.key").write_bytes(pem)


class Talk:
    """A client and a server that talk through buffers, without a network."""

    def __init__(self, server: ssl.SSLContext, client: ssl.SSLContext) -> None:
        self._said, self._heard, self._answered = (ssl.MemoryBIO() for _ in range(3))
        self.server = server.wrap_bio(self._heard, self._answered, server_side=True)
        self.client = client.wrap_bio(self._answered, self._said, server_hostname="127.0.0.1")

    def say(self) -> bytes:
        """Let the client go on with its handshake, and return what it says."""
        with suppress(ssl.SSLWantReadError):
            self.client.do_handshake()
        return self._said.read()

    def hear(self, said: bytes) -> bool:
        """Let the server hear something, and return whether it holds the handshake for done."""
        self._heard.write(said)
        try:
            self.server.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def shake_hands(self) -> None:
        """Let both come to an agreement; ssl.SSLError where they can't."""
        while not self.hear(self.say()):
            pass
        self.say()

    def tell(self, text: bytes) -> None:
        """Let the client say something after the handshake."""
        self.client.write(text)
        self._heard.write(self._said.read())

    def part(self) -> None:
        """Let the client say goodbye."""
        with suppress(ssl.SSLWantReadError):
            self.client.unwrap()
        self._heard.write(self._said.read())


def steal(directory: Path, name: str, thief: str) -> None:
    """Write THIEF.crt and THIEF.key: the certificate of NAME, and a key that pretends to fit."""
    own, forged = (_key(directory / f"{name}.key"), ec.generate_private_key(ec.SECP256R1()))
    der = own.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    der = der.replace(_secret(own), _secret(forged))  # the public half stays
    pem = ssl.DER_cert_to_PEM_cert(der).replace("CERTIFICATE", "EC PRIVATE KEY")
    (directory / f"{thief}.key").write_text(pem)
    shutil.copy(directory / f"{name}.crt", directory / f"{thief}.crt")


def _key(file: Path) -> ec.EllipticCurvePrivateKey:
    key = load_pem_private_key(file.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _secret(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_numbers().private_value.to_bytes(32, "big")
