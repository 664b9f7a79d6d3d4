"""API keys: stored as hashes, compared in constant time, each with its scopes."""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from metajudge.errors import ConfigurationError


class Scope(StrEnum):
    """A permission of a key."""

    VET = "vet"
    """Operations that ask models: vet, judge, clash, cases, jobs."""
    READ = "read"
    """Read stored records."""
    REVIEW = "review"
    """Claim and decide reviews."""
    ADMIN = "admin"
    """Change rubrics and policies, and put proposals in force."""


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key of 32 random bytes; for these a plain hash is as safe as a slow one.

    Attributes:
        name: its owner, as recorded in the change log and in logs.
        sha256: of the key, as hexadecimal digits.
        requests_per_minute: None for the service's own limit.
    """

    name: str
    sha256: str = field(repr=False)
    scopes: frozenset[Scope] = ALL_SCOPES
    requests_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request."""

    name: str
    scopes: frozenset[Scope]
    requests_per_minute: int | None = None


ANYBODY = Caller("anybody", ALL_SCOPES)
"""The caller of a service without keys, which listens only on loopback."""


def hashed(key: str) -> str:
    """The stored digest of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


class KeyRing:
    """Finds the caller of a key; every key is compared, so that timing reveals nothing.

    Raises:
        ConfigurationError: two keys have one name.
    """

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        self._keys = tuple(keys)
        names = [key.name for key in self._keys]
        twice = next((name for name in names if names.count(name) > 1 or name == ANYBODY.name), None)
        if twice is not None:
            raise ConfigurationError(
                f"key name {twice!r} is used twice or reserved: give each key a unique name, as logs and the change "
                "log identify keys by name"
            )

    @property
    def empty(self) -> bool:
        """Whether no key is required."""
        return not self._keys

    @property
    def digests(self) -> list[str]:
        """The digests of all keys."""
        return [key.sha256 for key in self._keys]

    def caller(self, given: str) -> Caller | None:
        """The caller of a key; None if the key is unknown."""
        digest, found = hashed(given), None
        for key in self._keys:
            if hmac.compare_digest(digest, key.sha256):
                found = Caller(key.name, key.scopes, key.requests_per_minute)
        return found
