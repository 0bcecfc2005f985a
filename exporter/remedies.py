"""What to do about a target that fails: which key to look at, and what may be wrong with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from exporter.config import Config, HttpClient, NsmlAccount, ScpAccount, SecretSource
from exporter.poller import Poller

_NOTABLE_SKEW_SECONDS: Final = 60.0
NO_SUCH_RUN: Final = "the configured run is not there"
RUN_GONE: Final = "a run that was listed is not there"
_PARTIAL: Final = "not all could be read whole: "
_PROXY_VARIABLES: Final = "HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
_PROXY: Final = f"check the proxy that the environment names: {_PROXY_VARIABLES}"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a target depends on: its account, at which path of the configuration, and the clock.

    `skew` is the cloud's clock minus the local one, in seconds, where an answer told it.
    """

    path: str
    account: ScpAccount | NsmlAccount
    http_client: HttpClient
    skew: float | None = None

    @classmethod
    def of(cls, poller: Poller, config: Config) -> "Setting":
        """Find the account of a poller in the configuration that it was built from."""
        target = poller.collector.target
        accounts: tuple[ScpAccount | NsmlAccount, ...]
        accounts = config.scp if target.provider == "scp" else config.nsml
        names = [account.account for account in accounts]
        index = names.index(target.account)
        path = f"{target.provider}[{index}]"
        return cls(path, accounts[index], config.http_client, poller.client.skew)

    @property
    def service(self) -> str:
        """The name under which the cloud sells the service."""
        is_scp = isinstance(self.account, ScpAccount)
        return "Multi-node GPU Cluster" if is_scp else "CLOVA NSML"

    @property
    def endpoint(self) -> str:
        """The key of the address, or those that it is made of where the file does not name it."""
        if "endpoint" in self.account.model_fields_set:
            return f"{self.path}.endpoint"
        if isinstance(self.account, ScpAccount):
            return f"{self.path}.environment and {self.path}.regions, which make the address"
        return f"{self.path}.endpoint, which is the public one where it is not named"

    def key(self, name: str) -> str:
        """Return the path of a secret's key, as the file spells it."""
        source: SecretSource = getattr(self.account, name)
        suffix = "_file" if source.file else "_env" if source.env else ""
        return f"{self.path}.{name}{suffix}"

    def polling(self, name: str) -> str:
        """Return the path of a key of the polling, and its value in force."""
        return f"{self.path}.polling.{name} (now {getattr(self.account.polling, name):g})"


Remedy: TypeAlias = Callable[[Setting, str], str]


def remedy(reason: str, message: str, setting: Setting) -> str:
    """Return what to do, on one line, about a failure of this reason that said this."""
    return _REMEDIES[reason](setting, message)


def _auth(setting: Setting, message: str) -> str:
    skew = setting.skew or 0.0
    if abs(skew) > _NOTABLE_SKEW_SECONDS:
        where = "behind" if skew > 0 else "ahead of"
        off = f"{abs(skew):.0f} s {where} the cloud's"
        return f"set this machine's clock, best by NTP: it is {off}, and signatures go by it"
    keys = ", ".join(setting.key(name) for name in type(setting.account).secrets)
    if message.startswith("no credentials"):
        return f"mend what is named here, one of {keys}"
    return f"check {keys}: wrong, expired, revoked, or limited to other addresses"


def _forbidden(setting: Setting, message: str) -> str:
    if message.startswith("HTTP 401"):
        return f"subscribe the account to {setting.service} in the cloud's console"
    which = "the permission named here" if "permission" in message else "permission to list these"
    return f"grant the owner of {setting.key('access_key')} {which} in the cloud's console"


def _not_found(setting: Setting, message: str) -> str:
    if message.startswith(NO_SUCH_RUN):
        return f"take a run that is over out of {setting.path}.runs"
    if message.startswith(RUN_GONE):
        return "the run may just have ended: try again"
    if isinstance(setting.account, ScpAccount):
        version = f"{setting.path}.api_version (now {setting.account.api_version})"
        return f"check {setting.endpoint} and {version}"
    return f"check {setting.endpoint}, which ends in a path such as /nsml/v1"


def _rate_limited(setting: Setting, _: str) -> str:
    rate, concurrent = "requests_per_second", "max_concurrent_requests"
    keys = f"{setting.polling(rate)} or {setting.polling(concurrent)}"
    return f"lower {keys}; does another program use the same keys?"


def _timeout(setting: Setting, _: str) -> str:
    longer = setting.polling("request_timeout")
    return f"{_reach(setting)}; an API that is only slow needs more than {longer} seconds"


def _connection(setting: Setting, message: str) -> str:
    return _PROXY if "proxy" in message.lower() else _reach(setting)


def _reach(setting: Setting) -> str:
    if setting.http_client.proxy_from_environment:
        proxy = f"and the proxy that the environment names ({_PROXY_VARIABLES})"
    else:
        proxy = "and firewall; behind a proxy: http_client.proxy_from_environment: true"
    return f"check {setting.endpoint}, its name in DNS {proxy}"


def _tls(setting: Setting, message: str) -> str:
    said = message.lower()
    if "expired" in said or "not yet valid" in said:
        return "the server's certificate is out of date, or this machine's clock is wrong"
    if "mismatch" in said or "doesn't match" in said or "not valid for" in said:
        return f"the server is another than the one that {setting.endpoint} names"
    if "certificate" not in said:
        return f"no TLS is spoken there: check scheme and port of {setting.endpoint}"
    if setting.http_client.ca_file is None:
        return "name a file with the authority that signed the certificate: http_client.ca_file"
    return "add the authority that signed the certificate to the file of http_client.ca_file"


def _bad_request(setting: Setting, message: str) -> str:
    if message.startswith("HTTP 407"):
        return _PROXY
    if isinstance(setting.account, ScpAccount):
        return f"check {setting.path}.api_version, {setting.path}.account_id and {setting.endpoint}"
    return f"check {setting.endpoint}, and ids in {setting.path}.runs"


def _server_error(setting: Setting, _: str) -> str:
    trouble = "the cloud's own trouble, or that of a gateway before it"
    return f"{trouble}: try again later; if it stays, check {setting.endpoint}"


def _bad_response(setting: Setting, _: str) -> str:
    other = "something else than the API answered, such as a proxy or a login page"
    return f"{other}, or an API that changed: check {setting.endpoint}"


def _partial(setting: Setting, message: str) -> str:
    """Tell of what kept the poll from being whole, where a part of it failed by itself."""
    reason, _, said = message.removeprefix(_PARTIAL).partition(": ")
    if reason in _REMEDIES:
        return remedy(reason, said, setting)
    return "the list changed while it was read: try again"


def _internal(*_: object) -> str:
    return "a defect of the exporter: please report it, with the log"


_REMEDIES: Final[Mapping[str, Remedy]] = {
    "auth": _auth,
    "forbidden": _forbidden,
    "not_found": _not_found,
    "rate_limited": _rate_limited,
    "timeout": _timeout,
    "connection": _connection,
    "tls": _tls,
    "bad_request": _bad_request,
    "server_error": _server_error,
    "bad_response": _bad_response,
    "partial": _partial,
    "internal": _internal,
}
