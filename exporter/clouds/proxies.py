"""The proxy that the environment names for a URL.

aiohttp's own `trust_env` finds it too, but also sends what `~/.netrc` says of the cloud's
host, and logs what it can't read there.
"""

from collections.abc import Callable
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from exporter.clouds.outcomes import ConnectionFailed

Proxy = Callable[[URL], URL | None]
"""A URL to the proxy that stands before it, if any does."""


def no_proxy(_: URL) -> None:
    """Return that there is none, whatever the environment says."""


def environment_proxy(url: URL) -> URL | None:
    """Return the proxy of HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY exempts the host.

    User and password in it are kept. Raises ConnectionFailed for what is no proxy's address;
    the text does not show it, for it may hold a password.
    """
    host = url.host or ""
    named = getproxies().get(url.scheme)
    if not named or proxy_bypass(host) or proxy_bypass(f"{host}:{url.port}"):
        return None
    try:
        proxy = URL(named if "://" in named else f"http://{named}")
    except ValueError:
        proxy = URL()
    if proxy.scheme not in {"http", "https"} or not proxy.host or _has_path(proxy):
        raise ConnectionFailed(f"{url.scheme.upper()}_PROXY is no http or https address")
    return proxy


def _has_path(proxy: URL) -> bool:
    """Return whether more follows: the rest of a password in which a slash stood as such."""
    return proxy.with_user(None) != proxy.origin()
