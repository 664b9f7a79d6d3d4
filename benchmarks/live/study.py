"""Whether the live experiment's analysis finds what is planted, and finds nothing where nothing is.

    python -m metajudge.benchmarks.live.study [--runs 1000] [--questions 60 --questions 300] [--seed 0] [--json OUT]

No model and no network: scores are drawn with planted probabilities of being right (:mod:`.scripted`) and analysed as
those of a run. Scenarios:

- ``nothing planted``: one agent, the panel, free evidence and both kinds of room to think have the same area under the
  ROC curve; the other members of the panel are so much weaker that it is no better than the one.
- ``planted``: free evidence 65 %, one agent 75 % without and 85 % with an analysis, 80 % for the other members of the
  panel, effort without effect.

For each comparison of areas: the planted difference, the mean estimate, the share of runs whose simultaneous interval
contains it, verdicts, the share of wrong ones, and the probability of a yes that the plan states. ``family`` is the
share of runs with any wrong verdict, with Wilson's 95 % interval.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from metajudge.report import Absent
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.intervals import wilson

from .answers import Answer, Table, answer
from .plan import LivePlan, Sample
from .power import power
from .scripted import HIGHEST, LOWEST, planted_area
from .setup import FREE_EVIDENCE, PANEL, LiveSetup, load_setup

SHARE_RIGHT = 0.6
ONE = 0.75


@dataclass(frozen=True, slots=True)
class Scenario:
    """Probabilities of being right: of free evidence, and of each agent."""

    name: str
    evidence: float
    agents: Mapping[str, float]

    def area(self, setup: LiveSetup, arm: str) -> float:
        """The planted area of an arm."""
        if arm == FREE_EVIDENCE:
            return self.evidence
        return planted_area([self.agents[name] for name in setup.members(arm)])


@dataclass(slots=True)
class Found:
    """One comparison over all runs.

    Attributes:
        planted: the true difference of the areas.
        mean: of the estimates.
        covered: share of runs whose simultaneous interval contains the planted difference.
        wrong: share of runs with a wrong "yes" or "no, the other way round".
        stated: the probability of a yes that the plan's power has for this difference, at no correlation; None where
            no difference is planted.
    """

    comparison: str
    planted: float
    mean: float = 0.0
    covered: float = 0.0
    yes: float = 0.0
    wrong: float = 0.0
    stated: float | None = None
    verdicts: dict[str, int] = field(default_factory=dict)


def scenarios(setup: LiveSetup) -> list[Scenario]:
    """The two scenarios for a setup's agents."""
    others = [name for name in setup.panel if name != setup.one]
    nothing = dict.fromkeys(setup.agents, ONE) | dict.fromkeys(others, no_help(ONE, len(others)))
    planted = dict.fromkeys(setup.agents, 0.75) | dict.fromkeys(others, 0.8) | {setup.one: 0.85}
    return [Scenario("nothing planted", ONE, nothing), Scenario("planted", 0.65, planted)]


def no_help(one: float, others: int) -> float:
    """The accuracy of so many further members at which a panel's area is that of the one alone."""
    low, high = 0.5, one
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if planted_area([one, *[middle] * others]) < one else (low, middle)
    return (low + high) / 2


def plan_of(setup: LiveSetup, questions: int) -> LivePlan:
    """A plan without data, for its rules."""
    right = round(SHARE_RIGHT * questions)
    sample = Sample(
        source="simulated", seed=0, per_question=1, of_questions=questions, questions=questions, judgments=questions,
        right=right, evidence="score of signals", items="", left_out={},
    )  # fmt: skip
    return LivePlan(setup=setup, questions={}, panels={}, sample=sample, budget_usd=None, prices=(), power=())


