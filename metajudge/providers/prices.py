"""What a call costs in dollars: list prices from genai-prices (offline), or the user's own."""

from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Protocol

from metajudge.concurrency import modules_kept
from metajudge.errors import ConfigurationError
from metajudge.providers.spec import PROVIDERS, AgentSpec
from metajudge.types import Usage


class Price(Protocol):
    """Turns tokens into dollars."""

    def cost(self, usage: Usage) -> float:
        """Dollars, cached and cache-writing tokens at their own rates."""


@dataclass(frozen=True, slots=True)
class FlatPrice:
    """Dollars per million tokens; ``above`` tokens of input, so that tiers are a list of flat prices."""

    input: float
    output: float
    cached: float
    cache_write: float
    above: int = -1

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
class TieredPrice:
    """Prices that depend on the length of the input; ``tiers`` from the longest input to the shortest."""

    tiers: tuple[FlatPrice, ...]

    def cost(self, usage: Usage) -> float:
        return next(tier for tier in self.tiers if usage.input_tokens > tier.above).cost(usage)


@dataclass(frozen=True, slots=True)
class ListPrice:
    """The library's own calculation, for prices that depend on the time of day or on what we do not model."""

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
    library = ListPrice(model, provider)
    if not hasattr(found.model.prices, "calc_price"):  # a list: prices that change with time
        return library
    derived = _tiers(found.model_price)
    return derived if derived is not None and _agree(derived, library) else library


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


def _tiers(price: Any) -> TieredPrice | FlatPrice | None:
    """Linear coefficients of a price, one set a tier; a missing rate for cached tokens is the input's."""
    entries = [price.input_mtok, price.output_mtok, price.cache_read_mtok, price.cache_write_mtok]
    if entries[0] is None or entries[1] is None:
        return None
    rates = [entry if entry is not None else entries[0] for entry in entries]
    starts = sorted({tier.start for entry in rates for tier in getattr(entry, "tiers", ())}, reverse=True)
    tiers = tuple(_flat(rates, start) for start in (*starts, -1))
    return tiers[0] if len(tiers) == 1 else TieredPrice(tiers)


def _flat(rates: list[Any], above: int) -> FlatPrice:
    fresh, output, cached, cache_write = (_rate(entry, above) for entry in rates)
    return FlatPrice(fresh, output, cached, cache_write, above)


def _rate(entry: Any, above: int) -> float:
    if isinstance(entry, Decimal):
        return float(entry)
    reached = [tier.price for tier in entry.tiers if tier.start <= above]
    return float(reached[-1] if reached else entry.base)


def _agree(derived: Price, library: Price) -> bool:
    probes = [Usage(n, n // 5, n // 7, 321) for n in (1_000, 100_000, 150_000, 250_000, 500_000, 2_000_000)]
    return all(abs(derived.cost(p) - library.cost(p)) <= 1e-9 for p in probes)
