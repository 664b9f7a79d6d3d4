"""A run's hard limit."""

import asyncio

import pytest

from metajudge.errors import (
    AuthError,
    BadReplyError,
    BudgetExceeded,
    ConfigurationError,
    ConnectionFailedError,
    ModelTimeoutError,
)
from metajudge.providers.budget import Amount, Budget, BudgetedModel
from metajudge.providers.metering import Meter, MeteredModel
from metajudge.providers.model import Message, ModelRequest, Parameters
from metajudge.providers.prices import FlatPrice, UsageEstimate
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply, Usage

PRICE = FlatPrice.of(1.0, 10.0)
USAGE = Usage(1000, 0, 0, 100)
COST = PRICE.cost(USAGE)
REQUEST = ModelRequest("s", (Message("user", "x" * 2900),), parameters=Parameters(max_tokens=200))


class PricedModel(ScriptedModel):
    """Takes a while and costs always the same."""

    def __init__(self):
        super().__init__(lambda _: Reply("fine", "stop", "m", USAGE, COST))

    async def complete(self, request):
        await asyncio.sleep(0.001)
        return await super().complete(request)


async def spend(budget, calls=200, workers=64):
    inner = PricedModel()
    model = BudgetedModel(inner, budget, PRICE, UsageEstimate())
    left = list(range(calls))
    exceeded = 0

    async def worker():
        nonlocal exceeded
        while left:
            left.pop()
            try:
                await model.complete(REQUEST)
            except BudgetExceeded:
                exceeded += 1

    await asyncio.gather(*(worker() for _ in range(workers)))
    return inner, exceeded


@pytest.mark.parametrize("limit", [0.0031, 0.02, 0.05, 0.1])
async def test_dollars_spent_under_concurrency_end_within_one_call_of_the_limit_and_never_above(limit):
    inner, exceeded = await spend(Budget(usd=limit))
    spent = len(inner.requests) * COST
    largest = PRICE.cost(UsageEstimate().of(REQUEST))
    assert spent <= limit
    assert spent > limit - max(largest, COST)
    assert exceeded == 200 - len(inner.requests)


async def test_calls_are_limited_exactly():
    inner, exceeded = await spend(Budget(calls=17))
    assert (len(inner.requests), exceeded) == (17, 183)


async def test_tokens_are_limited_within_one_call():
    inner, _ = await spend(Budget(tokens=20_000))
    used = len(inner.requests) * 1100
    assert 20_000 - 1300 < used <= 20_000


def test_a_dollar_budget_with_an_unknown_price_is_refused_before_anything_is_sent():
    with pytest.raises(ConfigurationError, match=r"price of scripted .* is unknown"):
        BudgetedModel(ScriptedModel([]), Budget(usd=1.0), None, UsageEstimate())
    BudgetedModel(ScriptedModel([]), Budget(calls=1), None, UsageEstimate())


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf")])
def test_a_budget_that_is_no_positive_number_is_refused(limit):
    with pytest.raises(ConfigurationError, match="budget in usd"):
        Budget(usd=limit)


@pytest.mark.parametrize(
    ("error", "spent"),
    [(ConnectionFailedError("refused", sent=False), Amount()), (AuthError("wrong", status=401), Amount(calls=1))],
)
async def test_calls_that_were_not_answered_give_their_reservation_back(error, spent):
    budget = Budget(usd=1.0)
    with pytest.raises(type(error)):
        await BudgetedModel(ScriptedModel([error]), budget, PRICE, UsageEstimate()).complete(REQUEST)
    assert budget.spent == spent


async def test_a_cancelled_waiter_leaves_no_reservation_behind():
    budget = Budget(calls=1)
    await budget.reserve(Amount(calls=1))
    waiter = asyncio.create_task(budget.reserve(Amount(calls=1)))
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    budget.settle(Amount(calls=1), Amount())
    await budget.reserve(Amount(calls=1))
    budget.settle(Amount(calls=1), Amount(calls=1))
    with pytest.raises(BudgetExceeded, match="1 of 1 calls"):
        await budget.reserve(Amount(calls=1))


@pytest.mark.parametrize(
    "error", [ConnectionFailedError("cut"), BadReplyError("html", status=200), ModelTimeoutError("late")]
)
async def test_whatever_may_have_been_billed_is_settled_as_reserved(error):
    budget = Budget(usd=1.0)
    with pytest.raises(type(error)):
        await BudgetedModel(ScriptedModel([error]), budget, PRICE, UsageEstimate()).complete(REQUEST)
    assert budget.spent.usd == pytest.approx(PRICE.cost(UsageEstimate().of(REQUEST)))


async def test_missing_usage_is_settled_as_the_estimate_and_never_as_nothing():
    budget = Budget(usd=1.0)
    inner = ScriptedModel([Reply("fine", "stop", "m", usage=None)])
    await BudgetedModel(inner, budget, PRICE, UsageEstimate()).complete(REQUEST)
    assert budget.spent.usd == pytest.approx(PRICE.cost(UsageEstimate().of(REQUEST)))


async def test_a_call_waits_for_others_to_settle_where_it_would_fit_beside_what_is_spent_alone():
    largest = PRICE.cost(UsageEstimate().of(REQUEST))
    budget = Budget(usd=10 * COST + largest)
    model = BudgetedModel(PricedModel(), budget, PRICE, UsageEstimate())
    replies = await asyncio.wait_for(asyncio.gather(*(model.complete(REQUEST) for _ in range(10))), 5)
    assert len(replies) == 10


async def test_cancelled_calls_leave_nothing_reserved():
    budget = Budget(calls=10)
    model = BudgetedModel(PricedModel(), budget, PRICE, UsageEstimate())
    calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(30)]
    await asyncio.sleep(0)  # ten are in flight, twenty wait
    for call in calls[::2]:
        call.cancel()
    results = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 5)
    assert sum(isinstance(result, Reply) for result in results) == 5
    assert budget.spent.calls == 10  # the five that were cancelled in flight may be billed
    with pytest.raises(BudgetExceeded):
        await budget.reserve(Amount(calls=1))


async def test_when_a_large_call_stops_waiting_the_small_ones_behind_it_go_on():
    budget = Budget(tokens=100)
    await budget.reserve(Amount(tokens=60))
    large = asyncio.create_task(budget.reserve(Amount(tokens=90)))
    small = asyncio.create_task(budget.reserve(Amount(tokens=10)))
    await asyncio.sleep(0)
    large.cancel()
    await asyncio.wait_for(small, 1)
    with pytest.raises(asyncio.CancelledError):
        await large


async def test_a_useless_answer_that_was_billed_is_settled_as_it_was_billed():
    budget = Budget(usd=1.0)
    model = ScriptedModel([BadReplyError("empty", status=200, usage=USAGE)])
    metered = MeteredModel(model, meter=Meter(), find_price=lambda: PRICE)
    with pytest.raises(BadReplyError):
        await BudgetedModel(metered, budget, PRICE, UsageEstimate()).complete(REQUEST)
    assert budget.spent == Amount(COST, 1, 1100)
