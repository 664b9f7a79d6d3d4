"""The host names the service accepts, and the origins that may send it changes.

A page of another site can make a browser send requests to this machine: under a host name it controls (DNS
rebinding), or across sites. The ``Host`` header reveals the first, ``Origin`` the second. ``X-Forwarded-Host`` is never
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
    """A host in a header; ``port`` is None if not given."""

    host: str
    port: int | None


def parse_host(text: str) -> Address | None:
    """A normalised ``Host`` header: lower case, no trailing dot, IPv6 shortened; None if malformed."""
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
    """Normalises the host names of a setting; IPv6 addresses may have brackets.

    Args:
        source: the setting's name, for the error.

    Raises:
        ConfigurationError: a name is not a host name.
    """
    names = []
    for text in given:
        bare = text.strip()
        found = parse_host(f"[{bare}]" if bare.count(":") > 1 and not bare.startswith("[") else bare)
        if found is None or found.port is not None:
            raise ConfigurationError(
                f"{source}: {text!r} is not a host name: give names such as judge.example.org or IP addresses, without "
                "a scheme, a port or a wildcard"
            )
        names.append(found.host)
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class HostRule:
    """The check of ``Host`` and ``Origin``, for the HTTP interface and the pages.

    Attributes:
        names: allowed hosts, from :func:`allowed_names`; loopback is always allowed.
        keyed: whether the service has keys: it then accepts any host if ``names`` is empty.
        sites: origins of other sites whose pages may call this service (CORS).
    """

    names: tuple[str, ...] = ()
    keyed: bool = False
    sites: tuple[str, ...] = ()

    def check(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Refuses requests with a foreign host, and changes sent by another site's page.

        Raises:
            HTTPException: 400, the host is malformed or given twice; 403, the host or origin is not allowed.
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
            raise HTTPException(403, f"host {given[:200]!r} is not allowed: add it to allowed_hosts")
        raise HTTPException(
            403,
            f"host {given[:200]!r} is not allowed: a service without keys accepts only loopback names; use 127.0.0.1, "
            "allow the host with --allowed-host, or set a key",
        )

    def _check_origin(self, address: Address | None, headers: Mapping[bytes, bytes]) -> None:
        origin = headers.get(b"origin", b"").decode("latin-1")
        if not origin or origin in self.sites or self._same(origin, address):
            return
        # If a browser withholds the origin of our own page, this header still identifies it; pages cannot set it.
        if origin == "null" and headers.get(b"sec-fetch-site") == b"same-origin":
            return
        raise HTTPException(
            403, "this request comes from another site's page: send it directly, or allow the site in cors_origins"
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
