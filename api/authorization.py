"""Who may do what: one declaration for each operation, which the HTTP interface and the pages share.

Every route of the application is named here, under the operation that it performs, so a page and its path under
``/v1`` cannot disagree. :func:`authorize` runs before every route; a route that is not declared is refused.
"""

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException, Request

from metajudge.store.undecided import undecided_by

from .keys import ALL_SCOPES, Caller, Scope
from .service import Service

if TYPE_CHECKING:
    from .pages.sessions import Session

KEY_NEEDED = "a key is needed: send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`"
SCHEMES = ("HTTPBearer", "APIKeyHeader")
"""How the OpenAPI document calls the two ways to send a key."""

_VET, _READ, _REVIEW, _ADMIN = Scope.VET, Scope.READ, Scope.REVIEW, Scope.ADMIN


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that callers and people do.

    Attributes:
        scopes: one of them is needed; none for what needs no key.
        routes: how it is reached, as ``METHOD PATH``.
        owned: it is about the job that the path names: only the key that sent it, or one with ``admin``, may.
        machine: it tells what the machine said, whole: a session in blind mode may not while something waits for it.
    """

    scopes: frozenset[Scope]
    routes: tuple[str, ...]
    owned: bool = False
    machine: bool = False

    def permits(self, caller: Caller) -> bool:
        """Whether a caller has one of the scopes, or needs none."""
        return not self.scopes or not self.scopes.isdisjoint(caller.scopes)


def _operation(scopes: Iterable[Scope], *routes: str, owned: bool = False, machine: bool = False) -> Operation:
    return Operation(frozenset(scopes), routes, owned, machine)


OPERATIONS = (
    # What needs no key.
    _operation((), "GET /healthz", "GET /readyz", "GET /metrics", "GET /version", "GET /openapi.json", "GET /docs"),
    _operation((), "GET /", "GET /login", "POST /login", "POST /logout", "GET /static/{name}"),
    _operation(ALL_SCOPES, "POST /preferences"),
    # Whatever asks models.
    _operation((_VET,), "POST /v1/vet", "POST /v1/vet/stream", "POST /v1/vet/batch"),
    _operation((_VET,), "POST /v1/judge", "POST /v1/clash", "POST /v1/cases"),
    # Jobs: a list holds the caller's own.
    _operation((_VET, _READ, _ADMIN), "GET /v1/jobs", "GET /jobs"),
    _operation(
        (_VET, _READ, _ADMIN), "GET /v1/jobs/{job_id}", "GET /v1/jobs/{job_id}/events", "GET /jobs/{job_id}", owned=True
    ),
    _operation(
        (_VET, _READ, _ADMIN),
        "GET /v1/jobs/{job_id}/results",
        "GET /jobs/{job_id}/results.jsonl",
        owned=True,
        machine=True,
    ),
    _operation((_VET, _ADMIN), "DELETE /v1/jobs/{job_id}", "POST /jobs/{job_id}/cancel", owned=True),
    # What is kept.
    _operation((_READ, _REVIEW, _ADMIN), "GET /v1/assessments", "GET /v1/assessments/{name:path}", machine=True),
    _operation((_READ, _REVIEW, _ADMIN), "GET /assessments", "GET /assessments/{number}"),
    _operation((_READ, _REVIEW, _ADMIN), "GET /dashboard", "GET /runs", "GET /runs/{run_id}"),
    _operation((_READ, _ADMIN), "POST /v1/export/preferences", machine=True),
    _operation((_VET, _READ, _ADMIN), "POST /v1/rank", "POST /v1/peers"),
    # Reviews.
    _operation((_READ, _REVIEW, _ADMIN), "GET /v1/reviews", "GET /v1/reviews/{review_id}", machine=True),
    _operation(
        (_READ, _REVIEW, _ADMIN), "GET /reviews", "GET /reviews/{review_id}", "GET /clash", "GET /clash/{review_id}"
    ),
    _operation(
        (_REVIEW,),
        *(f"POST /v1/reviews/{{review_id}}/{what}" for what in ("claim", "release", "decide")),
        *(f"POST /reviews/{{review_id}}/{what}" for what in ("claim", "release", "decide")),
        *("POST /reviews/next", "POST /clash", "POST /clash/{review_id}/claim", "POST /clash/{review_id}/decide"),
    ),
    # What is in force.
    _operation((_VET, _READ, _ADMIN), "GET /v1/rubrics", "GET /v1/rubrics/{name}"),
    _operation((_VET, _READ, _ADMIN), "GET /v1/policies", "GET /v1/policies/{name}", "GET /v1/calibrations"),
    _operation((_ADMIN,), "PUT /v1/rubrics/{name}", "PUT /v1/policies/{name}", "GET /v1/audit"),
    _operation((_READ, _REVIEW, _ADMIN), *(f"GET /v1/feedback{what}" for what in ("", "/proposals", "/activations"))),
    _operation(
        (_ADMIN,),
        "POST /v1/feedback/proposals",
        "POST /v1/feedback/proposals/{proposal_id}/backtest",
        "POST /v1/feedback/proposals/{proposal_id}/activate",
    ),
)
ROUTES: Mapping[str, Operation] = {route: one for one in OPERATIONS for route in one.routes}


async def authorize(request: Request) -> None:
    """Lets those pass whose key may do this.

    Raises:
        LoginNeededError: a page, and no session.
        HTTPException: 401 without a key; 403 without a scope, in blind mode, or where nothing is declared; 404, a job
            of another key, which is answered as if there were none.
    """
    operation = ROUTES.get(f"{request.method} {request.scope['route'].path}")
    if operation is None:
        raise HTTPException(403, "no scope is declared for this operation, so it is refused")
    if not operation.scopes:
        return
    from .pages.access import session_of  # here, as pages ask this module what to show

    caller = await _caller(request)
    if not operation.permits(caller):
        wanted = " or ".join(scope for scope in Scope if scope in operation.scopes)
        raise HTTPException(403, f"key {caller.name!r} has no scope {wanted}: use a key that has")
    if operation.owned:
        await _check_owner(request.app.state.service, caller, request.path_params["job_id"])
    if operation.machine:
        await _check_blind(request.app.state.service, session_of(request), request.path_params.get("review_id"))


def permits(caller: Caller, address: str) -> bool:
    """Whether a caller may open the page at an address of this service."""
    path = address.partition("?")[0].partition("#")[0]
    found = next((one for route, one in _pages() if route.fullmatch(path)), None)
    return found is not None and found.permits(caller)


def owner_for(caller: Caller) -> str | None:
    """Whose jobs a caller may see and end: those of the key's name, or all (None) with ``admin``.

    A key that replaces another one under its name has that one's jobs.
    """
    return None if Scope.ADMIN in caller.scopes else caller.name


def declare(document: dict[str, Any]) -> dict[str, Any]:
    """Writes into an OpenAPI document which scopes each operation needs: one of those that ``security`` lists."""
    routes = {route.replace(":path}", "}"): one for route, one in ROUTES.items()}
    for path, operations in document["paths"].items():
        for method, told in operations.items():
            found = routes.get(f"{method.upper()} {path}")
            if found is None or not found.scopes:
                continue
            scopes = [scope.value for scope in Scope if scope in found.scopes]
            told["security"] = [{scheme: [scope]} for scheme in SCHEMES for scope in scopes]
            said = " or ".join(f"`{scope}`" for scope in scopes)
            owner = " and the key that sent the job, or `admin`" if found.owned else ""
            needs = f"Needs scope {said}{owner}."
            if needs not in told.get("description", ""):
                told["description"] = f"{told.get('description', '')}\n\n{needs}".strip()
    return document


async def _caller(request: Request) -> Caller:
    """Who asks: the gate has found out for paths under ``/v1``, the session tells on pages."""
    from .pages.access import viewer

    return key_owner(request) if request.url.path.startswith("/v1/") else (await viewer(request)).caller


def key_owner(request: Request) -> Caller:
    """Who asks under ``/v1``, as the gate found out.

    Raises:
        HTTPException: 401, the gate does not watch this path.
    """
    found: Caller | None = request.scope["state"].get("who")
    if found is None:
        raise HTTPException(401, KEY_NEEDED)
    return found


async def _check_owner(running: Service, caller: Caller, job_id: str) -> None:
    owner = owner_for(caller)
    if owner is not None and await running.jobs.owner(job_id) != owner:
        raise HTTPException(404, f"there is no job {job_id!r}, or it was deleted")


async def _check_blind(running: Service, session: "Session", review_id: str | None) -> None:
    """Keeps what the machine said from a person who is to decide blind, by whatever path their browser asks.

    Args:
        review_id: the one review that is asked about; None where it may be about anything.
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
            403,
            "your session is in blind mode, and this shows what the machine said: decide first, or leave blind mode",
        )


@cache
def _pages() -> tuple[tuple[re.Pattern[str], Operation], ...]:
    """What may be opened in a browser, as patterns of paths; parts in braces hold anything but a slash."""
    found = [(route.removeprefix("GET "), one) for route, one in ROUTES.items() if re.match("GET /(?!v1/)", route)]
    return tuple((re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))), one) for path, one in found)
