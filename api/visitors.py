"""What the service keeps about people in a browser: the sessions that were ended, and attempts to log in."""

import math
import secrets
import time
from typing import Protocol

from .keys import Caller
from .limits import RateLimit

LOGINS_PER_MINUTE = 20
"""Attempts to log in from one address, on all replicas together."""


class Visitors(Protocol):
    """Ended sessions and attempts to log in; of one process, or of all replicas on one database."""

    async def secret(self) -> bytes:
        """The stored part of the key that signs session cookies."""

    async def is_ended(self, mark: str) -> bool:
        """Whether a session was ended, by its :attr:`~.pages.sessions.Session.mark`."""

    async def end(self, mark: str, expires_at: float) -> None:
        """Ends a session for every copy of its cookie, until it would have expired."""

    async def login_wait(self, address: str) -> float:
        """Counts an attempt to log in; returns 0, or the seconds until another one is permitted."""


class OwnVisitors:
    """Those of one process; a restart ends all sessions."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._ended: dict[str, float] = {}
        self._logins = RateLimit(LOGINS_PER_MINUTE)

    async def secret(self) -> bytes:
        return self._secret

    async def is_ended(self, mark: str) -> bool:
        return mark in self._ended

    async def end(self, mark: str, expires_at: float) -> None:
        now = time.time()
        self._ended = {one: until for one, until in self._ended.items() if until > now}
        self._ended[mark] = expires_at

    async def login_wait(self, address: str) -> float:
        return math.ceil(self._logins.wait(Caller(address, frozenset())))
