"""Pages for people, rendered on the server; scripts are optional."""

from fastapi import FastAPI

from ..sessions import Sessions
from . import (
    assessments,
    audit_log,
    clash,
    dashboard,
    document,
    jobs,
    login,
    monitor,
    outcomes,
    policies,
    rendering,
    review_case,
    review_queue,
    search,
    start,
)

PAGES = (
    *(start, login, review_queue, review_case, clash, assessments, outcomes, search, dashboard, monitor),
    *(policies, audit_log, jobs, document, rendering),
)


def install_pages(app: FastAPI) -> None:
    """Adds the pages to an application."""
    app.state.sessions = Sessions()
    for module in PAGES:
        app.include_router(module.router)
