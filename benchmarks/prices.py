"""What a plan would cost, without sending anything: each row by itself, and all rows together."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from metajudge.agents import Agent
from metajudge.providers.model import request_key
from metajudge.runs.estimate import Estimate, prices_of, size_of
from metajudge.strategies import Panel, StrategyName
from metajudge.types import Judgment, digest
from metajudge.vetting.estimate import estimate_vetting, heard_tokens, output_tokens
from metajudge.vetting.prompt_set import priced_vetter

if TYPE_CHECKING:
    from .bench import Bench
    from .grid import Plan, PlannedRow


def _known(row: "PlannedRow", judgments: Iterable[Judgment], seen: set[str]) -> Estimate:
    """The calls of a row that an earlier row makes, which are paid once; ``seen`` are the keys of calls so far."""
    vetter, prices = priced_vetter(row.panel), prices_of(row.panel.all_agents)
    found = Estimate.at(prices)
    for judgment in judgments:
        for call in _calls(vetter.panel_for(judgment), judgment):
            key = f"{row.stands_for}{call.key}"
            if key in seen:
                for _ in range(call.agent.samples):
                    found.add(call.agent.name, prices, call.input_tokens, output_tokens(call.agent, judgment))
            seen.add(key)
    return found


class _Call(NamedTuple):
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
    requests = [(agent, agent.request(judgment)) for agent in agents]
    first = [_Call(request_key(agent.model, request), agent, size_of(request)) for agent, request in requests]
    members = first[: len(panel.agents)]
    written = sum(heard_tokens(panel, agent, judgment) for agent in panel.agents)
    keys = [call.key for call in members]
    if panel.strategy is not StrategyName.PANEL_DISCUSSION:
        yield from members
        return
    for place, call in enumerate(members):
        if panel.rounds == "sequential":
            heard = written * place // len(members)
            yield call._replace(key=digest(["sequential", keys[: place + 1]]), input_tokens=call.input_tokens + heard)
        else:
            yield call
            yield call._replace(key=digest(["revision", place, keys]), input_tokens=call.input_tokens + written)
    for call in first[len(members) :]:
        yield call._replace(
            key=digest(["summary", panel.rounds, call.key, keys]), input_tokens=call.input_tokens + written
        )


def priced(estimate: Estimate) -> float:
    """The dollars of the calls whose price is known."""
    return sum(agent["cost_usd"] or 0.0 for agent in estimate.by_agent.values())


def price_lines(bench: "Bench", plan: "Plan") -> Iterator[str]:
    """Each configuration by itself and what it adds to those before it, the plan's notes, and the sum."""
    if not plan.rows:
        yield "Dry run: no agents are given, so nothing would be asked and nothing paid."
        return
    judgments, seen = bench.vetted(), set[str]()
    pairs: list[tuple[Estimate, Estimate]] = []
    yield "Each row by itself; in brackets what it adds to the rows above it:"
    for row in plan.rows:
        alone, known = estimate_vetting(row.panel, judgments[row.judge]), _known(row, judgments[row.judge], seen)
        pairs.append((alone, known))
        cost = "unknown" if alone.cost_usd is None else f"${alone.cost_usd:.2f}"
        more = "" if alone.cost_usd is None else f", ${max(0.0, priced(alone) - priced(known)):.2f}"
        yield f"  {row.title}"
        adds = f"(adds {alone.calls - known.calls:,}{more})"
        yield f"    {alone.judgments:,} judgments, {alone.calls:,} calls, {cost}  {adds}"
    for note in plan.notes:
        yield f"Note: {note}."
    unpriced = sorted({name for alone, _ in pairs for name in alone.unpriced})
    least = "at least " if unpriced else ""
    calls, given, written, cost_usd = (
        sum(of(alone) - of(known) for alone, known in pairs)
        for of in (attrgetter("calls"), attrgetter("input_tokens"), attrgetter("output_tokens"), priced)
    )
    yield (
        f"Dry run, nothing sent: {len(plan.rows)} configurations, together at most {calls:,} calls, about "
        f"{given:,} input and {written:,} output tokens, {least}${cost_usd:.2f}, with calls that rows share paid once "
        f"(each row paid by itself: {least}${sum(priced(alone) for alone, _ in pairs):.2f})."
    )
    if unpriced:
        yield f"No price is known for {', '.join(unpriced)}: give a price in the grid or panel file."
