"""Errors as problem details (RFC 9457); the one table from library errors to HTTP statuses."""

import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.types import Scope, Send

from metajudge.errors import (
    BudgetExceeded,
    DayBudgetExceeded,
    MetajudgeError,
    ProviderError,
    ReviewError,
    StoreError,
    UnprovenError,
    UserError,
)

from .computing import ClientGoneError

STATUSES: tuple[tuple[type[MetajudgeError], int], ...] = (
    (DayBudgetExceeded, 429),
    (BudgetExceeded, 503),
    (StoreError, 503),
    (ReviewError, 409),
    (UserError, 422),
    (ProviderError, 502),
    (UnprovenError, 504),
    (MetajudgeError, 500),
)
"""The first matching class decides."""

_log = logging.getLogger("metajudge.api")


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = "about:blank"
    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["judgment.verdict: verdict names 'C', but the item's responses are A, B"])
    request_id: str = Field(examples=["6f1c2a9be0d14c7c"])
    errors: list[str] | None = Field(default=None, description="One line for each problem, if there are several.")


PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
"""The content of an error in the OpenAPI document. As a model it would be built anew for every route and status."""
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": HTTPStatus(status).phrase, "content": PROBLEM}
    for status in (400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 422, 429, 500, 502, 503, 504)
}
"""The errors every route may answer with, for the OpenAPI document."""
_CLOSED = {"Connection": "close"}  # the rest of the body is not read
HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "5"}, 408: _CLOSED, 413: _CLOSED}
"""Status -> its default headers; a specific error may override ``Retry-After``."""
UNEXPECTED = "unexpected error: see the service's log for this request id"
GONE = 499
"""The caller closed the connection; this status appears only in the log and the metrics."""


class ProblemError(Exception):
    """An error with a line for each problem, if there are several."""

    def __init__(self, status: int, detail: str, errors: list[str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.errors = status, errors


class BrokenAnswerError(Exception):
    """A response failed after its head was sent; the error has been logged."""


@contextmanager
def answered_as(statuses: Mapping[type[MetajudgeError], int]) -> Iterator[None]:
    """Answers errors with other statuses than their usual ones.

    Raises:
        HTTPException: with the error's message; the first matching class decides.
    """
    try:
        yield
    except tuple(statuses) as error:
        status = next(status for kind, status in statuses.items() if isinstance(error, kind))
        raise HTTPException(status, str(error)) from None


def problem_of(status: int, detail: str, request_id: str, errors: list[str] | None = None) -> dict[str, Any]:
    """The body of a problem."""
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, request_id=request_id, errors=errors)
    return body.model_dump(exclude_none=True)


def problem_bytes(status: int, detail: str, request_id: str) -> bytes:
    """The encoded body of a problem, for middleware."""
    return json.dumps(problem_of(status, detail, request_id)).encode()


async def refuse(
    scope: Scope, send: Send, status: int, detail: str, headers: dict[str, str] | None = None, *, more: bool = False
) -> None:
    """Sends a problem as the response, from middleware.

    Args:
        more: leave the response open; the caller ends it.
    """
    content = problem_bytes(status, detail, request_id_of(scope))
    fields = {**HEADERS.get(status, {}), **(headers or {}), "content-type": "application/problem+json"}
    pairs = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
    pairs.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": content, "more_body": more})


def request_id_of(scope: Any) -> str:
    """The id of a request."""
    return str(scope.get("state", {}).get("request_id", ""))


def status_of(error: Exception) -> tuple[int, str]:
    """The status and the message of an error."""
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    if isinstance(error, ProblemError):
        return error.status, str(error)
    if isinstance(error, TimeoutError):
        return 504, "no result within the time limit; try again: completed replies are kept"
    if isinstance(error, ReviewError) and error.reason == "unknown":
        return 404, str(error)
    if isinstance(error, MetajudgeError):
        return next(status for kind, status in STATUSES if isinstance(error, kind)), str(error)
    _log.error("unhandled error", exc_info=error)
    return 500, UNEXPECTED


def problem(request: Request, status: int, detail: str, errors: list[str] | None = None) -> JSONResponse:
    """One error as a response."""
    content = problem_of(status, detail, request_id_of(request.scope), errors)
    return JSONResponse(content, status, headers=HEADERS.get(status), media_type="application/problem+json")


def install_error_handlers(app: FastAPI, unrouted: Callable[[Request, HTTPException], Response]) -> None:
    """Returns every error, expected or not, as problem details.

    Args:
        unrouted: the response for a path or a method that the service does not have.
    """

    async def answer(request: Request, error: Exception) -> Response:
        missing = error.status_code if isinstance(error, HTTPException) else None
        if missing == 405 or (missing == 404 and "route" not in request.scope):
            assert isinstance(error, HTTPException)
            return unrouted(request, error)
        response = problem(request, *status_of(error), error.errors if isinstance(error, ProblemError) else None)
        response.headers.update(getattr(error, "headers", None) or {})
        if isinstance(error, DayBudgetExceeded):
            response.headers["Retry-After"] = str(math.ceil(error.ends_in_s))
        return response

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        if any(found["input"] and not _place(found) for found in error.errors()):  # the body was not read as JSON
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if "json" not in kind:
                given = repr(kind[:100]) if kind else "a body without a content type"
                return problem(request, 415, f"send application/json, not {given}")
        lines = list(dict.fromkeys(_line(found) for found in error.errors()))
        return problem(request, 422, lines[0], lines if len(lines) > 1 else None)

    async def gone(request: Request, error: Exception) -> Response:
        return Response(status_code=GONE)

    app.add_exception_handler(ClientGoneError, gone)
    app.add_exception_handler(RequestValidationError, invalid)
    for kind in (ProblemError, MetajudgeError, HTTPException):
        app.add_exception_handler(kind, answer)


def _place(found: dict[str, Any]) -> list[str]:
    """The path of a problem in the caller's fields; empty for the whole body."""
    return [str(part) for part in found["loc"] if part not in ("body", "request", "record")]


def _line(found: dict[str, Any]) -> str:
    """One problem with the caller's field names; without the value, which may be long or secret."""
    if found["type"] == "json_invalid":
        reason = found.get("ctx", {}).get("error", "it cannot be parsed")
        return f"body: not JSON: {reason} (character {found['loc'][-1]})"
    where = ".".join(_place(found))
    return f"{where or 'body'}: {str(found['msg']).removeprefix('Value error, ')}"
