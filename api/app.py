"""The application: one engine, routes by noun, problem details for every error."""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from metajudge import __version__
from metajudge.engine import Engine
from metajudge.errors import MetajudgeError

from .admission import Admission
from .errors import install_error_handlers
from .jobs import Jobs
from .keys import ApiKey, KeyRing, RateLimit, hashed
from .ledger import Ledger
from .limits import BodyLimit, RequestId
from .metrics import Metrics
from .options import Limits, ServiceOptions
from .panels import Panels
from .routes import ROUTERS
from .rubrics import Rubrics
from .service import Service

__all__ = ["Limits", "ServiceOptions", "create_app"]

DESCRIPTION = """Vets finished verdicts of LLM judges: post a judgment, get an assessment that says whether to trust it,
with each meta-judge's scores and explanations, cost and provenance. Errors are problem details (RFC 9457)."""

UPLOADS = ("/v1/vet/batch",)


def create_app(options: ServiceOptions, *, opened: Callable[[], None] = lambda: None) -> FastAPI:
    """Builds the ASGI application; the engine opens with it and closes with it.

    Args:
        opened: called once everything is open, before the first request.
    """
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            app.state.service = running = await _opened(stack, options, metrics)
            with contextlib.suppress(MetajudgeError):  # /readyz says what is missing
                running.engine.connect()  # now, rather than while the first caller waits
            opened()
            yield

    app = FastAPI(
        title="metajudge",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        separate_input_output_schemas=False,
    )
    for router in ROUTERS:
        app.include_router(router)
    install_error_handlers(app)
    limits = options.limits
    app.add_middleware(
        BodyLimit,
        max_bytes=options.max_body_bytes,
        body_s=limits.body_s,
        streamed=UPLOADS,
        upload_bytes=limits.upload_bytes,
    )
    app.add_middleware(RequestId, metrics=metrics)
    return app


async def _opened(stack: AsyncExitStack, options: ServiceOptions, metrics: Metrics) -> Service:
    engine = await stack.enter_async_context(
        Engine(
            panel=next(iter(options.panels.values())),
            store=options.store,
            concurrency=options.concurrency,
            calibration=options.calibration,
            command="serve",
        )
    )
    kept = None if options.store is None else options.store.with_name(options.store.name + ".rubrics")
    panels = Panels(engine, options.panels, Rubrics(kept))
    if options.store is None:
        folder, ledger_file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="metajudge-"))), None
    else:
        folder = options.store.with_name(options.store.name + ".jobs")
        folder.mkdir(exist_ok=True)
        ledger_file = options.store.with_name(options.store.name + ".service")
    ledger = Ledger(ledger_file)
    stack.callback(ledger.close)
    jobs = Jobs(panels, ledger, folder, options.limits, metrics)
    jobs.start()
    stack.push_async_callback(jobs.stop)
    own = () if options.api_key is None else (ApiKey("default", hashed(options.api_key)),)
    return Service(
        options=options,
        engine=engine,
        panels=panels,
        ledger=ledger,
        jobs=jobs,
        keys=KeyRing((*own, *options.keys)),
        rates=RateLimit(options.limits.requests_per_minute),
        admission=Admission(options.limits.in_flight, options.limits.request_s),
        metrics=metrics,
    )
