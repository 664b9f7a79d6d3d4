"""How large a call will be, before it is made: for budgets and for limits in tokens a minute."""

from collections.abc import Callable

from metajudge.providers.model import ModelRequest, Parameters
from metajudge.types import Usage

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
