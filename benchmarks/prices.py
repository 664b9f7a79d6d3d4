"""What a plan would cost, without sending anything."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metajudge.vetting.estimate import estimate_vetting

if TYPE_CHECKING:
    from .bench import Bench
    from .grid import Plan


def price_lines(bench: "Bench", plan: "Plan") -> Iterator[str]:
    """One line for each configuration, the plan's notes, and the sum."""
    if not plan.rows:
        yield "Dry run: no agents are given, so nothing would be asked and nothing paid."
        return
    judgments = bench.decided()
    found = [(row.name, estimate_vetting(row.panel, judgments[row.judge])) for row in plan.rows]
    for name, one in found:
        cost = "unknown" if one.cost_usd is None else f"${one.cost_usd:.2f}"
        yield f"  {name:<45} {one.judgments:>6} judgments {one.calls:>6} calls  {cost:>10}"
    for note in plan.notes:
        yield f"Note: {note}."
    calls, tokens_in, tokens_out = (
        sum(getattr(one, name) for _, one in found) for name in ("calls", "input_tokens", "output_tokens")
    )
    dollars = sum(one.cost_usd or 0.0 for _, one in found)
    unknown = sorted({name for _, one in found for name in one.unpriced})
    yield (
        f"Dry run, nothing sent: {len(found)} configurations, at most {calls:,} calls, about {tokens_in:,} input "
        f"and {tokens_out:,} output tokens, {'at least ' if unknown else ''}${dollars:.2f}. Equal calls of two "
        "configurations are paid once."
    )
    if unknown:
        yield f"No price is known for {', '.join(unknown)}: give a price in the grid or panel file."
