"""What judging items would take, without sending anything."""

from collections.abc import Iterable

from metajudge.judging.grading import GradingJudge
from metajudge.judging.pairwise import Orders, PairwiseJudge, orders_of
from metajudge.panels.config import PanelConfig
from metajudge.runs.estimate import REASONING_TOKENS, Estimate, prices_of, size_of
from metajudge.session import Session
from metajudge.types import Item


def estimate_judging(
    config: PanelConfig,
    items: Iterable[Item],
    orders: Orders = "both",
    *,
    grade: bool = False,
    with_reference: bool = False,
) -> Estimate:
    """What it takes to have agents compare pairs of responses, or grade each response alone.

    Raises:
        ConfigurationError: agents that make no sense together (no key is needed).
    """
    judges = Session.for_estimate(config).models()
    prices = prices_of(config.agents)
    estimate = Estimate.at(prices)
    for item in items:
        for one in judges:
            version = one.prompt_version
            if grade:
                grader = GradingJudge(one.name, one.model, one.parameters, with_reference, prompt_version=version)
                requests = [grader.request(item, name) for name in item.responses]
            else:
                judge = PairwiseJudge(one.name, one.model, one.parameters, with_reference, prompt_version=version)
                requests = [judge.request(item, order) for order in orders_of(item, orders)]
            for request in requests:
                estimate.judgments += 1
                estimate.add(one.name, prices, size_of(request), REASONING_TOKENS)
    return estimate
