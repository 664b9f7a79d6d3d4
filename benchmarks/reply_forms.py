"""What prompt set 2 asks of meta-judges, against scripted models with known noise: tokens, and who can pass.

    python -m metajudge.benchmarks.reply_forms [--judgments 400] [--seed 0]

Two tables. The first counts the tokens of a request (characters / 4) and those assumed for its reply (as
``vet --dry-run`` does) for each rubric and form. The second has a scripted model vet judgments, half of them without a
rationale: it knows with probability ``--accuracy`` whether a verdict is right, scores 5 or 1 accordingly, and gives
every criterion that judges a rationale a 1 if no rationale is given, as the first set's prompt has it ("score what a
rationale would have shown as not shown"). It says what the rules do with such scores, and nothing about any model.
"""

import asyncio
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from metajudge.panels.config import PanelConfig, panel_config
from metajudge.providers.model import ModelRequest
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.types import Judgment
from metajudge.vetting.engine import Engine
from metajudge.vetting.estimate import estimate_vetting

FORMS: dict[str, dict[str, object]] = {
    "set 1": {"prompt_version": 1},
    "set 2, scores alone": {"analysis": False, "explanations": "none"},
    "set 2, no analysis": {"analysis": False},
    "set 2": {},
}
RUBRICS = ("short", "long", "binary", "baseline")
RATIONALE_CRITERIA = frozenset(one.name for one in load_rubric("short").criteria if one.judges_rationale)


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of one call: of the request, and assumed for the reply."""

    rubric: str
    form: str
    with_rationale: tuple[int, int]
    verdict_alone: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Passed:
    """Judgments vetted, and kept of those with a right and those with a wrong verdict."""

    form: str
    rationale: bool
    judgments: int
    right: int
    kept_right: int
    kept_wrong: int


def judgments(count: int, seed: int) -> list[Judgment]:
    """Sums with a right and a wrong answer; every other judgment has no rationale, half of the verdicts are right."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        a, b = rng.randint(10, 99), rng.randint(10, 99)
        right = rng.random() < 0.5
        item = {
            "id": f"i{number}",
            "question": f"Sum {number}: what is {a} + {b}?",
            "responses": {"A": str(a + b), "B": str(a + b + 1)},
            "label": "A>B",
        }
        reason = f"Adding {a} and {b} digit by digit gives what the better response says." if number % 2 else ""
        data = {"id": f"j{number}", "item": item, "judge": "scripted", "verdict": "A>B" if right else "B>A"}
        found.append(Judgment.model_validate({**data, "rationale": reason, "order": ["A", "B"]}))
    return found


def config(form: str, rubric: str = "short") -> PanelConfig:
    """One agent that asks by a form."""
    options: dict[str, object] = {**FORMS[form]}
    version = options.pop("prompt_version", None)
    agent = {"name": "scripted", "model": "object:scripted", "price": {"input": 1.0, "output": 1.0}, **options}
    return panel_config({"agents": [agent], "rubric": rubric, "prompt_version": version})


def costs() -> list[Cost]:
    """Tokens for every rubric and form, of one judgment with a rationale and one without."""
    alone, reasoned = judgments(2, 0)
    found = []
    for rubric in RUBRICS:
        for form in FORMS:
            priced = config(form, rubric)
            priced = priced.model_copy(
                update={"agents": tuple(one.model_copy(update={"model": "openai:any"}) for one in priced.agents)}
            )
            both = [estimate_vetting(priced, [one]) for one in (reasoned, alone)]
            tokens = [(one.input_tokens, one.output_tokens) for one in both]
            found.append(Cost(rubric, form, tokens[0], tokens[1]))
    return found


def knowing(judged: Sequence[Judgment], accuracy: float, seed: int) -> ScriptedModel:
    """A model that is right about a verdict with a known probability, and always finds a missing rationale missing."""
    rng = random.Random(seed)
    belief = {one.item.question: (str(one.verdict) == "A>B") == (rng.random() < accuracy) for one in judged}
    reasoned = {one.item.question: bool(one.rationale) for one in judged}

    def answer(request: ModelRequest) -> str:
        text = request.messages[0].text
        question = next(one for one in belief if one in text)
        score = 5 if belief[question] else 1
        names = [] if request.schema is None else list(request.schema.schema["properties"])
        reply: dict[str, object] = {"analysis": "I add them up."} if "analysis" in names else {}
        for name in names:
            if name != "analysis":
                missing = name in RATIONALE_CRITERIA and not reasoned[question]
                reply[name] = {"score": 1 if missing else score, "explanation": "Checked."}
        return json.dumps(reply)

    return ScriptedModel(answer, name="scripted")


async def passed(form: str, count: int, accuracy: float, seed: int) -> list[Passed]:
    """What is kept of judgments with and without a rationale."""
    given = judgments(count, seed)
    kept: set[str] = set()
    async with Engine([knowing(given, accuracy, seed + 1)], panel=config(form)) as engine:
        await engine.vet_all(given, on_result=lambda _at, one, found: kept.add(one.id) if found.accepted else None)
    rows = []
    for rationale in (True, False):
        chosen = [one for one in given if bool(one.rationale) is rationale]
        right = [one for one in chosen if one.correct]
        kept_right = sum(one.id in kept for one in right)
        kept_all = sum(one.id in kept for one in chosen)
        rows.append(Passed(form, rationale, len(chosen), len(right), kept_right, kept_all - kept_right))
    return rows


def main(
    count: Annotated[int, typer.Option("--judgments")] = 400,
    accuracy: Annotated[float, typer.Option(min=0, max=1)] = 0.9,
    seed: int = 0,
) -> None:
    """Prints both tables."""
    out = sys.stdout
    out.write("tokens of one call: request + assumed reply\n")
    out.write(f"{'rubric':10}{'form':22}{'with a rationale':>20}{'verdict alone':>18}\n")
    for one in costs():
        cells = [f"{sent:,} + {written:,}" for sent, written in (one.with_rationale, one.verdict_alone)]
        out.write(f"{one.rubric:10}{one.form:22}{cells[0]:>20}{cells[1]:>18}\n")
    out.write(
        f"\nkept by a scripted model that is right with probability {accuracy:g} ({count} judgments, seed {seed})\n"
    )
    out.write(f"{'form':22}{'rationale':>10}{'judgments':>11}{'right':>7}{'kept right':>12}{'kept wrong':>12}\n")
    for form in FORMS:
        for row in asyncio.run(passed(form, count, accuracy, seed)):
            has = "yes" if row.rationale else "no"
            out.write(f"{form:22}{has:>10}{row.judgments:>11}{row.right:>7}{row.kept_right:>12}{row.kept_wrong:>12}\n")


if __name__ == "__main__":
    typer.run(main)
