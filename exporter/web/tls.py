"""TLS for those who read here: `tls_server_config` of the web configuration file.

Python's `ssl` chooses no order of several curves, and most builds of OpenSSL offer nothing below
TLS 1.2: what asks for that is refused. Nor can it admit a certificate that it does not verify: that
takes pyOpenSSL, which is an extra.
"""

import ssl
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BeforeValidator, SecretStr

from exporter.config import fields
from exporter.config.models import Section
from exporter.web.pem import Material, as_file
from exporter.web.tls_names import (
    CIPHER_SUITES,
    CLIENT_AUTH,
    CURVES,
    UNVERIFIED,
    VERSIONS,
    CipherSuite,
    ClientAuth,
    Curve,
    Version,
)

EXTRA: Final = "gpu-cluster-exporter[client-certificates]"
"""What brings pyOpenSSL."""

_WANTED: Final = "RequireAndVerifyClientCert"


class TlsFault(Exception):  # noqa: N818 - found in a file, told as one of its problems
    """What is wrong with one key of `tls_server_config`, or with what it stands for."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"{key}: {why}")
        self.key = key
        self.why = why


def _one(curves: tuple[str, ...]) -> tuple[str, ...]:
    if len(curves) > 1:
        raise ValueError("Python's TLS takes one curve; keep one, or leave the key out")
    return curves


def _pem(value: object) -> object:
    """Check what may be a private key, so that no error shows it."""
    if not isinstance(value, str) or "-----BEGIN " not in value:
        raise ValueError("expected a text in PEM form, -----BEGIN … (not shown)")
    return value


def _file_name(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError("expected the name of a file (not shown)")
    return text


Pem = Annotated[str, BeforeValidator(_pem)]
SecretPem = Annotated[SecretStr, BeforeValidator(_pem)]
FileName = Annotated[str, AfterValidator(_file_name)]


class TlsServerConfig(Section):
    """The mapping `tls_server_config`, with the names and defaults of the exporter-toolkit."""

    cert: Pem | None = None
    key: SecretPem | None = None
    client_ca: Pem | None = None
    cert_file: FileName | None = None
    key_file: FileName | None = None
    client_ca_file: FileName | None = None
    client_auth_type: ClientAuth = "NoClientCert"
    client_allowed_sans: fields.Some[str] | None = None
    min_version: Version = "TLS12"
    max_version: Version = "TLS13"
    cipher_suites: fields.Several[CipherSuite] = ()
    prefer_server_cipher_suites: bool = True
    curve_preferences: Annotated[fields.Several[Curve], AfterValidator(_one)] = ()

    def faults(self) -> Iterator[TlsFault]:
        """Find the keys that contradict each other."""
        for name in ("cert", "key"):
            if not (getattr(self, name) or getattr(self, f"{name}_file")):
                yield TlsFault(f"{name}_file", f"missing; give it, or the PEM itself as {name}")
        for name in ("cert", "key", "client_ca"):
            if getattr(self, name) and getattr(self, f"{name}_file"):
                yield TlsFault(f"{name}_file", f"{name} is given too; keep one of them")
        if VERSIONS[self.min_version] > VERSIONS[self.max_version]:
            yield TlsFault("min_version", f"is above max_version, {self.max_version}")
        yield from self._client_faults()

    def _client_faults(self) -> Iterator[TlsFault]:
        kind = self.client_auth_type
        ca_key = "client_ca" if self.client_ca else "client_ca_file"
        has_ca = bool(self.client_ca or self.client_ca_file)
        if has_ca and kind == "NoClientCert":
            yield TlsFault(ca_key, f"is of no effect without client_auth_type: {_WANTED}")
        if not has_ca and kind != "NoClientCert" and kind not in UNVERIFIED:
            yield TlsFault(ca_key, f"missing; {kind} has to know who signs its clients")
        if self.client_allowed_sans and CLIENT_AUTH[kind] != ssl.CERT_REQUIRED:
            why = f"needs a client_auth_type that requires a certificate, such as {_WANTED}"
            yield TlsFault("client_allowed_sans", why)
        if kind in UNVERIFIED and "X25519" in self.curve_preferences:
            yield TlsFault("curve_preferences", f"X25519 can't be chosen with {kind}")


def server_context(options: TlsServerConfig, material: Material) -> ssl.SSLContext:
    """Build what serves one version of the file; TlsFault where the material does not fit."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[options.min_version]
    context.maximum_version = VERSIONS[options.max_version]
    context.set_alpn_protocols(["http/1.1"])
    _load_chain(context, options, material)
    _verify_clients(context, options, material.client_ca)
    _choose_ciphers(context, options)
    for curve in options.curve_preferences:
        context.set_ecdh_curve(CURVES[curve])
    if options.client_auth_type in UNVERIFIED:
        return _unverifying(context, options, material)
    return context


