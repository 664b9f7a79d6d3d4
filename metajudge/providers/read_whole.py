"""Whether a server read the whole prompt: some cut it at their context without a word, and answer the rest."""

import re
from typing import Final

from metajudge.errors import PromptCutError
from metajudge.providers.http_errors import Asked
from metajudge.providers.model import ModelRequest
from metajudge.types import Usage

_MOST_PER_TOKEN: Final = 10
"""Characters of text that no tokenizer puts into one token on average; blanks and repeated marks apart."""
_SPARE: Final = 2_000
_ALIKE: Final = 3
"""Prompts of different lengths with one and the same round count of tokens, from which on it is a limit."""
_ROUND: Final = 256


class ReadWhole:
    """What one model reported of its prompts so far."""

    def __init__(self) -> None:
        self._lengths: dict[int, set[int]] = {}

    def check(self, request: ModelRequest, usage: Usage, asked: Asked) -> None:
        """Compares the tokens that were read with the text that was sent.

        Raises:
            PromptCutError: they are far too few, or the same round number for prompts of different lengths.
        """
        sent = sum(len(one.text) for one in request.messages) + len(request.system)
        read = usage.input_tokens
        if read <= 0:
            return
        if sent > _MOST_PER_TOKEN * read + _SPARE and _bare(request) > _MOST_PER_TOKEN * read + _SPARE:
            raise _cut(asked, sent, read, usage)
        if read % _ROUND == 0:
            lengths = self._lengths.setdefault(read, set())
            lengths.add(sent // 100)
            if len(lengths) >= _ALIKE and max(lengths) > 1.1 * min(lengths):
                raise _cut(asked, sent, read, usage)


def _bare(request: ModelRequest) -> int:
    """Characters of a prompt, with runs of blanks and of one mark counted once."""
    return sum(
        len(re.sub(r"(\W)\1+", r"\1", " ".join(text.split())))
        for text in (request.system, *(one.text for one in request.messages))
    )


def _cut(asked: Asked, sent: int, read: int, usage: Usage) -> PromptCutError:
    return PromptCutError(
        f"{asked} read {read:,} tokens of a prompt of {sent:,} characters: the server cut it at its context. Give it a "
        "larger one (Ollama: num_ctx, vLLM: --max-model-len), or use another model",
        status=200,
        usage=usage,
    )
