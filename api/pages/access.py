"""Who looks at a page, and what they may do there."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from ..audit import Changes
from ..errors import request_id_of
from ..keys import ANYBODY, Caller, Scope
from ..server import is_loopback
from ..service import Service
from .sessions import Session, Sessions


class LoginNeededError(Exception):
    """Nobody is logged in, and the service has keys."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks.

    Attributes:
        caller: the key's name and scopes; of a service without keys whoever sits at this machine.
        needs_key: whether the service has keys, so that there is somebody to log out.
        token: what every form has to carry.
    """

    caller: Caller
    session: Session
    needs_key: bool
    token: str

    @property
    def reviewer(self) -> str | None:
        """The name that stands beside decisions; None where the person has not said it yet."""
        if self.session.reviewer is not None:
            return self.session.reviewer
        return self.caller.name if self.needs_key else None

    def decides_blind(self, review_id: str) -> bool:
        """Whether the person has not been shown what the machine said of a review."""
        return review_id not in self.session.seen

    def may(self, *scopes: str) -> bool:
        """Whether the person has one of these scopes."""
        return not self.caller.scopes.isdisjoint(Scope(scope) for scope in scopes)


def sessions_of(request: Request) -> Sessions:
    """The application's sessions."""
    found: Sessions = request.app.state.sessions
    return found


def cookie_name(request: Request) -> str:
    """The session cookie's name; cookies know no ports, and two services may run on one machine."""
    port = request.url.port
    return "metajudge" if port is None else f"metajudge-{port}"


def session_of(request: Request) -> Session:
    """The session of a request; a new one, which the response will set, where it has none."""
    if not hasattr(request.state, "session"):
        found = sessions_of(request).decode(request.cookies.get(cookie_name(request), ""))
        request.state.session = sessions_of(request).new() if found is None else found
        request.state.session_is_new = found is None
    session: Session = request.state.session
    return session


def change_session(request: Request, session: Session) -> None:
    """Has the response set a session."""
    request.state.session, request.state.session_is_new = session, True


def remember_seen(request: Request, review_id: str) -> None:
    """Keeps in mind that somebody was shown what the machine said of a review: no decision of theirs is blind now."""
    session = session_of(request)
    if review_id not in session.seen:
        change_session(request, session.having_seen(review_id))


async def viewer(request: Request) -> Viewer:
    """Who looks.

    Raises:
        LoginNeededError: nobody is logged in.
        HTTPException: 403, a service without keys is asked under a name that is not this machine's; 429, too often.
    """
    running: Service = request.app.state.service
    session = session_of(request)
    token = sessions_of(request).token(session)
    if running.keys.empty:
        _check_loopback(request)
        return Viewer(ANYBODY, session, needs_key=False, token=token)
    if session.caller is None:
        raise LoginNeededError
    caller = Caller(session.caller, session.scopes, session.requests_per_minute)
    request.state.who = caller  # for the log, as the gate notes it
    seconds = running.rates.wait(caller)
    if seconds:
        detail = f"key {caller.name!r} has used up its requests: try again in {seconds:.1f} s"
        raise HTTPException(429, detail, {"Retry-After": str(math.ceil(seconds))})
    return Viewer(caller, session, needs_key=True, token=token)


def _check_loopback(request: Request) -> None:
    """Without keys only this machine may ask; another site whose name is made to point here is not this machine."""
    host = request.url.hostname or ""
    if not is_loopback(host):
        raise HTTPException(
            403, f"this service has no keys and answers on this machine's own names alone, not as {host!r}: set a key"
        )


ViewerDep = Annotated[Viewer, Depends(viewer)]


def may(*scopes: Scope) -> Callable[[Viewer], Awaitable[Viewer]]:
    """A dependency that lets those pass who have one of these scopes."""

    async def allowed(one: ViewerDep) -> Viewer:
        if not one.may(*scopes):
            wanted = " or ".join(scopes)
            raise HTTPException(403, f"key {one.caller.name!r} has no scope {wanted}: log in with a key that has")
        return one

    return allowed


async def changes(request: Request, one: ViewerDep) -> Changes:
    """Keeps on record what this person changes."""
    running: Service = request.app.state.service
    return Changes(running.engine.store, by=one.caller.name, request_id=request_id_of(request.scope))


ChangesDep = Annotated[Changes, Depends(changes)]
ReaderDep = Annotated[Viewer, Depends(may(Scope.READ, Scope.REVIEW))]
"""Somebody who may look at what is kept."""
ReviewerDep = Annotated[Viewer, Depends(may(Scope.REVIEW))]
"""Somebody who may decide."""
