"""Dollars equal the price library's, for flat and tiered prices, cached tokens included."""

import pytest
from genai_prices import Usage as LibraryUsage
from genai_prices import calc_price

from metajudge.errors import ConfigurationError
from metajudge.providers.prices import FlatPrice, TieredPrice, find_price
from metajudge.providers.spec import parse_agent_spec
from metajudge.types import Usage

MODELS = [
    ("openai:gpt-4o-mini", "openai"),
    ("openai:gpt-4o", "openai"),
    ("openai:o1-mini", "openai"),
    ("openai:gpt-5", "openai"),
    ("anthropic:claude-sonnet-4-5", "anthropic"),
    ("anthropic:claude-3-haiku-20240307", "anthropic"),
    ("gemini:gemini-2.5-pro", "google"),
    ("gemini:gemini-1.5-flash", "google"),
    ("deepseek:deepseek-chat", "deepseek"),
    ("mistral:mistral-large-latest", "mistral"),
    ("groq:llama-3.1-8b-instant", "groq"),
]
USAGES = [
    Usage(1, 0, 0, 1),
    Usage(1234, 0, 0, 567),
    Usage(50_000, 40_000, 0, 10),
    Usage(50_000, 10_000, 20_000, 900),
    Usage(128_000, 0, 0, 1),
    Usage(128_001, 0, 0, 1),
    Usage(200_000, 0, 0, 1),
    Usage(200_001, 0, 0, 1),
    Usage(900_000, 300_000, 100_000, 60_000),
]


@pytest.mark.parametrize(("text", "provider"), MODELS)
def test_prices_equal_the_librarys(text, provider):
    spec = parse_agent_spec(text)
    price = find_price(spec)
    assert price is not None
    for usage in USAGES:
        expected = calc_price(
            LibraryUsage(
                input_tokens=usage.input_tokens,
                cache_read_tokens=usage.cached_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                output_tokens=usage.output_tokens,
            ),
            spec.model,
            provider_id=provider,
        )
        assert price.cost(usage) == pytest.approx(float(expected.total_price), abs=1e-9), usage


def test_tiered_prices_are_among_them():
    assert isinstance(find_price(parse_agent_spec("gemini:gemini-2.5-pro")), TieredPrice)


@pytest.mark.parametrize(
    "text", ["openai:no-such-model-at-all", "ollama:llama3", "vllm:gpt-4o-mini@http://127.0.0.1:1"]
)
def test_a_price_nobody_knows_is_none_and_never_zero(text):
    assert find_price(parse_agent_spec(text)) is None


def test_the_users_own_price_counts_cached_tokens_as_input():
    assert FlatPrice.of(2.0, 8.0).cost(Usage(1_000_000, 400_000, 100_000, 500_000)) == pytest.approx(6.0)
    assert FlatPrice.of(0, 0).cost(Usage(5, 0, 0, 5)) == 0.0


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_a_price_that_is_no_price_is_refused(price):
    with pytest.raises(ConfigurationError, match="zero or more dollars"):
        FlatPrice.of(price, 1.0)
