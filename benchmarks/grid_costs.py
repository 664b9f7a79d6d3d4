"""What a row of a grid costs by itself, before stored replies are used again, beside what was paid for it.

The paper counts a panel's cost in askings of each agent: ``sum`` where each scores alone, ``2 sum`` in a discussion,
``2 sum + summariser`` with one (section 4.2.2, "Computation Cost Analysis"). Rows of a grid share calls, so what is
paid for a row depends on the rows before it; what it costs by itself does not.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from metajudge.panels.config import PanelConfig
from metajudge.report.document import Absent
from metajudge.types import AgentResult, Assessment

from .findings import CostFormula, RowCost

UNKNOWN_PRICE = Absent(absent="a price or the usage is unknown")
UNKNOWN_REPLY = Absent(absent="the price of a stored reply is unknown")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One asking of one agent, repair included.

    Attributes:
        key: of its first request; the same where another row asks the same.
        once: whether it belongs to asking each agent once: not a revision, nor a summary.
    """

    key: str | None
    calls: int
    stored: int
    paid_usd: float | None
    once: bool


def exchanges(assessment: Assessment) -> Iterator[Exchange]:
    """Every asking that an assessment is made of."""
    for result in assessment.agents:
        if result.opening is not None:
            yield from _askings(result.opening, once=True)
            yield _exchange(result, once=False, without=result.opening)
        else:
            yield from _askings(result, once=True)
    if assessment.summariser is not None:
        yield from _askings(assessment.summariser, once=False)


def _askings(result: AgentResult, *, once: bool) -> Iterator[Exchange]:
    if result.skipped is None:
        yield from (_exchange(draw, once=once) for draw in result.draws or (result,))


def _exchange(result: AgentResult, *, once: bool, without: AgentResult | None = None) -> Exchange:
    paid, calls, stored = result.cost_usd, result.calls, result.cached_calls
    if without is not None:
        calls, stored = calls - without.calls, stored - without.cached_calls
        paid = None if paid is None or without.cost_usd is None else paid - without.cost_usd
    return Exchange(result.prompt_digest, calls, stored, paid, once)


class Ledger:
    """What each asking cost when it was paid, over the rows of a run."""

    def __init__(self) -> None:
        self._paid: dict[str, float | None] = {}

    def row(
        self, panel: PanelConfig, assessments: Iterable[Assessment], stored_usd: Mapping[str, float | None]
    ) -> RowCost:
        """The cost of one row; its own askings are known to the rows after it.

        Args:
            stored_usd: key -> dollars, of single replies that an earlier run had paid.
        """
        every = [one for assessment in assessments for one in exchanges(assessment)]
        for one in every:
            if one.key is not None and not one.stored:
                self._paid[one.key] = one.paid_usd
            elif one.key is not None and one.key in stored_usd and one.stored == 1:
                self._paid.setdefault(one.key, stored_usd[one.key])
        paid = [one.paid_usd for one in every]
        return RowCost(
            formula=_formula(panel),
            calls=sum(one.calls + one.stored for one in every),
            cost_usd=self._total(every),
            once_usd=self._total([one for one in every if one.once]),
            paid_calls=sum(one.calls for one in every),
            paid_usd=UNKNOWN_PRICE if None in paid else sum(cost for cost in paid if cost is not None),
        )

    def _total(self, every: Iterable[Exchange]) -> float | Absent:
        total = 0.0
        for one in every:
            if one.stored and (one.key is None or one.key not in self._paid):
                return UNKNOWN_REPLY
            cost = self._paid[one.key] if one.stored and one.key is not None else one.paid_usd
            if cost is None:
                return UNKNOWN_PRICE
            total += cost
        return total


def _formula(panel: PanelConfig) -> CostFormula:
    if panel.chosen_strategy == "rejudge":
        return "both orders"
    if panel.chosen_strategy != "panel_discussion":
        return "sum"
    twice, summed = panel.discussion.rounds == "independent_first", panel.discussion.summariser is not None
    if twice:
        return "2 sum + summariser" if summed else "2 sum"
    return "sum + summariser" if summed else "sum"
