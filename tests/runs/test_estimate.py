"""What a run would take: sums over calls, by agent, and unknown where a price is."""

import pytest

from metajudge.panels.config import AgentConfig, Price
from metajudge.providers.model import Message, ModelRequest
from metajudge.runs.estimate import Estimate, prices_of, size_of

OWN = AgentConfig(name="own", model="vllm:own@http://127.0.0.1:9/v1")
PRICED = AgentConfig(name="priced", model="openai:any", price=Price(input=1.0, output=2.0))


def test_calls_and_tokens_add_up_by_agent():
    prices = prices_of([PRICED])
    estimate = Estimate.at(prices)
    for _ in range(3):
        estimate.add("priced", prices, 1_000_000, 500_000)
    assert (estimate.calls, estimate.input_tokens, estimate.output_tokens) == (3, 3_000_000, 1_500_000)
    assert estimate.cost_usd == pytest.approx(6.0)
    assert estimate.by_agent["priced"]["cost_usd"] == pytest.approx(6.0)
    assert estimate.to_json()["dry_run"] is True


def test_a_call_without_a_known_price_leaves_the_cost_unknown_whatever_comes_after():
    prices = prices_of([OWN, PRICED])
    estimate = Estimate.at(prices)
    estimate.add("own", prices, 10, 10)
    estimate.add("priced", prices, 10, 10)
    assert (estimate.cost_usd, estimate.unpriced) == (None, ["own"])
    assert estimate.by_agent["own"]["cost_usd"] is None
    assert estimate.by_agent["priced"]["cost_usd"] > 0


def test_two_runs_add_up_by_agent_and_unknown_stays_unknown():
    prices = prices_of([OWN, PRICED])
    first, second = Estimate.at(prices), Estimate.at(prices)
    first.add("priced", prices, 10, 20)
    second.add("priced", prices, 1, 2)
    first.add("own", prices, 3, 4)
    both = first + second
    assert (both.calls, both.input_tokens, both.output_tokens, both.cost_usd) == (3, 14, 26, None)
    assert both.by_agent["priced"]["cost_usd"] == pytest.approx(55e-6)
    assert both.by_agent["own"] == {"calls": 1, "input_tokens": 3, "output_tokens": 4, "cost_usd": None}
    assert first.by_agent["priced"]["calls"] == 1


def test_an_agent_that_is_not_asked_costs_nothing_known_or_not():
    prices = prices_of([OWN, PRICED])
    estimate = Estimate.at(prices)
    estimate.add("priced", prices, 10, 10)
    assert estimate.cost_usd == pytest.approx(3e-5)


def test_the_list_price_counts_where_none_is_configured():
    assert prices_of([AgentConfig(model="openai:gpt-4o-mini")])["gpt-4o-mini"] is not None


def test_four_characters_are_a_token():
    assert size_of(ModelRequest("x" * 40, (Message("user", "y" * 40),))) == 21
