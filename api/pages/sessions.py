"""Sessions of people in a browser: a signed cookie, and the CSRF token of every form.

The server keeps only the sessions that were ended (:mod:`..visitors`). The signing key is made of a stored secret and
the service's API keys, so neither the store nor the service's file alone allows forging a session, and a change of the
keys ends all sessions. A session contains its expiry time; signing its cookie again after a change of preferences does
not extend it.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable
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
    def is_login(self) -> bool:
        """Whether somebody logged in."""
        return self.caller is not None

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
