"""Which host names the service answers to, and which sites may send it changes.

A page of another site can make a browser ask this machine: under a name of its own that it points here (DNS
rebinding), or across sites. The ``Host`` header tells the first, ``Origin`` the second. ``X-Forwarded-Host`` is never
read, as any caller can set it.
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException

from metajudge.errors import ConfigurationError

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Address:
    """A host as headers name it; ``port`` is None where none is given."""

    host: str
    port: int | None


def parse_host(text: str) -> Address | None:
    """A ``Host`` header in one spelling: lower case, no trailing dot, IPv6 shortened; None where it is malformed."""
    found = _HOST.fullmatch(text)
    if found is None:
        return None
    host, port = found[1].lower(), None if found[2] is None else int(found[2])
    if port is not None and port > 65535:
        return None
    if host.startswith("["):
        try:
            return Address(str(ipaddress.IPv6Address(host[1:-1])), port)
        except ValueError:
            return None
    host = host.removesuffix(".")
    return Address(host, port) if host else None


def allowed_names(given: Iterable[str], source: str) -> tuple[str, ...]:
    """Host names as a setting gives them, in one spelling; an IPv6 address may stand with or without brackets.

    Args:
        source: where they are set, for the error.

    Raises:
        ConfigurationError: one is no host name; says which.
    """
    names = []
    for text in given:
        bare = text.strip()
        found = parse_host(f"[{bare}]" if bare.count(":") > 1 and not bare.startswith("[") else bare)
        if found is None or found.port is not None:
            raise ConfigurationError(
                f"{source}: {text!r} is no host name: give names such as judge.example.org or IP addresses, without "
                "a scheme, a port or a wildcard"
            )
        names.append(found.host)
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class HostRule:
    """The one check of ``Host`` and ``Origin``, for the HTTP interface and the pages alike.

    Attributes:
        names: hosts that the operator allows, as :func:`allowed_names` gives them; loopback always is.
        keyed: whether the service has keys: without names it then answers to any host.
        sites: origins of other sites whose pages may ask this service (CORS).
    """

    names: tuple[str, ...] = ()
    keyed: bool = False
    sites: tuple[str, ...] = ()

    def check(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Refuses a request under a foreign name, and a change that another site's page sends.

        Raises:
            HTTPException: 400, the host is malformed or given twice; 403.
        """
        pairs = list(headers)
        hosts = [value.decode("latin-1") for name, value in pairs if name == b"host"]
        if len(hosts) > 1:
            raise HTTPException(400, "the request has several Host headers: send one")
        address = self._allowed(hosts[0] if hosts else "")
        if method not in SAFE_METHODS:
            self._check_origin(address, dict(pairs))

    def _allowed(self, given: str) -> Address | None:
        address = parse_host(given)
        if self.keyed and not self.names:
            if address is None and given:
                raise HTTPException(400, "the Host header is malformed")
            return address
        if address is not None and (is_loopback(address.host) or address.host in self.names):
            return address
        if self.keyed:
            raise HTTPException(403, f"this service does not answer as {given[:200]!r}: allowed_hosts names its hosts")
        raise HTTPException(
            403,
            f"this service has no keys and answers on this machine's own names alone, not as {given[:200]!r}: ask it "
            "as 127.0.0.1, name the host with --allowed-host, or set a key",
        )

    def _check_origin(self, address: Address | None, headers: Mapping[bytes, bytes]) -> None:
        origin = headers.get(b"origin", b"").decode("latin-1")
        if not origin or origin in self.sites or self._same(origin, address):
            return
        # A browser that withholds the origin of a page of ours still says that the page is ours; pages cannot set this.
        if origin == "null" and headers.get(b"sec-fetch-site") == b"same-origin":
            return
        raise HTTPException(
            403, "this request comes from another site's page: ask directly, or allow the site in cors_origins"
        )

    def _same(self, origin: str, address: Address | None) -> bool:
        """Whether an origin is this service itself; behind a proxy that changes ``Host``, an allowed name."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        default = DEFAULT_PORTS.get(parts.scheme)
        site = parse_host(parts.netloc)
        if default is None or site is None or origin != f"{parts.scheme}://{parts.netloc}":
            return False
        port = site.port or default
        if address is not None and site.host == address.host and port == (address.port or default):
            return True
        return site.host in self.names and port == default


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
