"""What the experiment would cost, agent by agent, and how many questions a budget pays for."""

from collections.abc import Callable, Sequence

from metajudge.errors import ConfigurationError
from metajudge.runs.estimate import prices_of
from metajudge.types import Judgment, Usage
from metajudge.types.frozen import Finite
from metajudge.vetting.estimate import estimate_vetting

from .records import LiveItem
from .setup import LiveSetup

RESERVE = 0.1
"""The share of a budget that is kept for repairs and for replies longer than assumed."""

Draw = Callable[[int], Sequence[LiveItem]]
"""From a number of questions to their sample."""


class AgentPrice(Finite):
    """What one agent takes.

    Attributes:
        usd: with replies of the assumed length; None where the price of the model is unknown.
        most_usd: with every reply as long as it may be (``max_tokens``); None where that is unknown.
    """

    agent: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    most_usd: float | None


def price(setup: LiveSetup, judgments: Sequence[Judgment]) -> list[AgentPrice]:
    """Renders every prompt and adds up; nothing is sent and no key is needed."""
    return [_price(setup, name, judgments) for name in setup.agents]


def _price(setup: LiveSetup, name: str, judgments: Sequence[Judgment]) -> AgentPrice:
    panel = setup.panel_of(name)
    found = estimate_vetting(panel, judgments)
    listed = prices_of(panel.all_agents)[name]
    written = found.output_tokens
    if name in setup.reply_tokens:
        written = found.calls * setup.reply_tokens[name]
    most = setup.agents[name].max_tokens

    def dollars(output: int) -> float | None:
        # By the mean call, since a price may depend on the size of a single one.
        if listed is None or not found.calls:
            return None if listed is None else 0.0
        one = Usage(input_tokens=found.input_tokens // found.calls, output_tokens=0)
        writing = listed.cost(Usage(output_tokens=1_000_000)) / 1_000_000
        reading = listed.cost(one) / max(1, one.input_tokens)
        return reading * found.input_tokens + writing * output

    return AgentPrice(
        agent=name,
        model=setup.agents[name].model,
        calls=found.calls,
        input_tokens=found.input_tokens,
        output_tokens=written,
        usd=dollars(written),
        most_usd=None if most is None else dollars(max(written, found.calls * most)),
    )


def total(prices: Sequence[AgentPrice]) -> float | None:
    """Dollars of all agents; None where a price is unknown."""
    known = [one.usd for one in prices if one.usd is not None]
    return sum(known) if len(known) == len(prices) else None


def affordable(
    setup: LiveSetup, draw: Draw, judgments: Callable[[Sequence[LiveItem]], Sequence[Judgment]], most: int, usd: float
) -> int:
    """The largest number of questions, at most ``most``, whose expected cost leaves a tenth of the budget over.

    Args:
        setup: the experiment.
        draw: the sample of a number of questions.
        judgments: the judgments of a sample.
        most: questions there are, or are wanted.
        usd: the budget.

    Raises:
        ConfigurationError: a price is unknown, or the budget does not pay for a single question.
    """
    cost = {}

    def fits(count: int) -> bool:
        prices = price(setup, judgments(draw(count)))
        cost[count] = total(prices)
        if cost[count] is None:
            unknown = ", ".join(sorted({one.model for one in prices if one.usd is None}))
            raise ConfigurationError(
                f"no price is known for {unknown}, so a budget in dollars says nothing about the sample: give the "
                "agent a price in the setup (price = { input = 1.0, output = 4.0 }, dollars a million tokens)"
            )
        return (cost[count] or 0.0) <= (1 - RESERVE) * usd

    if fits(most):
        return most
    guess = max(1, int(most * (1 - RESERVE) * usd / (cost[most] or 1.0)))
    while guess > 1 and not fits(guess):
        guess = min(guess - 1, int(guess * (1 - RESERVE) * usd / (cost[guess] or 1.0)))
    if guess < 1 or not fits(guess):
        raise ConfigurationError(f"${usd:g} does not pay for one question with these agents: raise --budget-usd")
    return guess
