"""``/monitor``: promised precisions and what became of them."""

import time

from fastapi import APIRouter, Response

from metajudge.monitor.records import reports
from metajudge.monitor.report import State

from .page_route import PageRoute, StoredVisit

router = APIRouter(prefix="/monitor", include_in_schema=False, route_class=PageRoute)
STATE_TONES = {State.HOLDS: "good", State.BROKEN: "bad", State.TOO_LITTLE: "warn"}


@router.get("")
async def monitor(visit: StoredVisit) -> Response:
    found = await visit.running.computing.ask(lambda: reports(visit.store, now=time.time()))
    return visit.page("monitor.html", reports=found, state_tones=STATE_TONES)
