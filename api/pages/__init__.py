"""Pages for people, rendered on the server; scripts are optional."""

from fastapi import FastAPI

from . import assessments, assets, clash, dashboard, document, jobs, login, monitor, review_case, review_queue
from .sessions import Sessions

PAGES = (login, review_queue, review_case, clash, assessments, dashboard, monitor, jobs, document, assets)


def install_pages(app: FastAPI) -> None:
    """Adds the pages to an application."""
    app.state.sessions = Sessions()
    for module in PAGES:
        app.include_router(module.router)
