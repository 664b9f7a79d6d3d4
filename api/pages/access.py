"""The viewer of a page and their permissions."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from metajudge.reviews.seen import Onlooker, remember_seen
from metajudge.store.protocol import Store

from ..audit import Changes
from ..errors import request_id_of
from ..keys import ANYBODY, Caller, Scope
from ..service import Service
from ..sight import Sight
from .sessions import Session, Sessions


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
    def sight(self) -> Sight:
        """What the person may see."""
        return Sight(self.caller, self.reviewer)

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
    if session.is_login and await running.visitors.is_ended(session.mark):
        change_session(request, sessions_of(request).new())


def change_session(request: Request, session: Session) -> None:
    """Sets a session with the response."""
    request.state.session, request.state.session_is_new = session, True


async def show_machine(store: Store, one: Viewer, subject_ids: Collection[str]) -> None:
    """Records that a person has seen machine results: later decisions on these subjects are not blind."""
    await remember_seen(store.audit_log, subject_ids, one.person, now=time.time())


async def hidden_subjects(store: Store, one: Viewer) -> frozenset[str]:
    """Ids of judgments, clashes and cases whose machine results are hidden: those that the person decides blind,
    in blind mode or because the policy wants it.

    Every list and every search leaves these out, or shows of them what a reviewer reads alone.
    """
    undecided = await one.sight.undecided(store)
    return undecided.subjects if one.session.blind else undecided.blind


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


ViewerDep = Annotated[Viewer, Depends(viewer)]


async def changes(request: Request, one: ViewerDep) -> Changes:
    """The change log for this person's changes."""
    running: Service = request.app.state.service
    return Changes(running.engine.store, by=one.caller.name, request_id=request_id_of(request.scope))


ChangesDep = Annotated[Changes, Depends(changes)]
