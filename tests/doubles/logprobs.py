"""Replies told token by token, as chat completions return them with ``logprobs``."""

import json
import math
from typing import Any

from metajudge.providers.logprobs import read_logprobs
from metajudge.types import Reply, TokenProbabilities, Usage

Told = str | tuple[str, dict[str, float]]
"""A token, or a token with the probabilities of all that might have stood there, itself included."""


def entry(token: str, probability: float) -> dict[str, Any]:
    """One token with its log-probability, as the API documents it."""
    return {
        "token": token,
        "logprob": math.log(probability) if probability else -9999.0,
        "bytes": list(token.encode()),
    }


def logprobs_of(tokens: list[Told]) -> dict[str, Any]:
    """``choices[0].logprobs`` for a reply of these tokens."""
    content = []
    for told in tokens:
        token, ways = (told, {told: 1.0}) if isinstance(told, str) else told
        top = [entry(other, ways[other]) for other in sorted(ways, key=ways.__getitem__, reverse=True)]
        content.append({**entry(token, ways.get(token, 0.0)), "top_logprobs": top})
    return {"content": content, "refusal": None}


def text_of(tokens: list[Told]) -> str:
    return "".join(told if isinstance(told, str) else told[0] for told in tokens)


def probabilities(tokens: list[Told]) -> TokenProbabilities:
    return read_logprobs(logprobs_of(tokens), text_of(tokens))


def reply_told(tokens: list[Told], **changes: Any) -> Reply:
    """A reply with its token probabilities."""
    return Reply(text_of(tokens), "stop", "m", Usage(10, 0, 0, len(tokens)), 0.01, probabilities=probabilities(tokens))


def scores_told(**ways: dict[str, float]) -> list[Told]:
    """A reply that scores each criterion, the chosen point first among its ways, in one token."""
    tokens: list[Told] = ["{"]
    for name, given in ways.items():
        comma = "," if len(tokens) > 1 else ""
        explanation = json.dumps(f"On {name} it is 4 of 5, naïve.")
        tokens += [
            f'{comma}"',
            name,
            '":{"',
            "explanation",
            f'":{explanation}',
            ',"score',
            '":',
            (next(iter(given)), given),
        ]
        tokens.append("}")
    return [*tokens, "}"]
