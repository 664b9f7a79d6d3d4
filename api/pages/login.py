"""Log-in with a key, log-out, and preferences for the pages."""

from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from ..authorization import permits
from ..deps import Service
from ..sessions import change_session, session_of, sessions_of
from .page_route import PageRoute, VisitDep
from .rendering import NAVIGATION, page

router = APIRouter(include_in_schema=False, route_class=PageRoute)
HOME = "/"
Name = Annotated[str, Form(max_length=200)]


def own_path(wanted: str) -> str:
    """A redirect target: a path of this service, never another site."""
    plain = wanted.isprintable() and "\\" not in wanted
    return wanted if plain and wanted.startswith("/") and not wanted.startswith("//") else HOME


def go_to(path: str) -> Response:
    """Redirects the browser after a form."""
    return RedirectResponse(own_path(path), 303)


@router.get("/login")
async def login(request: Request, next: str = HOME) -> Response:
    running: Service = request.app.state.service
    if running.keys.empty:
        return go_to(next)
    token = sessions_of(request).token(session_of(request))
    return page(request, "login.html", None, token=token, next=own_path(next), wrong=None)


@router.post("/login")
async def log_in(
    request: Request,
    key: Annotated[str, Form(max_length=1000)] = "",
    name: Name = "",
    next: Annotated[str, Form()] = HOME,
) -> Response:
    running: Service = request.app.state.service
    seconds = await running.visitors.login_wait(request.client.host if request.client else "")
    if seconds:
        detail = f"too many login attempts from this address: try again in {seconds:.0f} s"
        raise HTTPException(429, detail, {"Retry-After": f"{seconds:.0f}"})
    caller = running.keys.caller(key.strip())
    sessions = sessions_of(request)
    if caller is None:
        token, wrong = sessions.token(session_of(request)), "This key is not valid."
        return page(request, "login.html", None, http_status=401, token=token, next=own_path(next), wrong=wrong)
    given = {
        "caller": caller.name,
        "scopes": caller.scopes,
        "requests_per_minute": caller.requests_per_minute,
        "reviewer": name.strip() or None,
    }
    change_session(request, sessions.new().model_copy(update=given))
    pages = (own_path(next), *(address for _, address, _ in NAVIGATION))  # the requested one, else the first permitted
    where, *_ = (one for one in pages if permits(caller, one))
    return go_to(where)


@router.post("/logout")
async def log_out(request: Request) -> Response:
    running: Service = request.app.state.service
    session = session_of(request)
    await running.visitors.end(session.mark, session.expires_at)
    change_session(request, sessions_of(request).new())
    return go_to("/login")


@router.post("/preferences")
async def preferences(
    visit: VisitDep,
    reviewer: Annotated[str | None, Form(max_length=200)] = None,
    blind: Annotated[bool | None, Form()] = None,
    plain: Annotated[bool | None, Form()] = None,
    next: Annotated[str, Form()] = HOME,
) -> Response:
    """Changes the given settings of the session: reviewer's name, blind mode, plain text."""
    name = None if reviewer is None else reviewer.strip()
    if name == "":
        raise HTTPException(422, "reviewer: enter your name")
    given = {"reviewer": name, "blind": blind, "plain": plain}
    update = {setting: value for setting, value in given.items() if value is not None}
    change_session(visit.request, visit.viewer.session.model_copy(update=update))
    return go_to(next)
