"""Sessions of people in a browser: a signed cookie, the CSRF token of every form, and the viewer of a page.

The server keeps only the sessions that were ended (:class:`~..limits.Visitors`). The signing key is made of a stored
secret and the service's API keys, so neither the store nor the service's file alone allows forging a session, and a
change of the keys ends all sessions. A session contains its expiry time; signing its cookie again after a change of
preferences does not extend it.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request
from itsdangerous import BadData, Signer, URLSafeSerializer

from metajudge.reviews.seen import Onlooker
from metajudge.types.frozen import Frozen

from .deps import Service
from .keys import ANYBODY, Caller, Scope

SESSION_S = 12 * 3600.0
"""Lifetime of a session in seconds."""
SIGNER: dict[str, Any] = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}


class Session(Frozen):
    """The person who views the pages, and their preferences.

    Attributes:
        nonce: random value that makes this session's form token unique.
        caller: name of the key used to log in; None before that, and if the service has no keys.
        reviewer: the name recorded with this person's decisions; None until it is known.
        blind: cases are shown without judge, verdict and scores until they are decided.
        plain: judged texts are shown as written, not as formatted Markdown; the default.
    """

    nonce: str
    expires_at: float
    caller: str | None = None
    scopes: frozenset[Scope] = frozenset()
    requests_per_minute: int | None = None
    reviewer: str | None = None
    blind: bool = False
    plain: bool = True

    @property
    def mark(self) -> str:
        """Identifies the session in stored records; form tokens and cookies cannot be derived from it."""
        return hashlib.sha256(self.nonce.encode()).hexdigest()[:16]


def signing_key(secret: bytes, keys: Iterable[str]) -> bytes:
    """The key that signs cookies.

    Args:
        keys: digests of the service's API keys; replicas with the same keys accept each other's sessions.
    """
    return hmac.new(secret, "\n".join(sorted(keys)).encode(), hashlib.sha256).digest()


@dataclass(frozen=True, slots=True)
class Sessions:
    """Makes, reads and signs sessions.

    Args:
        secret: the key that signs cookies and tokens.
        clock: returns seconds since the epoch.
    """

    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    clock: Callable[[], float] = time.time

    def new(self) -> Session:
        """A session without a login."""
        return Session(nonce=secrets.token_urlsafe(16), expires_at=self.clock() + SESSION_S)

    def encode(self, session: Session) -> str:
        """The cookie's value."""
        value: str | bytes = self._cookies.dumps(session.model_dump(mode="json"))
        return value if isinstance(value, str) else value.decode()

    def decode(self, cookie: str) -> Session | None:
        """The session of a cookie; None if the signature is invalid or the session has expired."""
        try:
            session = Session.model_validate(self._cookies.loads(cookie))
        except (BadData, ValueError):
            return None
        return session if session.expires_at > self.clock() else None

    def token(self, session: Session) -> str:
        """The CSRF token of a session's forms, unknown to other sites."""
        return self._forms.get_signature(session.nonce).decode()

    def is_token(self, session: Session, given: str) -> bool:
        """Whether a form came from a page of this session."""
        return self._forms.verify_signature(session.nonce, given)

    @property
    def _cookies(self) -> URLSafeSerializer:
        return URLSafeSerializer(self.secret, salt="session", signer_kwargs=SIGNER)

    @property
    def _forms(self) -> Signer:
        return Signer(self.secret, salt="form", **SIGNER)


class LoginNeededError(Exception):
    """The service has keys and the request has no login."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who views a page.

    Attributes:
        caller: the key's name and scopes; without keys, the local user with every scope.
        needs_key: whether the service has keys, so that logging out is possible.
        token: the CSRF token every form has to carry.
    """

    caller: Caller
    session: Session
    needs_key: bool
    token: str

    @property
    def reviewer(self) -> str | None:
        """The name recorded with decisions; None until the person has given one."""
        if self.session.reviewer is not None:
            return self.session.reviewer
        return self.caller.name if self.needs_key else None

    @property
    def person(self) -> Onlooker:
        """The person, as recorded with what they have been shown."""
        return Onlooker(self.reviewer, self.session.mark)

    def may(self, *scopes: str) -> bool:
        """Whether the person has one of these scopes."""
        return not self.caller.scopes.isdisjoint(Scope(scope) for scope in scopes)


def sessions_of(request: Request) -> Sessions:
    """The application's sessions."""
    found: Sessions = request.app.state.sessions
    return found


def cookie_name(request: Request) -> str:
    """The session cookie's name; cookies ignore ports, and two services may run on one machine."""
    port = request.url.port
    return "metajudge" if port is None else f"metajudge-{port}"


def session_of(request: Request) -> Session:
    """The session of a request; a new one, set by the response, if it has none."""
    if not hasattr(request.state, "session"):
        found = sessions_of(request).decode(request.cookies.get(cookie_name(request), ""))
        request.state.session = sessions_of(request).new() if found is None else found
        request.state.session_is_new = found is None
    session: Session = request.state.session
    return session


async def drop_ended_session(request: Request) -> None:
    """Replaces the session of a request with a new one if it was logged out on any replica."""
    running: Service = request.app.state.service
    session = session_of(request)
    if session.caller is not None and await running.visitors.is_ended(session.mark):
        change_session(request, sessions_of(request).new())


def change_session(request: Request, session: Session) -> None:
    """Sets a session with the response."""
    request.state.session, request.state.session_is_new = session, True


async def viewer(request: Request) -> Viewer:
    """The viewer; the same object for the whole request.

    Raises:
        LoginNeededError: the request has no login.
        HTTPException: 429, the rate limit is exceeded.
    """
    if not hasattr(request.state, "viewer"):
        request.state.viewer = await _viewer(request)
    found: Viewer = request.state.viewer
    return found


async def _viewer(request: Request) -> Viewer:
    running: Service = request.app.state.service
    session = session_of(request)
    token = sessions_of(request).token(session)
    if running.keys.empty:
        return Viewer(ANYBODY, session, needs_key=False, token=token)
    if session.caller is None:
        raise LoginNeededError
    caller = Caller(session.caller, session.scopes, session.requests_per_minute)
    request.state.who = caller  # for the log, as the gate notes it
    await running.rates.check(caller, f"key {caller.name!r} has reached its rate limit")
    return Viewer(caller, session, needs_key=True, token=token)
