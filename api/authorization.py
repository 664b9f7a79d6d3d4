"""Authorization: one declaration for each operation, shared by the HTTP interface and the pages.

Every route of the application is declared here with its operation, so a page and its path under ``/v1`` cannot
disagree. :func:`authorize` runs before every route; a route that is not declared is refused.
"""

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from fastapi import HTTPException, Request

from metajudge.store.overview import undecided_by

from .deps import Service, key_owner
from .keys import ALL_SCOPES, Caller, Scope
from .sessions import Session, session_of, viewer

METRICS = "GET /metrics"
"""Needs a key, unless the service's file says ``metrics = "open"``."""

_VET, _READ, _REVIEW, _ADMIN = Scope.VET, Scope.READ, Scope.REVIEW, Scope.ADMIN


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the service.

    Attributes:
        scopes: one of them is required; empty if no key is required.
        routes: its routes, as ``METHOD PATH``.
        owned: it concerns the job in the path: only the key that sent it, or one with ``admin``, is permitted.
        machine: it returns machine results: refused to a session in blind mode while a review waits for it.
    """

    scopes: frozenset[Scope]
    routes: tuple[str, ...]
    owned: bool = False
    machine: bool = False

    def permits(self, caller: Caller) -> bool:
        """Whether a caller has one of the scopes, or none is required."""
        return not self.scopes or not self.scopes.isdisjoint(caller.scopes)


def _operation(scopes: Iterable[Scope], *rows: str, owned: bool = False, machine: bool = False) -> Operation:
    """An operation; each row is a method and its paths."""
    routes = tuple(f"{verb} {path}" for verb, *paths in map(str.split, rows) for path in paths)
    return Operation(frozenset(scopes), routes, owned, machine)


_USERS, _READERS = (_VET, _READ, _ADMIN), (_READ, _REVIEW, _ADMIN)
_REVIEWING = ("claim", "release", "decide", "amend", "comment", "assign")
OPERATIONS = (
    # What needs no key.
    _operation((), "GET /healthz /readyz /version /openapi.json /docs /login /static/{name}", "POST /login /logout"),
    _operation(ALL_SCOPES, "GET /", "POST /preferences"),
    _operation((_READ, _ADMIN), METRICS),
    # Whatever asks models.
    _operation((_VET,), "POST /v1/vet /v1/vet/stream /v1/judge /v1/clash /v1/cases"),
    _operation((_VET,), "POST /v1/vet/batch /v1/clash/batch /v1/cases/batch"),
    # Jobs: a list contains the caller's own.
    _operation(_USERS, "GET /v1/jobs /jobs"),
    _operation(_USERS, "GET /v1/jobs/{job_id} /v1/jobs/{job_id}/events /jobs/{job_id}", owned=True),
    _operation(_USERS, "GET /v1/jobs/{job_id}/results /jobs/{job_id}/results.jsonl", owned=True, machine=True),
    _operation((_VET, _ADMIN), "DELETE /v1/jobs/{job_id}", "POST /jobs/{job_id}/cancel", owned=True),
    # Stored records.
    _operation(_READERS, "GET /v1/assessments /v1/assessments/{name:path}", machine=True),
    _operation(_READERS, "GET /assessments /assessments/{number} /dashboard /runs /runs/{run_id} /search"),
    _operation((_ADMIN,), "GET /audit-log", machine=True),
    _operation(_READERS, "GET /monitor /v1/monitor"),
    _operation(_READERS, "GET /v1/outcomes /v1/outcomes/events /outcomes", machine=True),
    _operation((_READ, _ADMIN), "POST /v1/export/preferences", machine=True),
    _operation(_USERS, "POST /v1/rank /v1/peers /v1/audit"),
    # Reviews.
    _operation(_READERS, "GET /v1/reviews /v1/reviews/{review_id}", machine=True),
    _operation(_READERS, "GET /reviews /reviews/{review_id} /clash /clash/people /clash/{review_id}"),
    _operation(
        (_REVIEW,),
        *(f"POST /v1/reviews/{{review_id}}/{what} /reviews/{{review_id}}/{what}" for what in _REVIEWING),
        *("POST /v1/reviews/decide /reviews/next /clash", "GET /v1/reviews/progress"),
    ),
    # Rubrics, policies and calibrations in force.
    _operation(_USERS, "GET /v1/rubrics /v1/rubrics/{name} /v1/policies /v1/policies/{name} /v1/calibrations"),
    _operation(_USERS, "GET /policies /policies/{name}"),
    _operation((_READ, _ADMIN), "POST /policies/{name}/simulate"),
    _operation(_READERS, "GET /proposals /proposals/{proposal_id}"),
    _operation(
        (_ADMIN,), "POST /policies/{name}/propose /proposals/{proposal_id}/backtest /proposals/{proposal_id}/activate"
    ),
    _operation((_ADMIN,), "PUT /v1/rubrics/{name} /v1/policies/{name}", "GET /v1/changes /v1/audit"),
    _operation(_READERS, "GET /v1/feedback /v1/feedback/proposals /v1/feedback/activations"),
    _operation(
        (_ADMIN,),
        "POST /v1/feedback/proposals /v1/feedback/drafts",
        *(f"POST /v1/feedback/proposals/{{proposal_id}}/{what}" for what in ("backtest", "activate")),
        *(f"POST /v1/feedback/drafts/{{draft_id}}/{what}" for what in ("rejudge", "activate")),
    ),
    _operation((_READ, _ADMIN), "GET /v1/feedback/drafts /v1/feedback/drafts/{draft_id}"),
)
ROUTES: Mapping[str, Operation] = {route: one for one in OPERATIONS for route in one.routes}


async def authorize(request: Request) -> None:
    """Refuses callers without permission for the route.

    Raises:
        LoginNeededError: a page without a session.
        HTTPException: 401 without a key; 403 without a scope, in blind mode, or if the route is not declared; 404 for a
            job of another key, as if it did not exist.
    """
    operation = ROUTES.get(f"{request.method} {request.scope['route'].path}")
    if operation is None:
        raise HTTPException(403, "this operation is refused: no scope is declared for it")
    taken = {field.alias.lower() for field in request.scope["route"].dependant.header_params}
    if request.method == "POST" and "idempotency-key" in request.headers and "idempotency-key" not in taken:
        raise HTTPException(422, "this operation takes no Idempotency-Key: send the request without it")
    if not operation.scopes or (operation is ROUTES[METRICS] and request.app.state.service.options.metrics == "open"):
        return
    # Identified by the gate for paths under /v1, by the session for pages.
    by_key = request.url.path.startswith(("/v1/", "/metrics"))
    caller = key_owner(request) if by_key else (await viewer(request)).caller
    if not operation.permits(caller):
        wanted = " or ".join(scope for scope in Scope if scope in operation.scopes)
        raise HTTPException(403, f"key {caller.name!r} lacks scope {wanted}: use a key that has it")
    running: Service = request.app.state.service
    if operation.owned and (owner := owner_for(caller)) is not None:
        job_id = request.path_params["job_id"]
        row = await running.jobs.row(job_id)
        if row is None or row.owner != owner:
            raise HTTPException(404, f"there is no job {job_id!r}, or it was deleted")
    if operation.machine:
        await _check_blind(running, session_of(request), request.path_params.get("review_id"))


def permits(caller: Caller, address: str) -> bool:
    """Whether a caller may open the page at an address of this service."""
    route = route_of("GET", address.partition("?")[0].partition("#")[0])
    return route is not None and not route.startswith("/v1/") and ROUTES[f"GET {route}"].permits(caller)


def owner_for(caller: Caller) -> str | None:
    """The owner whose jobs a caller may see and end: the key's name, or None (all jobs) with ``admin``.

    A new key with the name of an old one keeps the old key's jobs.
    """
    return None if Scope.ADMIN in caller.scopes else caller.name


async def _check_blind(running: Service, session: Session, review_id: str | None) -> None:
    """Hides machine results on every path from a person who has to decide blind.

    Args:
        review_id: the requested review; None if the request is not limited to one.
    """
    store = running.engine.store
    if not session.blind or store is None:
        return
    person = session.reviewer or session.caller
    waiting = (await store.ask(lambda connection: undecided_by(connection, person))).subjects
    if review_id is not None:
        state = await store.reviews.get(review_id, now=time.time())
        waiting &= set() if state is None else {state.review.subject_id}
    if waiting:
        raise HTTPException(
            403, "your session is in blind mode, and this shows machine results: decide first, or leave blind mode"
        )


def route_of(method: str, path: str) -> str | None:
    """The declared route that a method and path match; None if no route does."""
    return next((route for verb, pattern, route in _patterns() if verb == method and pattern.fullmatch(path)), None)


def methods_of(path: str) -> list[str]:
    """The methods that a path of this service has."""
    return sorted({verb for verb, pattern, _ in _patterns() if pattern.fullmatch(path)})


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str], str], ...]:
    """Method, pattern and path of every declared route; parts in braces match anything but a slash."""
    found = []
    for declared in ROUTES:
        method, _, path = declared.partition(" ")
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.sub(r"\\\{\w+:path\\\}", ".+", re.escape(path)))
        found.append((method, re.compile(pattern), path))
    return tuple(found)
