"""Requests for a path or a method that the service does not have: a page for browsers, a problem for others."""

from fastapi import Request, Response
from starlette.exceptions import HTTPException

from .authorization import methods_of
from .errors import problem, status_of
from .pages.page_route import refusal_page


def unrouted(request: Request, error: HTTPException) -> Response:
    """The response; ``Allow`` has every method of the path."""
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/"):
        missing = error.status_code == 404
        detail = "there is no such page here" if missing else "this address does not take such a request"
        response = refusal_page(request, error.status_code, detail)
    else:
        response = problem(request, *status_of(error))
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(methods_of(request.url.path))
    return response
