"""Pages for people, rendered on the server; scripts are optional."""

from fastapi import FastAPI

from . import (
    assessments,
    assets,
    audit_log,
    clash,
    dashboard,
    document,
    jobs,
    login,
    monitor,
    outcomes,
    policies,
    review_case,
    review_queue,
    search,
    start,
)
from .sessions import Sessions

PAGES = (
    *(start, login, review_queue, review_case, clash, assessments, outcomes, search, dashboard, monitor),
    *(policies, audit_log, jobs, document, assets),
)


def install_pages(app: FastAPI) -> None:
    """Adds the pages to an application."""
    app.state.sessions = Sessions()
    for module in PAGES:
        app.include_router(module.router)
