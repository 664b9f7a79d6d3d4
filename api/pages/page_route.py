"""What all pages share: security headers, form tokens, the session cookie, error pages, and what a route is given."""

import time
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, ClassVar
from urllib.parse import quote, urlencode

from fastapi import Depends, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, model_validator

from metajudge.reviews.seen import remember_seen

from ..authorization import ROUTES
from ..computing import ClientGoneError
from ..deps import Call, ServiceDep, Sight
from ..errors import ProblemError, status_of
from ..sessions import (
    SESSION_S,
    LoginNeededError,
    Viewer,
    cookie_name,
    drop_ended_session,
    session_of,
    sessions_of,
    viewer,
)
from .rendering import error_page, page, wants_part

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {  # beside those of every response (api/app.py)
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
RELOAD = '<!doctype html><html lang="en"><title>metajudge</title><a href="">Continue</a></html>'
TOKEN_FIELD, TOKEN_HEADER = "csrf", "x-csrf-token"

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Filters(BaseModel):
    """The filters of a list on a page, from its query string; unknown ones are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    PATH: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _left_empty(cls, given: Any) -> Any:
        """Drops empty fields, which browsers send as well."""
        return {name: value for name, value in given.items() if value != ""} if isinstance(given, dict) else given

    @property
    def given(self) -> dict[str, str]:
        """The filters that are set, as query parameters."""
        chosen = self.model_dump(mode="json", exclude_defaults=True, exclude={"before"})
        return {name: str(value) for name, value in chosen.items()}

    def address(self, **more: object) -> str:
        """The address of the list with these filters and further ones."""
        given = {**self.given, **more}
        return f"{self.PATH}?{urlencode(given)}" if given else self.PATH


def midnight(day: date | None) -> float | None:
    """The beginning of a day (UTC) in seconds since the epoch."""
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


@dataclass(frozen=True, slots=True)
class Visit(Call):
    """A person's request for a page."""

    viewer: Viewer

    @property
    def sight(self) -> Sight:
        """What the person may see."""
        return Sight(self.caller, self.viewer.reviewer)

    def permits(self, route: str) -> bool:
        """Whether the person may use another route, given as ``METHOD PATH``."""
        return ROUTES[route].permits(self.caller)

    def page(self, template: str, *, http_status: int = 200, part: str | None = None, **given: Any) -> Response:
        """Renders a template for the person; see :func:`.rendering.page`."""
        return page(self.request, template, self.viewer, http_status=http_status, part=part, **given)

    async def waiting(self) -> frozenset[str]:
        """Ids of the judgments, clashes and cases that wait for the person's decision."""
        return (await self.sight.undecided(self.store)).subjects

    async def hidden(self) -> frozenset[str]:
        """Ids of judgments, clashes and cases whose machine results are hidden: those that the person decides blind,
        in blind mode or because the policy wants it; without a store none.

        Every list and every search leaves these out, or shows of them what a reviewer reads alone.
        """
        if self.running.engine.store is None:
            return frozenset()
        undecided = await self.sight.undecided(self.store)
        return undecided.subjects if self.viewer.session.blind else undecided.blind

    async def show_machine(self, subject_ids: Collection[str]) -> None:
        """Records that the person sees machine results: later decisions on these subjects are not blind."""
        await remember_seen(self.store.audit_log, subject_ids, self.viewer.person, now=time.time())

    async def show_waiting(self, subject_ids: Collection[str]) -> None:
        """The same of a list, for those of its subjects that wait for the person's decision."""
        await self.show_machine(await self.waiting() & set(subject_ids))


async def visit(request: Request, running: ServiceDep, one: Annotated[Viewer, Depends(viewer)]) -> Visit:
    """The request for a page."""
    return Visit(request, running, one.caller, one)


async def stored_visit(given: Annotated[Visit, Depends(visit)]) -> Visit:
    """The same, of a page that needs the store.

    Raises:
        StoreError: the service has no store.
    """
    assert given.store is not None
    return given


VisitDep = Annotated[Visit, Depends(visit)]
StoredVisit = Annotated[Visit, Depends(stored_visit)]


class PageRoute(APIRoute):
    """A route that answers with pages."""

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            if _came_from_elsewhere(request):
                return HTMLResponse(RELOAD, headers={**HEADERS, "Refresh": "0"})
            try:
                await drop_ended_session(request)
                if request.method not in ("GET", "HEAD"):
                    await _check_form(request)
                response = await inner(request)
            except ClientGoneError:
                raise
            except LoginNeededError:
                response = _to_login(request)
            except Exception as error:
                response = await _error(request, error)
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            _set_cookie(request, response)
            return response

        return handler


def _came_from_elsewhere(request: Request) -> bool:
    """Whether a link of another site led here: browsers then withhold the session's cookie.

    The page then reloads itself, as a same-site request. Without the reload, following a link would log people out.
    """
    return (
        request.method == "GET"
        and request.headers.get("sec-fetch-site") == "cross-site"
        and request.headers.get("sec-fetch-mode") == "navigate"
        and cookie_name(request) not in request.cookies
    )


async def _check_form(request: Request) -> None:
    """Refuses forms sent by other sites. Raises HTTPException: 403."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "this form was sent by another site and was refused")
    given = request.headers.get(TOKEN_HEADER)
    if given is None:
        given = (await request.form()).get(TOKEN_FIELD)  # type: ignore[assignment]
    if not isinstance(given, str) or not sessions_of(request).is_token(session_of(request), given):
        raise HTTPException(
            403, "this page is out of date (the service was restarted, or you logged in again): reload it"
        )


async def _error(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        status, detail = 422, "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
    else:
        status, detail = status_of(error)
    lines = error.errors if isinstance(error, ProblemError) else None
    response = error_page(request, await _known_viewer(request), status, detail, lines or [])
    response.headers.update(getattr(error, "headers", None) or {})
    return response


def refusal_page(request: Request, status: int, detail: str) -> Response:
    """An error page for a request that reached no route: without session and form tokens."""
    response = error_page(request, None, status, detail, [])
    response.headers.update(HEADERS)
    return response


async def _known_viewer(request: Request) -> Viewer | None:
    try:
        return await viewer(request)
    except (LoginNeededError, HTTPException):
        return None


def _to_login(request: Request) -> Response:
    back = request.url.path if request.method == "GET" else "/"
    if request.method == "GET" and request.url.query:
        back += f"?{request.url.query}"
    address = f"/login?next={quote(back, safe='/')}"
    if wants_part(request):
        return Response(status_code=401, headers={"HX-Redirect": address})
    return RedirectResponse(address, 303)


def _set_cookie(request: Request, response: Response) -> None:
    if not request.state.session_is_new:
        return
    response.set_cookie(
        cookie_name(request),
        sessions_of(request).encode(session_of(request)),
        max_age=int(SESSION_S),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
