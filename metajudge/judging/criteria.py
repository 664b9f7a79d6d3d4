"""Criteria for one request, named by a model that sees the request alone, or the generic four.

After "Multi-Agent Judging for LLM Evaluation: Concordance with Human Preferences Across Capability Gaps" (section 5.4):
a separate model, temperature 0.3, 150 tokens, three to five weighted criteria. Where its reply is unusable the generic
criteria are used, and the record says so and why.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from pydantic import Field

from metajudge.agents import ReplyProblemsError
from metajudge.agents.exchange import ask
from metajudge.agents.parse import load_object
from metajudge.agents.schema import object_schema
from metajudge.concurrency import off_the_loop
from metajudge.errors import ConfigurationError
from metajudge.prompts.judges import ShownCriterion
from metajudge.prompts.templates import prompts_digest
from metajudge.prompts.versions import FIRST
from metajudge.prompts.writers import CRITERIA, render_criteria, render_criteria_system
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters
from metajudge.types import Failure, valid_text
from metajudge.types.frozen import Frozen
from metajudge.types.spent import Priced, TimedSpent

FEWEST, MOST = 3, 5
"""How many criteria a request gets."""

WEIGHTS = (1, 2, 3, 4, 5)
"""Weights a model may give, before they are normalised."""

MAX_WORDS = 40
"""A longer criterion is no criterion: it would be a prompt of its own."""

PARAMETERS = Parameters(temperature=0.3, max_tokens=150)
"""Default parameters of the model call, the paper's. At the word limits of the system prompt (three and ten) five
criteria take more than 150 tokens where they are written over several lines; at those of a brief reply (nine in all)
they take fewer in any layout."""


class Criterion(Frozen):
    """One criterion with its share of the weight.

    Attributes:
        key: what it is called in replies and records: c1, c2, ...
        asks: what it asks; empty where the name says it all.
        weight: its share; the weights of a set sum to 1.
    """

    key: str
    name: str
    asks: str = ""
    weight: float = Field(gt=0, le=1)

    @property
    def text(self) -> str:
        return f"{self.name}: {self.asks}" if self.asks else self.name


class _FromModel(Frozen):
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    source: Literal["generated", "generic", "fallback", "given"]
    why: Failure | None = None
    model: str | None = None
    reported_model: str | None = None
    request_digest: str | None = None
    prompt_digest: str | None = None
    reply: str | None = None
    replied: bool = True


class CriteriaSet(Priced, _FromModel):
    """The criteria of one evaluation, and where they come from.

    Attributes:
        source: ``generated`` for this request, ``generic`` by choice (no model was named), ``fallback`` because the
            model's reply could not be used, ``given`` by the caller.
        why: why it is a fallback; None otherwise.
        model: which model was asked; None where none was.
        replied: False where it could not be asked, so that asking again later may help.
        cost_usd: of its reply, from the store or not; None where unknown.
    """

    @property
    def fallback(self) -> bool:
        """Whether the generic criteria stand in for a reply that could not be used."""
        return self.source == "fallback"


@dataclass(frozen=True, slots=True)
class CriteriaOutcome:
    """Criteria, and what it took in this run to get them."""

    criteria: CriteriaSet
    spent: TimedSpent = field(default_factory=TimedSpent)


def weighted(pairs: Sequence[tuple[str, str, float]]) -> tuple[Criterion, ...]:
    """Criteria from (name, what it asks, weight), with the weights normalised.

    Raises:
        ConfigurationError: no criterion, a name given twice or empty, or a weight that is no positive finite number.
    """
    names = [name.strip().casefold() for name, _, _ in pairs]
    if not names or not all(names) or len(set(names)) != len(names):
        raise ConfigurationError("criteria need names, each a different one")
    if not all(math.isfinite(weight) and weight > 0 for _, _, weight in pairs):
        raise ConfigurationError("weights of criteria are finite numbers above 0")
    total = sum(weight for _, _, weight in pairs)
    return tuple(
        Criterion(key=f"c{number}", name=name.strip(), asks=asks.strip(), weight=weight / total)
        for number, (name, asks, weight) in enumerate(pairs, start=1)
    )


GENERIC = weighted(
    [
        ("accuracy", "Is what the response says true, and does it hold up?", 1.0),
        ("clarity", "Can it be followed without effort, and without padding?", 1.0),
        ("helpfulness", "Does it do what was asked, for the person who asked?", 1.0),
        ("completeness", "Is nothing missing that is needed?", 1.0),
    ]
)
"""Equal weights, for any request."""


def shown_criteria(criteria: Sequence[Criterion]) -> list[ShownCriterion]:
    """Criteria as a judge sees them."""
    return [ShownCriterion(one.key, one.text, round(100 * one.weight)) for one in criteria]


_SLOTS = tuple(f"c{number}" for number in range(1, MOST + 1))

_ONE = object_schema({"text": {"type": "string"}, "weight": {"type": "integer", "enum": list(WEIGHTS)}})
_OR_NONE = {"anyOf": [_ONE, {"type": "null"}]}
SCHEMA = OutputSchema(
    "criteria", object_schema({name: _ONE if place < FEWEST else _OR_NONE for place, name in enumerate(_SLOTS)})
)
"""A property for each criterion: lists with a least and a greatest length are not supported everywhere."""


async def generate_criteria(
    model: Model,
    request: str,
    *,
    parameters: Parameters = PARAMETERS,
    draw: int = 0,
    prompt_version: int = FIRST,
    brief: bool = False,
) -> CriteriaOutcome:
    """Asks a model for criteria, from the request alone; the generic four where its reply cannot be used.

    It is asked once: what could not be read is not repaired, because a fallback is at hand.

    Args:
        brief: ask for texts so short that five criteria fit into the 150 tokens of the default.

    Raises:
        BudgetExceeded: the run's budget is spent.
    """
    made = partial(criteria_request, request, parameters, draw, prompt_version, brief=brief)
    sent = await off_the_loop(made, len(request))
    answer = await ask(model, sent, parse_criteria, asked=model.name, repair=False)
    found = CriteriaSet(
        criteria=answer.value or GENERIC,
        source="generated" if answer.value else "fallback",
        why=answer.failure,
        model=model.name,
        reported_model=answer.reported_model,
        request_digest=answer.key,
        prompt_digest=prompts_digest(*CRITERIA, version=prompt_version),
        reply=answer.text,
        replied=answer.replied,
        cost_usd=answer.cost_usd,
        latency_s=round(answer.spent.latency_s, 6),
    )
    return CriteriaOutcome(found, answer.spent)


def criteria_request(
    request: str,
    parameters: Parameters = PARAMETERS,
    draw: int = 0,
    prompt_version: int = FIRST,
    *,
    brief: bool = False,
) -> ModelRequest:
    """What :func:`generate_criteria` sends."""
    message = Message("user", render_criteria(request, prompt_version, brief=brief))
    return ModelRequest(render_criteria_system(prompt_version), (message,), SCHEMA, parameters, draw)


def parse_criteria(text: str) -> tuple[Criterion, ...]:
    """Reads three to five criteria and normalises their weights.

    Raises:
        ReplyProblemsError: with every problem found.
    """
    answer = load_object(text)
    problems = [f"unknown property {name!r}" for name in answer if name not in _SLOTS]
    pairs: list[tuple[str, str, float]] = []
    for slot in _SLOTS:
        entry = answer.get(slot)
        if entry is not None:
            pair = _pair(slot, entry, problems)
            pairs += [pair] if pair else []
    if not problems and not FEWEST <= len(pairs) <= MOST:
        problems.append(f"{len(pairs)} criteria are given: {FEWEST} to {MOST} are needed")
    names = [name.casefold() for name, _, _ in pairs]
    problems += [
        f"the criterion {name!r} is given more than once" for name in sorted(set(names)) if names.count(name) > 1
    ]
    if problems:
        raise ReplyProblemsError(problems)
    return weighted(pairs)


def _pair(slot: str, entry: Any, problems: list[str]) -> tuple[str, str, float] | None:
    if not isinstance(entry, dict) or set(entry) != {"text", "weight"}:
        problems.append(f"{slot} must be an object with text and weight")
        return None
    text, weight = entry["text"], entry["weight"]
    if not isinstance(text, str) or not text.strip(" :") or len(text.split()) > MAX_WORDS:
        problems.append(f"{slot}.text must be a text of 1 to {MAX_WORDS} words")
        return None
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight not in WEIGHTS:
        problems.append(f"{slot}.weight must be one of {', '.join(map(str, WEIGHTS))}")
        return None
    name, _, asks = valid_text(" ".join(text.split())).partition(":")
    return (name.strip() or asks.strip(), asks.strip() if name.strip() else "", float(weight))
