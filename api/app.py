"""The application: one engine, a handful of routes, problem details for every error."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI

from metajudge import __version__
from metajudge.engine import Engine
from metajudge.panel_file import PanelConfig

from .errors import install_error_handlers
from .limits import BodyLimit, RequestId
from .panels import Panels
from .routes import health, vet

DESCRIPTION = """Vets finished verdicts of LLM judges: post a judgment, get an assessment that says whether to trust it,
with each meta-judge's scores and explanations, cost and provenance. Errors are problem details (RFC 9457)."""


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How to serve.

    Attributes:
        panels: name -> panel; the first one is the default.
        store: the store's file, None to keep nothing.
        api_key: what callers must present, None for no check (loopback only).
        concurrency: calls to models in flight at most.
        calibration: a file of ``metajudge calibrate fit`` that gives every assessment its probability.
        max_body_bytes: larger requests are refused with 413.
    """

    panels: Mapping[str, PanelConfig] = field(default_factory=lambda: {"default": PanelConfig()})
    store: Path | None = None
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = 64
    max_body_bytes: int = 4_000_000
    calibration: Path | None = None


def create_app(options: ServiceOptions) -> FastAPI:
    """Builds the ASGI application; the engine opens with it and closes with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        default = next(iter(options.panels.values()))
        engine = Engine(
            panel=default,
            store=options.store,
            concurrency=options.concurrency,
            calibration=options.calibration,
            command="serve",
        )
        async with engine:
            app.state.panels = Panels(engine, options.panels)
            yield

    app = FastAPI(
        title="metajudge",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    app.state.api_key = options.api_key
    app.include_router(health.router)
    app.include_router(vet.router)
    install_error_handlers(app)
    app.add_middleware(BodyLimit, max_bytes=options.max_body_bytes)
    app.add_middleware(RequestId)
    return app
