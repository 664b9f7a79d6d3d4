"""What a call takes: tokens, estimated before it is made, and dollars by genai-prices (offline) or the user's price."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Protocol

from metajudge.concurrency import modules_kept
from metajudge.errors import ConfigurationError
from metajudge.providers.model import ModelRequest, Parameters
from metajudge.providers.spec import PROVIDERS, AgentSpec
from metajudge.types import Usage


class Price(Protocol):
    """Turns tokens into dollars."""

    def cost(self, usage: Usage) -> float:
        """Dollars, cached and cache-writing tokens at their own rates."""


@dataclass(frozen=True, slots=True)
class FlatPrice:
    """Dollars per million tokens."""

    input: float
    output: float
    cached: float
    cache_write: float

    @classmethod
    def of(cls, input_usd: float, output_usd: float) -> "FlatPrice":
        """The user's own price per million input and output tokens; cached tokens count as input.

        Raises:
            ConfigurationError: a price that is negative or not a number.
        """
        for price in (input_usd, output_usd):
            if not 0 <= price < float("inf"):
                raise ConfigurationError(f"a price must be zero or more dollars per million tokens, not {price}")
        return cls(input_usd, output_usd, input_usd, input_usd)

    def cost(self, usage: Usage) -> float:
        fresh = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        return (
            fresh * self.input
            + usage.cached_tokens * self.cached
            + usage.cache_write_tokens * self.cache_write
            + usage.output_tokens * self.output
        ) / 1e6


@dataclass(frozen=True, slots=True)
class ListPrice:
    """The library's own calculation, for prices that depend on the time of day, on the input's length, and the like."""

    model: str
    provider: str
    batch: bool = False

    def cost(self, usage: Usage) -> float:
        return float(_library_cost(usage, self.model, self.provider, batch=self.batch).total_price)


def find_price(spec: AgentSpec) -> Price | None:
    """The list price of a model at its provider, None if unknown.

    A model asked at another base URL is priced as at the provider it is named under.
    """
    provider = PROVIDERS[spec.provider].price_id
    return None if provider is None else _find(spec.model, provider)


@dataclass(frozen=True, slots=True)
class SharePrice:
    """A share of another price."""

    price: Price
    share: float

    def cost(self, usage: Usage) -> float:
        return self.share * self.price.cost(usage)


_BATCH_SHARE = 0.5
_HALF_PRICE = frozenset({"openai", "anthropic"})


def find_batch_price(spec: AgentSpec, own: Price | None = None) -> Price | None:
    """What a call costs in a batch, None if unknown.

    The price list's own batch price where it has one; else half of the list price at OpenAI and Anthropic, who take
    half of everything; else the list price, which is too high rather than too low.

    Args:
        own: the user's own price, of which half is taken at OpenAI and Anthropic.
    """
    provider = PROVIDERS[spec.provider].price_id
    price = own or find_price(spec)
    if price is None:
        return None
    if own is None and provider is not None and _has_batch_price(spec.model, provider):
        return ListPrice(spec.model, provider, batch=True)
    return SharePrice(price, _BATCH_SHARE) if provider in _HALF_PRICE else price


@lru_cache(maxsize=256)
def _has_batch_price(model: str, provider: str) -> bool:
    usage = Usage(1000, 0, 0, 1000)
    live, batch = _library_cost(usage, model, provider), _library_cost(usage, model, provider, batch=True)
    return bool(batch.total_price < live.total_price)


@lru_cache(maxsize=256)
def _find(model: str, provider: str) -> Price | None:
    try:
        found = _library_cost(Usage(1000, 0, 0, 1000), model, provider)
    except LookupError:
        return None
    library, price = ListPrice(model, provider), found.model_price
    rates = [price.input_mtok, price.output_mtok, price.cache_read_mtok, price.cache_write_mtok]
    rates = [rates[0] if rate is None else rate for rate in rates]  # cached tokens without a rate count as input
    if not hasattr(found.model.prices, "calc_price") or not all(isinstance(rate, Decimal) for rate in rates):
        return library  # a list, of prices that change with time, or tiers
    flat = FlatPrice(*map(float, rates))
    probes = [Usage(n, n // 5, n // 7, 321) for n in (1_000, 100_000, 150_000, 250_000, 500_000, 2_000_000)]
    return flat if all(abs(flat.cost(one) - library.cost(one)) <= 1e-9 for one in probes) else library


@cache
def _library() -> Any:
    with modules_kept():
        import genai_prices
    return genai_prices


def _library_cost(usage: Usage, model: str, provider: str, *, batch: bool = False) -> Any:
    library = _library()
    return library.calc_price(
        library.Usage(
            input_tokens=usage.input_tokens,
            cache_read_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
        ),
        model,
        provider_id=provider,
        price_context={"processing": "batch"} if batch else None,
    )


_CHARACTERS_PER_TOKEN = 3.0
"""English has about four; three errs on the safe side for code and most other languages."""

_FIRST_OUTPUT = 1024


class UsageEstimate:
    """Estimates a call's tokens, learning from the answers seen.

    Input is estimated from the length of the texts and, once answers were seen, from the largest ratio of
    tokens to characters among them. Output is the limit that will be sent; without one, twice the largest
    output seen, and at least 1,024.

    Args:
        max_tokens: the limit that the provider's adapter sends for some parameters, None where it sends none.
    """

    def __init__(self, max_tokens: Callable[[Parameters], int | None] = lambda p: p.max_tokens) -> None:
        self._max_tokens = max_tokens
        self._largest_output = 0
        self._ratio = 1 / _CHARACTERS_PER_TOKEN

    def of(self, request: ModelRequest) -> Usage:
        """The estimate, meant to be rather too high than too low."""
        limit = self._max_tokens(request.parameters)
        output = limit if limit is not None else max(_FIRST_OUTPUT, 2 * self._largest_output)
        return Usage(input_tokens=int(characters(request) * self._ratio) + 16, output_tokens=output)

    def learn(self, request: ModelRequest, usage: Usage) -> None:
        """Takes an answer's true size into account."""
        self._largest_output = max(self._largest_output, usage.output_tokens)
        size = characters(request)
        if size > 0:
            self._ratio = max(self._ratio, usage.input_tokens / size)


def characters(request: ModelRequest) -> int:
    """Characters of the system prompt and the messages; the schema counts as one thousand."""
    texts = len(request.system) + sum(len(m.text) for m in request.messages)
    return texts + (1000 if request.schema is not None else 0)


def tokens_of(usage: Usage) -> int:
    """Tokens of input and output together."""
    return usage.input_tokens + usage.output_tokens
