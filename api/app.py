"""The application: one engine, routes by noun, problem details for every error."""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from fastapi import Depends, FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metajudge import __version__
from metajudge.errors import MetajudgeError, StoreError
from metajudge.providers.budget import DailyBudget
from metajudge.store import open_store
from metajudge.store.answers import StoredAnswers
from metajudge.store.sqlite import MEMORY
from metajudge.vetting.engine import Engine

from .authorization import authorize, methods_of, route_of
from .background import OutcomeFlow, Promises
from .bodies import BodyLimit
from .computing import Admission, Computing
from .deps import KEY_NEEDED, Service
from .errors import RESPONSES, UNEXPECTED, BrokenAnswerError, install_error_handlers, problem, refuse, status_of
from .exporting import sweep
from .hosts import HostRule
from .jobs import JobQueue
from .keys import ANYBODY, ApiKey, Caller, KeyRing, hashed
from .limits import Limits, RateLimit, Visitors
from .metrics import Metrics
from .options import ServiceOptions
from .pages import install_pages
from .pages.dashboard import Reader
from .pages.page_route import refusal_page
from .panels import Panels, Rubrics
from .routes import ROUTERS
from .sessions import Sessions, signing_key
from .tasks import Tasks

_access = logging.getLogger("metajudge.api.access")

SAFE_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"same-origin")]
AT_MODELS = frozenset({"/v1/vet", "/v1/vet/stream", "/v1/judge", "/v1/clash", "/v1/cases"})
"""Paths that count as requests in flight."""
MACHINES = ("/v1/", "/healthz", "/readyz", "/metrics", "/version", "/openapi.json")
"""Path prefixes whose errors are problem details; errors of other paths are pages."""
ANY_HOST = "/healthz"
"""This path is served under every host name, as it reveals nothing and probes often use addresses."""


DETAILED = "/readyz"
"""This path says more to callers with a key."""


@dataclass(slots=True)
class Gate:
    """Checks the host and origin of every request, keys and rates of paths under ``/v1``, and the number in flight.

    The caller is stored in ``scope["state"]["who"]``; :mod:`.authorization` checks scopes.
    """

    app: ASGIApp
    most_open: int
    open: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self.open += 1
        try:
            await self._check(scope, scope["app"].state.service)
        except HTTPException as refusal:
            await self._refuse(scope, receive, send, refusal)
        else:
            await self.app(scope, receive, send)
        finally:
            self.open -= 1

    async def _check(self, scope: Scope, running: Service) -> None:
        if self.open > self.most_open:
            raise HTTPException(503, f"{self.most_open} requests are open: try again later", {"Retry-After": "1"})
        path: str = scope["path"]
        if path != ANY_HOST:
            running.hosts.check(scope["method"], scope["headers"])
        headers = dict(scope["headers"])
        if path == DETAILED:
            scope["state"]["who"] = _known(headers, running)
        closed = path == "/metrics" and running.options.metrics == "key"
        if not path.startswith("/v1/") and not closed:
            return
        caller = scope["state"]["who"] = _known(headers, running)
        if caller is None:
            raise HTTPException(401, KEY_NEEDED if _given(headers) is None else "the key is not valid")
        await running.rates.check(caller, f"key {caller.name!r} has reached its rate limit")
        if path in AT_MODELS and scope["method"] == "POST":
            running.admission.check()

    @staticmethod
    async def _refuse(scope: Scope, receive: Receive, send: Send, refusal: HTTPException) -> None:
        if scope["path"].startswith(MACHINES):
            await refuse(scope, send, refusal.status_code, refusal.detail, dict(refusal.headers or {}))
            return
        # Without its headers: the page must not contain the refused host.
        answer = refusal_page(Request({**scope, "headers": []}), refusal.status_code, refusal.detail)
        await answer(scope, receive, send)


def _known(headers: dict[bytes, bytes], running: Service) -> Caller | None:
    """The caller, if no key is needed or a valid one is given."""
    if running.keys.empty:
        return ANYBODY
    given = _given(headers)
    return None if given is None else running.keys.caller(given)


def _given(headers: dict[bytes, bytes]) -> str | None:
    scheme, _, credentials = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and credentials.strip():
        return credentials.strip().decode("latin-1")
    key = headers.get(b"x-api-key")
    return None if key is None else key.decode("latin-1")


