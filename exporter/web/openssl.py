"""TLS by pyOpenSSL, for clients' certificates that are asked for and not verified.

Python's own `ssl` verifies every certificate that it asks for. What stands here does for such
connections what asyncio needs of `ssl`: a context that begins them, and an object that drives each
between two buffers.
"""

import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Self, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from OpenSSL import SSL, crypto

from exporter.web.pem import Material, as_file

CURVES: Final[Mapping[str, ec.EllipticCurve]] = {
    "CurveP256": ec.SECP256R1(),
    "CurveP384": ec.SECP384R1(),
    "CurveP521": ec.SECP521R1(),
}
"""The curves that pyOpenSSL can be told."""

_CHUNK: Final = 256 * 1024  # so much is handed over at once, that a large page is not held twice
_HTTP: Final = b"http/1.1"
_VERIFY: Final = {
    ssl.CERT_OPTIONAL: SSL.VERIFY_PEER,
    ssl.CERT_REQUIRED: SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT,
}
_UNREADABLE: Final = (
    ValueError,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""What is raised over certificates that have no names, or are made of anything."""

Result = TypeVar("Result")


class Unverifying(ssl.SSLContext):
    """What serves like another context, and takes every certificate that a client may have.

    That its client holds the key of the certificate is still proved. `like` gives versions, cipher
    suites, and whether there has to be a certificate; one without any of `sans` is refused.
    """

    _context: SSL.Context
    _sans: Collection[str] | None

    def __new__(
        cls,
        like: ssl.SSLContext,
        material: Material,
        curves: Sequence[str] = (),
        sans: Collection[str] | None = None,
    ) -> Self:
        """Make one; ssl.SSLError where pyOpenSSL can't."""
        made = super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)
        made._context = _context(like, material, curves)
        made._sans = sans
        return made

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT001, FBT002 - as in the ssl module
        server_hostname: str | bytes | None = None,  # noqa: ARG002 - the same; of clients alone
        session: ssl.SSLSession | None = None,  # noqa: ARG002 - the same
    ) -> ssl.SSLObject:
        """Begin a connection."""
        assert server_side  # noqa: S101 - nobody connects by it
        return Conversation(self._begin(), incoming, outgoing, self._sans)

    def cipher_names(self) -> Sequence[str]:
        """Return what OpenSSL calls the cipher suites that are offered."""
        return self._begin().get_cipher_list()

    def _begin(self) -> SSL.Connection:
        connection = SSL.Connection(self._context)
        connection.set_accept_state()
        return connection


def _context(like: ssl.SSLContext, material: Material, curves: Sequence[str]) -> SSL.Context:
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(like.minimum_version)
    context.set_max_proto_version(like.maximum_version)
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    context.set_options(SSL.OP_NO_COMPRESSION)
    context.set_options(SSL.OP_NO_RENEGOTIATION)  # so that no writing ever waits for reading
    context.set_options(like.options & SSL.OP_CIPHER_SERVER_PREFERENCE)
    context.set_session_id(b"gpu-cluster-exporter")  # else who comes back is refused
    context.set_alpn_select_callback(_choose_protocol)
    try:
        context.set_cipher_list(_cipher_list(like))
        _load(context, material)
    except SSL.Error as error:
        raise ssl.SSLError(ssl.SSL_ERROR_SSL, str(error)) from None
    for curve in curves:
        context.set_tmp_ecdh(CURVES[curve])
    context.set_verify(_VERIFY[like.verify_mode], _take)
    context.set_verify_depth(0)  # what signed it is of no interest, and costs time to follow
    return context


def _load(context: SSL.Context, material: Material) -> None:
    with as_file(material.cert) as cert, as_file(material.key) as key:
        context.use_certificate_chain_file(cert)
        context.use_privatekey_file(key)
    if material.client_ca is not None:
        with as_file(material.client_ca) as authorities:
            context.load_client_ca(authorities.encode())  # told to clients, who choose by it


def _cipher_list(like: ssl.SSLContext) -> bytes:
    names = (cipher["name"] for cipher in like.get_ciphers() if cipher["protocol"] != "TLSv1.3")
    return f"@SECLEVEL={like.security_level}:{':'.join(names)}".encode()


