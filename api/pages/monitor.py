"""``/monitor``: promised precisions and what became of them."""

import time

from fastapi import APIRouter, Request, Response

from metajudge.monitor.records import reports
from metajudge.monitor.report import State

from ..deps import ServiceDep, StoreDep
from .access import ViewerDep
from .page_route import PageRoute
from .rendering import page

router = APIRouter(prefix="/monitor", include_in_schema=False, route_class=PageRoute)
STATE_TONES = {State.HOLDS: "good", State.BROKEN: "bad", State.TOO_LITTLE: "warn"}


@router.get("")
async def monitor(request: Request, viewer: ViewerDep, running: ServiceDep, store: StoreDep) -> Response:
    found = await running.computing.ask(lambda: reports(store, now=time.time()))
    return page(request, "monitor.html", viewer, reports=found, state_tones=STATE_TONES)
