"""What all pages share: security headers, form tokens, the session cookie, and error pages."""

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, model_validator

from ..admission import ClientGoneError
from ..errors import ProblemError, status_of
from .access import LoginNeededError, Viewer, cookie_name, drop_ended_session, session_of, sessions_of, viewer
from .rendering import error_page, wants_part
from .sessions import SESSION_S

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {  # beside those of every response (api/request_log.py)
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