def drawn(setup: LiveSetup, scenario: Scenario, questions: int, rng: np.random.Generator) -> Table:
    """One simulated run, each question judged once."""
    right = rng.random(questions) < SHARE_RIGHT
    scores = {name: _scores(right, share, rng) for name, share in scenario.agents.items()}
    scores[PANEL] = np.mean([scores[name] for name in setup.panel], axis=0)
    scores[FREE_EVIDENCE] = _scores(right, scenario.evidence, rng)
    nothing = {name: np.zeros(questions) for name in scores}
    return Table(right, [str(number) for number in range(questions)], scores, nothing, nothing, setup.threshold)


def _scores(right: Bools, accuracy: float, rng: np.random.Generator) -> Floats:
    knows = rng.random(len(right)) < accuracy
    return np.where(knows == right, float(HIGHEST), float(LOWEST))


def simulate(scenario: Scenario, runs: int, questions: int, seed: int) -> dict[str, Any]:
    """Analyses so many runs of a scenario."""
    setup = load_setup()
    plan, rng = plan_of(setup, questions), np.random.default_rng(seed)
    comparisons = [one for one in setup.comparisons if one.measure == "area"]
    truths = [scenario.area(setup, one.first) - scenario.area(setup, one.second) for one in comparisons]
    found = [Found(f"{one.first} against {one.second}", truth) for one, truth in zip(comparisons, truths, strict=True)]
    any_wrong = 0
    for _ in range(runs):
        table = drawn(setup, scenario, questions, rng)
        answers = [answer(plan, table, one, complete=True) for one in comparisons]
        wrong = [_count(figure, one, runs) for figure, one in zip(found, answers, strict=True)]
        any_wrong += any(wrong)
    right = round(SHARE_RIGHT * questions)
    for figure, one in zip(found, comparisons, strict=True):
        base = scenario.area(setup, one.second)
        if figure.planted > 1e-9:
            figure.stated = power(figure.planted, right, questions - right, 1 - setup.confidence, 0.0, base)
    family = wilson(any_wrong, runs)
    return {
        "scenario": scenario.name,
        "runs": runs,
        "questions": questions,
        "level": setup.level,
        "family": {"value": family.estimate, "low": family.low, "high": family.high},
        "comparisons": [_rounded(asdict(one)) for one in found],
    }


def _count(figure: Found, one: Answer, runs: int) -> bool:
    """Adds one answer; whether it is wrong."""
    figure.verdicts[one.verdict] = figure.verdicts.get(one.verdict, 0) + 1
    if isinstance(one.effect, Absent):
        return False
    figure.mean += one.effect.value / runs
    figure.covered += (one.effect.low <= figure.planted <= one.effect.high) / runs
    figure.yes += (one.verdict == "yes") / runs
    wrong = (one.verdict == "yes" and figure.planted < 1e-9) or (
        one.verdict == "no, the other way round" and figure.planted > -1e-9
    )
    figure.wrong += wrong / runs
    return wrong


def _rounded(record: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in record.items()}


def lines(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """The results as Markdown tables."""
    said = []
    for one in results:
        family = one["family"]
        said.append(
            f"{one['scenario']}: {one['runs']} runs of {one['questions']} questions; any wrong verdict in "
            f"{100 * family['value']:.1f} % ({100 * family['low']:.1f} to {100 * family['high']:.1f}) of them"
        )
        said += ["", "| comparison | planted | mean | covered | yes | stated | wrong |", "| --- " * 7 + "|"]
        for row in one["comparisons"]:
            points = [f"{100 * row[name]:+.1f}" for name in ("planted", "mean")]
            shares = [_percent(row[name]) for name in ("covered", "yes", "stated", "wrong")]
            said.append(f"| {' | '.join([row['comparison'], *points, *shares])} |")
        said.append("")
    return said


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def main(
    runs: Annotated[int, typer.Option(min=20)] = 1000,
    questions: Annotated[list[int] | None, typer.Option(help="Default 60 and 300. Repeatable.", min=30)] = None,
    seed: int = 0,
    out: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
) -> None:
    """Simulates both scenarios, with so many questions each."""
    results = [simulate(one, runs, count, seed) for count in questions or (60, 300) for one in scenarios(load_setup())]
    for line in lines(results):
        typer.echo(line)
    if out is not None:
        out.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