def _choose_protocol(_: object, offered: Sequence[bytes]) -> Any:  # noqa: ANN401 - or a token
    return _HTTP if _HTTP in offered else SSL.NO_OVERLAPPING_PROTOCOLS


def _take(*_: object) -> bool:
    """Take a certificate, whatever OpenSSL found wrong with it."""
    return True


class Conversation(ssl.SSLObject):
    """A connection, with what asyncio asks of an ssl.SSLObject, in its words, and no more."""

    def __init__(
        self,
        connection: SSL.Connection,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        sans: Collection[str] | None,
    ) -> None:
        self._connection = connection
        self._incoming = incoming
        self._outgoing = outgoing
        self._sans = sans

    def do_handshake(self) -> None:
        """Go on with the handshake."""
        self._drive(self._connection.do_handshake)
        if self._sans is not None:
            names = alternative_names(self._connection.get_peer_certificate())
            if not any(name in self._sans for name in names):
                raise ssl.SSLCertVerificationError("none of client_allowed_sans")

    def read(self, len: int = 1024, buffer: Any = None) -> Any:  # noqa: A002, ANN401 - as in ssl
        """Return what has come, or how much where it is put into a buffer: nothing at the end."""
        data = self._drive(lambda: self._receive(len))
        if buffer is None:
            return data
        count = memoryview(data).nbytes
        buffer[:count] = data
        return count

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever is like bytes
        """Send all of it, and return its length."""
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _CHUNK):
            self._send(view[start : start + _CHUNK])
        return len(view)

    def unwrap(self) -> None:
        """Say goodbye, and hear it from the client."""
        self._drive(self._shut_down)

    def getpeercert(self, binary_form: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - as in ssl
        """Return the client's certificate: as a mapping an empty one, for it is not verified."""
        certificate = self._connection.get_peer_certificate()
        if certificate is None or not binary_form:
            return None if certificate is None else {}
        return crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate)

    def cipher(self) -> tuple[str, str, int] | None:
        """Return the cipher suite that was agreed on, its protocol and its bits."""
        name = self._connection.get_cipher_name()
        version = self._connection.get_cipher_version()
        bits = self._connection.get_cipher_bits()
        return (name, version, bits) if name and version and bits else None

    def compression(self) -> None:
        """Return what compresses: nothing does."""

    def _drive(self, step: Callable[[], Result]) -> Result:
        """Take a step, as far as what has come allows, and pass on what is to go out."""
        try:
            while True:
                try:
                    return step()
                except SSL.WantReadError:
                    self._feed()
        except SSL.Error as error:
            raise ssl.SSLError(ssl.SSL_ERROR_SSL, str(error)) from None
        finally:
            self._drain()

    def _feed(self) -> None:
        received = self._incoming.read(_CHUNK)
        if not received:
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "more has to come")
        self._connection.bio_write(received)

    def _drain(self) -> None:
        with suppress(SSL.WantReadError):
            while True:
                self._outgoing.write(self._connection.bio_read(_CHUNK))

    def _receive(self, most: int) -> bytes:
        try:
            return self._connection.recv(most)
        except SSL.ZeroReturnError:
            return b""

    def _send(self, piece: memoryview) -> None:
        self._drive(lambda: self._connection.sendall(piece))

    def _shut_down(self) -> None:
        if not self._connection.shutdown():  # said, but not heard yet
            self._connection.shutdown()


def alternative_names(certificate: crypto.X509 | None) -> Iterator[str]:
    """List DNS names, e-mail addresses, URIs and addresses of a certificate as Go writes them.

    Raises ssl.SSLCertVerificationError where it can't be read, which is up to whoever made it.
    """
    try:
        yield from () if certificate is None else _names(certificate.to_cryptography())
    except _UNREADABLE:
        raise ssl.SSLCertVerificationError("a certificate without names to read") from None


def _names(certificate: x509.Certificate) -> Iterator[str]:
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    for kind in (x509.DNSName, x509.RFC822Name, x509.UniformResourceIdentifier):
        yield from names.get_values_for_type(kind)
    yield from map(str, names.get_values_for_type(x509.IPAddress))