def _unverifying(
    context: ssl.SSLContext, options: TlsServerConfig, material: Material
) -> ssl.SSLContext:
    kind = options.client_auth_type
    try:
        from exporter.web.openssl import Unverifying  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        why = f"{kind} needs pyOpenSSL ({error}): pip install '{EXTRA}'"
        raise TlsFault("client_auth_type", why) from None
    try:
        made = Unverifying(
            context, material, options.curve_preferences, options.client_allowed_sans
        )
    except ssl.SSLError as error:
        raise TlsFault("client_auth_type", f"pyOpenSSL can't serve {kind}: {error}") from None
    _check_ciphers(made.cipher_names(), options)
    return made


def _load_chain(context: ssl.SSLContext, options: TlsServerConfig, material: Material) -> None:
    cert_key = "cert" if options.cert else "cert_file"
    key_key = "key" if options.key else "key_file"
    _add_authorities(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), cert_key, material.cert)

    def passphrase() -> str:
        raise TlsFault(key_key, "is encrypted; give a key without a passphrase")

    try:
        with as_file(material.cert) as cert, as_file(material.key) as key:
            context.load_cert_chain(cert, key, passphrase)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise TlsFault(
                key_key, f"is not the key of the first certificate in {cert_key}"
            ) from None
        if error.reason in {"EE_KEY_TOO_SMALL", "CA_MD_TOO_WEAK", "CA_KEY_TOO_SMALL"}:
            raise TlsFault(cert_key, "is too weak for OpenSSL; make a new one") from None
        raise TlsFault(key_key, "holds no private key in PEM form") from None


def _verify_clients(
    context: ssl.SSLContext, options: TlsServerConfig, authorities: bytes | None
) -> None:
    context.verify_mode = CLIENT_AUTH[options.client_auth_type]
    if authorities is not None:
        key = "client_ca" if options.client_ca else "client_ca_file"
        _add_authorities(context, key, authorities)
    if options.client_allowed_sans:  # where pyOpenSSL serves, it sees to them
        context.sslobject_class = _admitting(options.client_allowed_sans)


def _add_authorities(context: ssl.SSLContext, key: str, pem: bytes) -> None:
    try:
        context.load_verify_locations(cadata=pem.decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError):
        raise TlsFault(key, "holds no certificates in PEM form") from None


def _admitting(allowed: Collection[str]) -> type[ssl.SSLObject]:
    """Return connections that end at the handshake where the client has none of these names."""

    class AllowedSans(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            if not any(name in allowed for name in _alternative_names(self)):
                raise ssl.SSLCertVerificationError("none of client_allowed_sans")

    return AllowedSans


def _alternative_names(connection: ssl.SSLObject) -> Iterator[str]:
    """List DNS names, addresses, e-mail addresses and URIs as Go writes them."""
    found = (connection.getpeercert() or {}).get("subjectAltName", ())
    assert isinstance(found, tuple)  # noqa: S101 - as the ssl module documents it
    for kind, name in found:
        text = str(name)
        yield str(ip_address(text.strip())) if kind == "IP Address" else text


def _choose_ciphers(context: ssl.SSLContext, options: TlsServerConfig) -> None:
    if not options.prefer_server_cipher_suites:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    wanted = _wanted_ciphers(options)
    if wanted:
        with suppress(ssl.SSLError):  # it has none of them
            context.set_ciphers(":".join(wanted))
        _check_ciphers([cipher["name"] for cipher in context.get_ciphers()], options)
    elif options.cipher_suites and options.min_version != "TLS13":
        raise TlsFault("cipher_suites", "has none of TLS 1.2; add one, or min_version: TLS13")


def _wanted_ciphers(options: TlsServerConfig) -> Sequence[str]:
    return [CIPHER_SUITES[name] for name in options.cipher_suites if name in CIPHER_SUITES]


def _check_ciphers(offered: Collection[str], options: TlsServerConfig) -> None:
    lacking = set(_wanted_ciphers(options)).difference(offered)
    if lacking:
        why = f"this build of OpenSSL lacks {', '.join(sorted(lacking))}"
        raise TlsFault("cipher_suites", why)


class Following(ssl.SSLContext):
    """What listens for as long as the process runs, while each new connection is served anew.

    `current` gives the context for a connection that begins.
    """

    _current: Callable[[], ssl.SSLContext]

    def __new__(cls, current: Callable[[], ssl.SSLContext]) -> Self:
        """Make one that has no certificate of its own."""
        made = super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)
        made._current = current
        return made

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT001, FBT002 - as in the ssl module
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Begin a connection by what holds at this moment: where asyncio begins each."""
        return self._current().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
