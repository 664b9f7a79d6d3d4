"""How many tokens the prompts of meta-judges take, by prompt set.

    python -m metajudge.benchmarks.prompt_tokens [--json OUT]

Counts system prompts by rubric, roles, the fences of one judgment of the packaged sample, what a discussion adds beside
its statements, the request for a repair, and what a meta-judge is shown of our pairwise judge's prompt. No model is
asked. Tokens are those of o200k_base where the package ``bpe-openai`` is installed; else they are estimated at three
characters a token, as budgets estimate them, and the table says so.
"""

import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from metajudge.prompts.instruction import criteria_part
from metajudge.prompts.judge import render_pairwise_system
from metajudge.prompts.meta_judge import ROLES, Statement, render_repair, render_request, render_system, role_text
from metajudge.prompts.reply_form import ReplyForm
from metajudge.prompts.versions import FIRST, NEWEST
from metajudge.readers import open_judgments
from metajudge.rubric import BUILTIN_RUBRICS, Rubric, load_rubric
from metajudge.types import CriterionScore, Judgment

SAMPLE = Path(__file__).parent / "sample" / "judgments.jsonl"
CHARACTERS_PER_TOKEN = 3.0
THINKING, SCORES_ALONE = ReplyForm(analysis=True), ReplyForm(explanations="none")
PROBLEM = "accuracy.score must be one of the numbers 1, 2, 3, 4, 5, not 6"

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Row:
    """Tokens of one part under the first set and under the newest; None where a set does not have it."""

    part: str
    first: int | None
    newest: int | None


def rows(count: Count, judgment: Judgment) -> Iterator[Row]:
    """Every part; ``judgment`` is the one whose fences are counted."""
    yield from _system_rows(count)
    for role in ROLES:
        first, newest = (count(role_text(role, version=version)) for version in (FIRST, NEWEST))
        yield Row(f"role {role}", first, newest)
    yield Row("fences of one judgment", *(_fences(count, judgment, version) for version in (FIRST, NEWEST)))
    for name, summarise in (("discussion", False), ("summary", True)):
        first, newest = (_frame(count, judgment, version, summarise=summarise) for version in (FIRST, NEWEST))
        yield Row(f"frame of a {name}, two statements", first, newest)
    yield Row("request for a repair", *(count(render_repair([PROBLEM], version=one)) for one in (FIRST, NEWEST)))
    instruction = render_pairwise_system()
    yield Row("instruction of our pairwise judge", count(instruction), count(criteria_part(instruction)))


def counter() -> tuple[Count, str]:
    """What counts tokens here, and its name."""
    try:
        encoding = importlib.import_module("bpe_openai").get_encoding("o200k_base")
    except ModuleNotFoundError:
        return lambda text: round(len(text) / CHARACTERS_PER_TOKEN), "estimated at three characters a token"
    return lambda text: len(encoding.encode(text)), "o200k_base"


def table(found: list[Row], unit: str) -> str:
    """The rows as Markdown."""
    lines = [f"| tokens ({unit}) | set {FIRST} | set {NEWEST} |", "| --- | ---: | ---: |"]
    for row in found:
        cells = ("" if value is None else f"{value:,}" for value in (row.first, row.newest))
        lines.append(f"| {' | '.join([row.part, *cells])} |")
    return "\n".join(lines)


def run(
    out: Annotated[Path | None, typer.Option("--json", help="Write the figures to a file, too.")] = None,
) -> None:
    """Print the tokens of the prompts as a table."""
    count, unit = counter()
    found = list(rows(count, sample_judgment()))
    typer.echo(table(found, unit))
    if out is not None:
        out.write_text(json.dumps({"unit": unit, "rows": [asdict(row) for row in found]}, indent=2) + "\n")


def sample_judgment() -> Judgment:
    """The first judgment of the packaged sample that has a verdict and a rationale."""
    return next(one for one in open_judgments([SAMPLE]) if one.verdict is not None and one.rationale)


def _system_rows(count: Count) -> Iterator[Row]:
    for name in BUILTIN_RUBRICS:
        before = count(render_system(load_rubric(name, prompt_set=FIRST)))
        newest = load_rubric(name, prompt_set=NEWEST)

        def system(form: ReplyForm, *, alone: bool = False, rubric: Rubric = newest) -> int:
            return count(render_system(rubric, None, form, verdict_alone=alone, version=NEWEST))

        yield Row(f"system, {name}", before, system(ReplyForm()))
        yield Row(f"system, {name}, with analysis", None, system(THINKING))
        yield Row(f"system, {name}, with analysis, verdict alone", None, system(THINKING, alone=True))
        yield Row(f"system, {name}, scores alone", None, system(SCORES_ALONE))


def _fences(count: Count, judgment: Judgment, version: int) -> int:
    text = render_request(judgment, version=version)
    bare = "\n".join(line for line in text.split("\n") if not line.startswith(("⟦BEGIN", "⟦END")))
    return count(text) - count(bare)


def _frame(count: Count, judgment: Judgment, version: int, *, summarise: bool) -> int:
    """What stands around two statements, their own texts not counted."""
    said = CriterionScore(score=4, explanation="Both claims hold.")
    statements = [Statement(f"agent-{member}", {"accuracy": said}, member) for member in (1, 2)]
    text = render_request(judgment, earlier=statements, summarise=summarise, version=version)
    own = count(f"accuracy: 4\n  {said.explanation}")
    return count(text) - count(render_request(judgment, version=version)) - 2 * own


if __name__ == "__main__":
    typer.run(run)
