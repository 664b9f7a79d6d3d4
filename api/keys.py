"""API keys: kept as hashes, compared in constant time, each with its scopes."""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from metajudge.errors import ConfigurationError


class Scope(StrEnum):
    """What a key may do."""

    VET = "vet"
    """Whatever asks models: vet, judge, clash, cases, jobs."""
    READ = "read"
    """See what is kept."""
    REVIEW = "review"
    """Claim and decide reviews."""
    ADMIN = "admin"
    """Change rubrics, policies and what is in force."""


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key. A key is 32 random bytes, which a plain hash protects as well as a slow one would.

    Attributes:
        name: who it belongs to; stands in the audit log and in logs.
        sha256: of the key, as hexadecimal digits.
        requests_per_minute: None for the service's own limit.
    """

    name: str
    sha256: str = field(repr=False)
    scopes: frozenset[Scope] = ALL_SCOPES
    requests_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    name: str
    scopes: frozenset[Scope]
    requests_per_minute: int | None = None


ANYBODY = Caller("anybody", ALL_SCOPES)
"""Callers of a service without keys, which listens on this machine alone."""


def hashed(key: str) -> str:
    """The digest that is kept of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


class KeyRing:
    """Finds out who a key belongs to; every key is compared, so that time tells nothing.

    Raises:
        ConfigurationError: two keys have one name.
    """

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        self._keys = tuple(keys)
        names = [key.name for key in self._keys]
        twice = next((name for name in names if names.count(name) > 1 or name == ANYBODY.name), None)
        if twice is not None:
            raise ConfigurationError(
                f"the name {twice!r} is another key's, or the service's own: give each key a name by which logs and "
                "audit records can tell it"
            )

    @property
    def empty(self) -> bool:
        """Whether nobody needs a key."""
        return not self._keys

    def caller(self, given: str) -> Caller | None:
        """Whose key it is; None where it is nobody's."""
        digest, found = hashed(given), None
        for key in self._keys:
            if hmac.compare_digest(digest, key.sha256):
                found = Caller(key.name, key.scopes, key.requests_per_minute)
        return found
