"""The dashboard: outcomes, precision at any threshold, agreement between agents and judges, and cost."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, FastAPI, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from metajudge.evidence.counting import SAID, WORDS
from metajudge.feedback.metrics import GROUND_TRUTH
from metajudge.store.labelled import COMPARED, STEPS, Basis, Group, LabelSource, Steps
from metajudge.store.protocol import Store

from ..deps import ServiceDep, StoreDep
from . import dashboard_view as view
from .access import ViewerDep
from .dashboard_data import Reader, Readings, Wanted
from .figures import plane_of, precision_coverage
from .page_route import PageRoute
from .rendering import page
from .standing import Ladder, curve, standing, thinned, words_of

router = APIRouter(prefix="/dashboard", include_in_schema=False, route_class=PageRoute)
PERIODS = {7: "7 days", 30: "30 days", 90: "90 days", 0: "all time"}
LABELS: dict[LabelSource, str] = {
    "all": "people, else items' labels",
    "people": "people's decisions",
    "truth": "items' labels",
}
PROBABLE = 80
_SHOWN = ("all", *SAID, "kept", "discarded", "asked")


class Wish(BaseModel):
    """The settings of the dashboard."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    days: int = 30
    panel: str = Field(default="", max_length=200)
    basis: Basis = "score"
    labels: LabelSource = "all"
    keep: float | None = Field(default=None, ge=-1e6, le=1e6, allow_inf_nan=False)
    discard: float | None = Field(default=None, ge=-1e6, le=1e6, allow_inf_nan=False)

    @field_validator("days")
    @classmethod
    def _known_period(cls, days: int) -> int:
        if days not in PERIODS:
            raise ValueError(f"one of {', '.join(map(str, PERIODS))} days (0 is all time), not {days}")
        return days

    def but(self, **changes: object) -> str:
        """An address with some settings changed; a new basis drops the thresholds."""
        given = self.model_dump(exclude_defaults=True, exclude_none=True) | changes
        if "basis" in changes:
            given = {name: value for name, value in given.items() if name not in ("keep", "discard")}
        return "/dashboard?" + urlencode(given)


@router.get("")
async def dashboard(
    request: Request, viewer: ViewerDep, running: ServiceDep, _store: StoreDep, wish: Annotated[Wish, Query()]
) -> Response:
    sources = LABELS if viewer.sight.labels else {"people": LABELS["people"]}
    wish = wish if wish.labels in sources else wish.model_copy(update={"labels": "people"})
    reader: Reader = request.app.state.dashboard_reader
    found = await reader.read(running, Wanted(wish.days, wish.panel, wish.labels, wish.basis))
    found = found if viewer.sight.labels else _without_truth(found)
    shown = await asyncio.to_thread(_shown, wish, found)  # intervals take a while
    return page(request, "dashboard.html", viewer, wish=wish, periods=PERIODS, label_sources=sources, **shown)


def _without_truth(found: Readings) -> Readings:
    """The readings for viewers who may not see labels: correctness by people's decisions alone."""
    feedback = [replace(one, metrics=tuple(m for m in one.metrics if m.name != GROUND_TRUTH)) for one in found.feedback]
    return replace(found, feedback=feedback)


def _shown(wish: Wish, found: Readings) -> dict[str, Any]:
    """The template's variables."""
    figures = found.figures
    bins = view.calibration_bins(figures.tenths)
    cost = view.model_rows(found.totals.spent)
    return {
        "found": found,
        **_precision(wish, figures.groups, figures.steps),
        "outcomes": view.over_time("outcomes", "Outcomes per day", found.totals.outcomes, view.OUTCOMES),
        "actions": view.over_time("actions", "Policy decisions per day", figures.actions, view.ACTIONS),
        "bins": bins,
        "calibration": view.calibration_chart(bins) if bins else None,
        "agents": view.heat_map(figures.agents),
        "judges": view.heat_map(figures.judges),
        "judge_rows": view.judge_rows(found.totals.judges, figures.counts),
        "rows": {WORDS[name]: row for name, row in figures.counts.get(None, {}).items() if row.n and name in _SHOWN},
        "models": cost,
        "spent": sum(row.cost_usd for row in cost),
        "cost": view.cost_over_time(found.totals.spent),
        "action_words": view.ACTIONS,
        "counts": _counts(found),
        "kinds": view.kinds_of(figures.groups),
        "compared": COMPARED if len({group.judge for group in figures.groups}) > COMPARED else 0,
    }


def begin_dashboard(app: FastAPI, store: Store | None) -> Callable[[], Awaitable[None]]:
    """Begins what dashboards need in the background; returns how to end it before the store is closed."""
    if store is None:
        return _nothing
    reader = app.state.dashboard_reader = Reader(store)
    reader.begin()
    return reader.close


async def _nothing() -> None:
    return


def _precision(wish: Wish, groups: Sequence[Group], steps: Steps) -> dict[str, Any]:
    """The section with thresholds."""
    usual = _usual(groups) if wish.basis == "score" else PROBABLE
    ladder = Ladder(wish.basis, steps.steps, steps.without, steps.questions, steps.changes, usual)
    keep = _within(ladder, wish.keep, usual)
    discard = min(keep, _within(ladder, wish.discard, keep))
    now = standing(ladder, keep, discard)
    drawn = bool(curve(ladder))
    plane = plane_of(ladder) if drawn else None
    chart = None
    if drawn:
        chart = precision_coverage(
            "precision", ladder, now.coverage or 0.0, now.precision.estimate if now.precision else 0.0
        )
    fine = wish.basis == "probability" or keep % 5 or discard % 5
    return {
        "ladder": ladder,
        "keep": keep,
        "discard": discard,
        "step": 1 if fine else 5,
        "now": words_of(now),
        "plane": plane,
        "curve": chart,
        "points": thinned(curve(ladder), 20),
    }


def _within(ladder: Ladder, wanted: float | None, otherwise: int) -> int:
    """A threshold in hundredths, limited to the ladder's range."""
    value = otherwise if wanted is None else round(wanted * STEPS)
    return max(ladder.low, min(ladder.high, value))


def _usual(groups: Sequence[Group]) -> int:
    """The threshold of most assessments; of several the most selective."""
    counts: Counter[int] = Counter()
    for group in groups:
        counts[round(group.threshold * STEPS)] += group.n
    return max(counts, key=lambda value: (counts[value], value)) if counts else 450


def _counts(found: Readings) -> dict[str, int]:
    """Assessments of the period by the outcome's name on the page."""
    counts: Counter[str] = Counter()
    for one in found.totals.outcomes:
        counts[one.kind] += one.n
    return {words: counts[kind] for kind, words in view.OUTCOMES.items()}
