"""The names of `tls_server_config`, which are Go's, and what OpenSSL and Python call the same."""

import difflib
import ssl
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator

from exporter.config import fields

CIPHER_SUITES: Final[Mapping[str, str]] = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
}
"""What Go calls the cipher suites of TLS 1.2 that it holds safe, and what OpenSSL calls them."""

ALWAYS_ON: Final = (
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
)
"""Those of TLS 1.3, which can be named but not chosen: neither in Go nor in Python."""

CURVES: Final[Mapping[str, str]] = {
    "CurveP256": "prime256v1",
    "CurveP384": "secp384r1",
    "CurveP521": "secp521r1",
    "X25519": "X25519",
}
VERSIONS: Final[Mapping[str, ssl.TLSVersion]] = {
    "TLS12": ssl.TLSVersion.TLSv1_2,
    "TLS13": ssl.TLSVersion.TLSv1_3,
}
CLIENT_AUTH: Final[Mapping[str, ssl.VerifyMode]] = {
    "NoClientCert": ssl.CERT_NONE,
    "RequestClientCert": ssl.CERT_OPTIONAL,
    "RequireAnyClientCert": ssl.CERT_REQUIRED,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
"""Whether a client's certificate is asked for, and whether there has to be one."""

UNVERIFIED: Final = ("RequestClientCert", "RequireAnyClientCert")
"""Those of them that take any certificate."""

_OLD_NAMES: Final = {"RequireClientCert": "RequireAnyClientCert"}  # the toolkit knows it too


def _version(name: str) -> str:
    if name in {"TLS10", "TLS11"}:
        raise ValueError(f"{name} is broken and not offered here; write TLS12 or TLS13")
    if name not in VERSIONS:
        raise ValueError(fields.unknown("version", name, VERSIONS))
    return name


def _client_auth(written: str) -> str:
    name = _OLD_NAMES.get(written, written)
    if name not in CLIENT_AUTH:
        raise ValueError(fields.unknown("type", name, CLIENT_AUTH))
    return name


def _cipher_suite(name: str) -> str:
    known = (*CIPHER_SUITES, *ALWAYS_ON)
    if name.startswith("TLS_RSA_WITH_"):
        raise ValueError(f"{name} has no forward secrecy and is not offered; take it out")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"unknown cipher suite{hint}; docs/web-configuration.md lists them")
    return name


def _curve(name: str) -> str:
    if name not in CURVES:
        raise ValueError(fields.unknown("curve", name, CURVES))
    return name


Version = Annotated[str, AfterValidator(_version)]
ClientAuth = Annotated[str, AfterValidator(_client_auth)]
CipherSuite = Annotated[str, AfterValidator(_cipher_suite)]
Curve = Annotated[str, AfterValidator(_curve)]
