"""What asking models took: the fields that records of it share, and the one rule by which they add up.

A record inherits from one of these types, and JSON lists the fields of its last base first.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic import Field

from metajudge.errors import ProviderError
from metajudge.types.calls import Reply
from metajudge.types.frozen import Finite, Frozen
from metajudge.types.usage import Usage

Add = Callable[[Iterable[float]], float]


class TokenUsage(Frozen):
    """Tokens used; ``input_tokens`` includes cached ones."""

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(**{name: getattr(self, name) + getattr(other, name) for name in TokenUsage.model_fields})


class Calls(Frozen):
    """Calls and dollars of this run; replies from the store cost nothing anew.

    Attributes:
        calls: HTTP requests sent, retries and repairs included; ``cached_calls`` replies from the store.
        cost_usd: None where a price or the usage is unknown.
        mended: replies that were read after mending what needs no guess (:mod:`metajudge.agents.mending`).
    """

    calls: int = 0
    cached_calls: int = 0
    cost_usd: float | None = 0.0
    mended: int = Field(default=0, exclude_if=lambda count: not count)


class Spent(Calls):
    """Calls, dollars and tokens."""

    usage: TokenUsage = TokenUsage()


class TimedSpent(Spent):
    """The same with the seconds from requests to complete answers."""

    latency_s: float = 0.0

    def __add__(self, other: "TimedSpent") -> "TimedSpent":
        return total(TimedSpent, (self, other))


class Priced(Finite):
    """What replies cost when they were first given, None where unknown, and how long they took in this run."""

    cost_usd: float | None = 0.0
    latency_s: float = 0.0


C = TypeVar("C", bound=Calls)


def total(kind: type[C], parts: Collection[C], add: Add = sum) -> C:
    """What several took together, as far as a type says; ``add`` sums dollars and seconds."""
    rules: dict[str, Callable[[list[Any]], Any]] = {
        "calls": sum,
        "cached_calls": sum,
        "mended": sum,
        "cost_usd": lambda costs: sum_if_known(costs, add),
        "usage": lambda used: sum(used, TokenUsage()),
        "latency_s": add,
    }
    return kind(**{name: rules[name]([getattr(one, name) for one in parts]) for name in kind.model_fields})


def as_kept(spent: TimedSpent) -> dict[str, Any]:
    """The fields as a record keeps them."""
    return dict(spent) | {"latency_s": round(spent.latency_s, 6)}


def sum_if_known(costs: Iterable[float | None], add: Add = sum) -> float | None:
    """The sum of dollars; None where one of them is not known."""
    given = list(costs)
    known = [cost for cost in given if cost is not None]
    return add(known) if len(known) == len(given) else None


def spent_on(end: Reply | ProviderError) -> TimedSpent:
    """What one call took, with its repeats, however it ended."""
    used = asdict(end.usage or Usage())
    if isinstance(end, ProviderError):
        return TimedSpent(calls=end.attempts, cost_usd=end.cost_usd, usage=TokenUsage(**used))
    anew = {} if end.cached else {"cost_usd": end.cost_usd, "usage": TokenUsage(**used)}
    return TimedSpent(calls=end.attempts, cached_calls=int(end.cached), latency_s=end.latency_s, **anew)


def cost_in_words(cost_usd: float | None) -> str:
    """Dollars as ``$0.0123``."""
    return "an unknown cost" if cost_usd is None else f"${cost_usd:.4f}"