@dataclass(frozen=True, slots=True)
class RequestId:
    """Gives every request an id, in ``scope["state"]`` and the ``x-request-id`` header; counts it and logs it.

    The log contains method, route, status, time and the key's name: never a body, a query or a key. An
    unhandled error becomes a problem here, so that it is counted and has an id.
    """

    app: ASGIApp
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex[:16]
        scope.setdefault("state", {})["request_id"] = request_id
        status, start = 0, time.perf_counter()

        async def with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message["headers"], *SAFE_HEADERS, (b"x-request-id", request_id.encode())]
                message = {**message, "headers": headers}
            await send(message)

        try:
            await self.app(scope, receive, with_id)
        except Exception as error:
            _log.error("unhandled error", exc_info=error, extra={"request_id": request_id})
            if status:
                raise BrokenAnswerError from None
            await refuse(scope, with_id, 500, UNEXPECTED)
        finally:
            self._record(scope, request_id, status, time.perf_counter() - start)

    def _record(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", None) or route_of(scope["method"], scope["path"]) or "(none)"
        self.metrics.request(scope["method"], route, status, seconds)
        caller = scope["state"].get("who")
        _access.info(
            "request",
            extra={
                "request_id": request_id,
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": round(1000 * seconds, 1),
                "caller": None if caller is None else caller.name,
            },
        )


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


__all__ = ["Limits", "ServiceOptions", "create_app"]

DESCRIPTION = """Vets verdicts of LLM judges: post a judgment, get an assessment of whether to trust it,
with each meta-judge's scores and explanations, cost and provenance. Errors are problem details (RFC 9457)."""

UPLOADS = ("/v1/vet/batch", "/v1/clash/batch", "/v1/cases/batch", "/v1/audit")
FLUSH_S = 5.0
"""Seconds at the end for the budget's keeper to hear what the last calls cost."""
_log = logging.getLogger("metajudge.api")


def create_app(
    options: ServiceOptions,
    *,
    opened: Callable[[], None] = lambda: None,
    closed: Callable[[], None] = lambda: None,
    failed: Callable[[MetajudgeError], None] = lambda _error: None,
) -> FastAPI:
    """Builds the ASGI application; the engine opens with it and closes with it.

    Args:
        opened: called once everything is open, before the first request.
        closed: called once everything is closed.
        failed: called with the error if the service cannot be opened.
    """
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                app.state.service = running = await _opened(stack, options, metrics)
                secret = await running.visitors.secret()
                app.state.sessions = Sessions(signing_key(secret, running.keys.digests))
            except MetajudgeError as error:
                failed(error)
                raise
            with contextlib.suppress(MetajudgeError):  # /readyz reports it
                running.engine.connect()  # now, so that the first caller does not wait for it
            if running.engine.store is not None:
                reader = app.state.dashboard_reader = Reader(running.engine.store)
                reader.begin()
                stack.push_async_callback(reader.close)
            opened()
            running.promises.check_later()
            yield
        closed()

    app = FastAPI(
        title="metajudge",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        dependencies=[Depends(authorize)],  # applies to every route
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        separate_input_output_schemas=False,
        docs_url=None,  # it would load external scripts; see pages/document.py
        redoc_url=None,
        openapi_url=None,  # built in a thread; see routes/document.py
    )
    for router in ROUTERS:
        app.include_router(router, responses=None if router.responses else RESPONSES)
    install_pages(app)
    install_error_handlers(app, unrouted)
    app.add_middleware(BodyLimit, max_bytes=options.max_body_bytes, limits=options.limits, streamed=UPLOADS)
    app.add_middleware(Gate, most_open=options.limits.connections)
    if options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=options.cors_origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["authorization", "x-api-key", "content-type", "idempotency-key", "last-event-id"],
            expose_headers=["location", "retry-after", "x-request-id", "idempotency-replayed"],
        )
    app.add_middleware(RequestId, metrics=metrics)
    return app


async def _opened(stack: AsyncExitStack, options: ServiceOptions, metrics: Metrics) -> Service:
    budget = None if options.budget_usd is None else DailyBudget(options.budget_usd)
    engine = await Engine(
        panel=next(iter(options.panels.values())),
        store=options.store,
        concurrency=options.concurrency,
        calibration=options.calibration,
        audit_share=options.review_sample,
        policy_per_call=True,
        shared_limits=True,
        budget=budget,
        command="serve",
    ).__aenter__()
    stack.push_async_callback(_close, engine)
    store = engine.store
    if store is None:  # what outlives a request is kept until the end
        store = await open_store(MEMORY)
        stack.push_async_callback(store.close)
    if budget is not None:
        budget.keeper = store.limits
        stack.push_async_callback(budget.flush, FLUSH_S)
    sweep(options)
    rubrics = Rubrics(options.own_file("rubrics"))
    if engine.store is not None:
        await rubrics.refresh(store)
        refreshing = asyncio.create_task(rubrics.keep_fresh(store))
        stack.callback(refreshing.cancel)
    panels = Panels(engine, options.panels, rubrics)
    for notice in engine.notices:  # about the panels: nothing has been asked yet
        _log.warning("%s", notice)
    own = () if options.api_key is None else (ApiKey("default", hashed(options.api_key)),)
    keys = KeyRing((*own, *options.keys))
    computing = Computing(options.limits.computing, options.limits.request_s)
    stack.push_async_callback(computing.close)
    tasks = Tasks(engine, panels, options.candidates, options.review_sample)
    jobs = JobQueue(panels, store, options.limits, metrics, tasks)
    promises = Promises(engine.store, computing, options.webhook)
    stack.push_async_callback(promises.close)
    outcomes = OutcomeFlow(engine.store, jobs, options.webhook)
    await outcomes.start()
    stack.push_async_callback(outcomes.close)
    await jobs.start()
    stack.push_async_callback(jobs.stop)
    return Service(
        options=options,
        engine=engine,
        panels=panels,
        tasks=tasks,
        answers=StoredAnswers(store),
        jobs=jobs,
        keys=keys,
        rates=RateLimit(store, options.limits.requests_per_minute),
        visitors=Visitors(store),
        admission=Admission(options.limits.in_flight, options.limits.request_s),
        computing=computing,
        metrics=metrics,
        promises=promises,
        outcomes=outcomes,
        budget=budget,
        hosts=HostRule(options.allowed_hosts, not keys.empty, options.cors_origins),
    )


async def _close(engine: Engine) -> None:
    """Closes the engine; an unavailable store is logged without a trace, and its run counts as interrupted."""
    try:
        await engine.__aexit__(None, None, None)
    except StoreError as error:
        _log.error("the store could not be closed cleanly: %s", error)
