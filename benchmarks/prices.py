"""What a plan would cost, without sending anything: each row by itself, and all rows together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from metajudge.agents import Agent
from metajudge.providers.model import request_key
from metajudge.runs.estimate import Estimate, prices_of, size_of
from metajudge.strategies import Panel, StrategyName
from metajudge.types import Judgment, digest
from metajudge.vetting.estimate import estimate_vetting, heard_tokens, output_tokens
from metajudge.vetting.prompt_set import priced_vetter

if TYPE_CHECKING:
    from .bench import Bench
    from .grid_plan import Plan, PlannedRow


@dataclass(slots=True)
class Together:
    """The rows of a plan in their order, where a call that an earlier row makes is paid once."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: set[str] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)

    def add(self, row: "PlannedRow", judgments: Iterable[Judgment], alone: Estimate) -> Estimate:
        """Adds a row, given what it costs by itself; returns the calls in it that an earlier row makes."""
        known = self._known(row, judgments)
        self.calls += alone.calls - known.calls
        self.input_tokens += alone.input_tokens - known.input_tokens
        self.output_tokens += alone.output_tokens - known.output_tokens
        self.cost_usd += priced(alone) - priced(known)
        self.unpriced |= set(alone.unpriced)
        return known

    def _known(self, row: "PlannedRow", judgments: Iterable[Judgment]) -> Estimate:
        vetter, prices = priced_vetter(row.panel), prices_of(row.panel.all_agents)
        found = Estimate.at(prices)
        for judgment in judgments:
            for call in _calls(vetter.panel_for(judgment), judgment):
                key = f"{row.stands_for}{call.key}"
                if key in self._seen:
                    for _ in range(call.agent.samples):
                        found.add(call.agent.name, prices, call.input_tokens, output_tokens(call.agent, judgment))
                self._seen.add(key)
        return found


@dataclass(frozen=True, slots=True)
class _Call:
    """A call to be made, with a key that is the same where another row makes it, too."""

    key: str
    agent: Agent
    input_tokens: int


def _calls(panel: Panel, judgment: Judgment) -> Iterator[_Call]:
    """The calls of a panel in the order of speaking; of ``rejudge`` none, since no two rows of it are alike.

    The length of a discussion is not known in advance. It is the same where the same members are asked the same in
    the same order before.
    """
    if panel.strategy is StrategyName.REJUDGE:
        return
    agents = [*panel.agents, *([panel.summariser] if panel.summariser is not None else [])]
    first = [_first(agent, judgment) for agent in agents]
    members = first[: len(panel.agents)]
    written = sum(heard_tokens(panel, agent, judgment) for agent in panel.agents)
    keys = [call.key for call in members]
    if panel.strategy is not StrategyName.PANEL_DISCUSSION:
        yield from members
        return
    for place, call in enumerate(members):
        if panel.rounds == "sequential":
            heard = written * place // len(members)
            yield replace(call, key=digest(["sequential", keys[: place + 1]]), input_tokens=call.input_tokens + heard)
        else:
            yield call
            yield replace(call, key=digest(["revision", place, keys]), input_tokens=call.input_tokens + written)
    for call in first[len(members) :]:
        yield replace(
            call, key=digest(["summary", panel.rounds, call.key, keys]), input_tokens=call.input_tokens + written
        )


def _first(agent: Agent, judgment: Judgment) -> _Call:
    request = agent.request(judgment)
    return _Call(request_key(agent.model, request), agent, size_of(request))


def priced(estimate: Estimate) -> float:
    """The dollars of the calls whose price is known."""
    return sum(agent["cost_usd"] or 0.0 for agent in estimate.by_agent.values())


def price_lines(bench: "Bench", plan: "Plan") -> Iterator[str]:
    """Each configuration by itself and what it adds to those before it, the plan's notes, and the sum."""
    if not plan.rows:
        yield "Dry run: no agents are given, so nothing would be asked and nothing paid."
        return
    judgments, together, alone_usd = bench.vetted(), Together(), 0.0
    yield "Each row by itself; in brackets what it adds to the rows above it:"
    for row in plan.rows:
        alone = estimate_vetting(row.panel, judgments[row.judge])
        known = together.add(row, judgments[row.judge], alone)
        alone_usd += priced(alone)
        cost = "unknown" if alone.cost_usd is None else f"${alone.cost_usd:.2f}"
        more = "" if alone.cost_usd is None else f", ${max(0.0, priced(alone) - priced(known)):.2f}"
        yield f"  {row.title}"
        adds = f"(adds {alone.calls - known.calls:,}{more})"
        yield f"    {alone.judgments:,} judgments, {alone.calls:,} calls, {cost}  {adds}"
    for note in plan.notes:
        yield f"Note: {note}."
    least = "at least " if together.unpriced else ""
    yield (
        f"Dry run, nothing sent: {len(plan.rows)} configurations, together at most {together.calls:,} calls, about "
        f"{together.input_tokens:,} input and {together.output_tokens:,} output tokens, "
        f"{least}${together.cost_usd:.2f}, with calls that rows share paid once (each row paid by itself: "
        f"{least}${alone_usd:.2f})."
    )
    if together.unpriced:
        yield f"No price is known for {', '.join(sorted(together.unpriced))}: give a price in the grid or panel file."
