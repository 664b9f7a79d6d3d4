"""Tokens that calls to a model used."""

from dataclasses import astuple, dataclass
from operator import add


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or several calls.

    ``input_tokens`` counts the whole prompt, cached tokens included, for every provider (Anthropic reports
    them apart; the adapter adds them up).
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*map(add, astuple(self), astuple(other)))
