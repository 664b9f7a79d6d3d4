"""Sessions of people in a browser: a signed cookie, and the CSRF token of every form.

The server keeps only the sessions that were ended. Every process makes a new signing key, so a restart ends all
sessions, and the service's file and store do not allow forging one. A session contains its expiry time; signing its
cookie again after a change of preferences does not extend it.
"""

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from itsdangerous import BadData, Signer, URLSafeSerializer

from metajudge.types.frozen import Frozen

from ..keys import Scope

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


@dataclass(frozen=True, slots=True)
class Sessions:
    """Makes, reads and signs sessions.

    Args:
        secret: the key that signs cookies and tokens.
        clock: returns seconds since the epoch.
    """

    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    clock: Callable[[], float] = time.time
    _ended: dict[str, float] = field(default_factory=dict, repr=False)

    def new(self) -> Session:
        """A session without a login."""
        return Session(nonce=secrets.token_urlsafe(16), expires_at=self.clock() + SESSION_S)

    def encode(self, session: Session) -> str:
        """The cookie's value."""
        value: str | bytes = self._cookies.dumps(session.model_dump(mode="json"))
        return value if isinstance(value, str) else value.decode()

    def decode(self, cookie: str) -> Session | None:
        """The session of a cookie; None if the signature is invalid or the session has ended or expired."""
        try:
            session = Session.model_validate(self._cookies.loads(cookie))
        except (BadData, ValueError):
            return None
        if session.nonce in self._ended:
            return None
        return session if session.expires_at > self.clock() else None

    def end(self, session: Session) -> None:
        """Ends a session for every copy of its cookie; remembered until its expiry time."""
        now = self.clock()
        for nonce in [nonce for nonce, expires_at in self._ended.items() if expires_at <= now]:
            del self._ended[nonce]
        self._ended[session.nonce] = session.expires_at

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
