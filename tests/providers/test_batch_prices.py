"""What calls cost in batches."""

import pytest

from metajudge.providers.prices import FlatPrice, find_batch_price, find_price
from metajudge.providers.spec import AgentSpec
from metajudge.types import Usage

USAGE = Usage(10_000, 2_000, 0, 1_000)


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "gpt-4o-mini"), ("openai", "gpt-4.1"), ("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-4")],
)
def test_the_big_two_take_half(provider, model):
    spec = AgentSpec(model, provider, model)
    live, batch = find_price(spec), find_batch_price(spec)
    assert batch.cost(Usage(10_000, 0, 0, 1_000)) == pytest.approx(live.cost(Usage(10_000, 0, 0, 1_000)) / 2)


def test_a_users_own_price_is_halved_too_where_the_provider_takes_half():
    own = FlatPrice.of(1.0, 10.0)
    assert find_batch_price(AgentSpec("m", "openai", "m"), own).cost(USAGE) == pytest.approx(own.cost(USAGE) / 2)
    assert find_batch_price(AgentSpec("m", "together", "m"), own).cost(USAGE) == pytest.approx(own.cost(USAGE))


def test_an_unknown_price_stays_unknown():
    assert find_batch_price(AgentSpec("m", "openai", "nobody-knows")) is None
    assert find_batch_price(AgentSpec("m", "ollama", "m")) is None
