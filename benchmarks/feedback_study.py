"""Whether the feedback loop's proposals are better on cases it has not seen, on recorded judgments with true labels.

    python benchmarks/feedback_study.py DIR [--judge J ...] [--repeats 20] [--decisions 1000] [--noise 0.1] [--json OUT]

DIR is a folder of labelled judgments (JudgeBench, LLMBar or metajudge JSONL). Probabilities are out of fold by question
(``metajudge calibrate fit --signals order,strength,peers``) or, with ``--overconfident``, raised by one unit of their
log-odds, as a calibration does that met easier questions. In each repeat as many decisions are drawn from half of the
questions; people err with probability ``--noise``, or know nothing with ``--noise 1`` (then half of what they say is
right). The loop fits and backtests its changes of the starting policy on them; the best one it proposes is applied to
the other half, by the true labels.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import typer

from metajudge.calibration.fit import out_of_fold
from metajudge.calibration.table import SignalTable, build_table
from metajudge.decision.policy import Policy
from metajudge.feedback.backtest import Backtest, backtest
from metajudge.feedback.candidates import FITS, ChangeKind
from metajudge.feedback.cases import APPROVED, DecidedCase, Direction
from metajudge.feedback.replay import replayed
from metajudge.readers import open_judgments
from metajudge.reviews import HumanDecision, Outcome
from metajudge.stats.intervals import wilson

SIGNALS = ("order", "strength", "peers")
KINDS = (ChangeKind.THRESHOLD, ChangeKind.RECALIBRATION)

START = Policy.model_validate(
    {
        "name": "start",
        "title": "Starting policy",
        "description": "Approve from .8, reject below .4, review between.",
        "basis": "probability",
        "bands": [
            {"action": "APPROVE", "value": {"at_least": 0.8}, "justification": "probably right"},
            {"action": "REVIEW", "value": {"at_least": 0.4, "below": 0.8}, "justification": "doubtful"},
            {"action": "REJECT", "value": {"below": 0.4}, "justification": "probably wrong"},
        ],
    }
)


def cases_of(table: SignalTable, probabilities: Sequence[float]) -> list[DecidedCase]:
    """Cases by their true labels, decided by the starting policy."""
    found = [
        DecidedCase(
            case_id=name,
            question=question,
            action="REVIEW",
            right=bool(correct),
            decisions=(),
            judge=judge,
            probability=round(float(value), 9),
            truth=bool(correct),
        )
        for name, question, judge, correct, value in zip(
            table.judgment_ids, table.questions, table.judges, table.correct, probabilities, strict=True
        )
    ]
    return replayed(START, found)


def decided(case: DecidedCase, right: bool) -> DecidedCase:
    """The case as a person decided it."""
    outcome = Outcome.APPROVE if right else Outcome.REJECT
    decision = HumanDecision(review_id=case.case_id, reviewer="simulated", outcome=outcome, decided_at=0.0)
    return replace(case, right=right, decisions=(decision,))


def one_repeat(cases: Sequence[DecidedCase], decisions: int, noise: float, seed: int) -> dict[str, Any]:
    """One draw of questions, people's decisions, the loop's best proposal, and its worth on the other questions."""
    rng = np.random.default_rng(seed)
    questions = sorted({case.question for case in cases})
    seen = set(rng.permutation(questions)[: len(questions) // 2].tolist())
    mine = [case for case in cases if case.question in seen]
    fresh = [case for case in cases if case.question not in seen]
    drawn = [mine[row] for row in sorted(rng.permutation(len(mine))[:decisions].tolist())]
    labelled = [
        decided(case, bool(rng.random() < 0.5) if noise >= 1 else case.right != (rng.random() < noise))
        for case in drawn
    ]
    tries = [(kind, way) for kind in KINDS for way in (Direction.TOO_LENIENT, Direction.TOO_STRICT)]
    fitted = [(kind, way, new) for kind, way in tries if (new := FITS[kind](START, labelled, way)) is not None]
    tests = [(backtest(kind, way, START, labelled, seed=seed, tried=len(fitted)), new) for kind, way, new in fitted]
    better = [(test, new) for test, new in tests if test.better]
    found: dict[str, Any] = {"decisions": len(drawn), "proposed": bool(better), "before": _rate(fresh)}
    if better:
        test, new = min(better, key=lambda pair: _gain(pair[0]))
        found |= {"kind": test.kind.value, "direction": test.direction.value, "after": _rate(replayed(new, fresh))}
    return found


def _gain(test: Backtest) -> float:
    rate = test.false_approve if test.direction is Direction.TOO_LENIENT else test.false_reject
    return 0.0 if rate.value is None else rate.value


def _rate(cases: Sequence[DecidedCase]) -> dict[str, float | int]:
    approved = [case for case in cases if case.action == APPROVED]
    wrong = sum(case.right is False for case in approved)
    return {"approved": len(approved), "wrong": wrong, "false_approve_rate": wrong / max(len(approved), 1)}


def main(
    ctx: typer.Context,
    folder: Annotated[str, typer.Argument(metavar="DIR")],
    judge: Annotated[list[str] | None, typer.Option()] = None,
    repeats: int = 20,
    decisions: int = 1000,
    noise: float = 0.1,
    overconfident: Annotated[bool, typer.Option("--overconfident")] = False,
    out: Annotated[str | None, typer.Option("--json", metavar="OUT")] = None,
) -> None:
    """Prints the study's figures."""
    judges = set(judge or ())
    source = open_judgments([folder])
    table = build_table(source.all(), SIGNALS, report=lambda one: not judges or one.judge in judges)
    table = table.select(table.labelled)
    probabilities = np.clip(out_of_fold(table), 1e-6, 1 - 1e-6)
    if overconfident:
        odds = np.log(probabilities / (1 - probabilities)) + 1
        probabilities = 1 / (1 + np.exp(-odds))
    cases = cases_of(table, probabilities.tolist())
    runs = [one_repeat(cases, decisions, noise, seed) for seed in range(repeats)]
    proposed = [run for run in runs if run["proposed"]]
    share = wilson(len(proposed), len(runs))
    print(
        f"{len(cases)} judgments of {len({case.question for case in cases})} questions, {repeats} repeats of "
        f"{runs[0]['decisions']} decisions, noise {noise:g}"
    )
    print(f"proposed in {len(proposed)} ({100 * share.low:.1f} to {100 * share.high:.1f} %)")
    if proposed:
        before = np.array([run["before"]["false_approve_rate"] for run in proposed])
        after = np.array([run["after"]["false_approve_rate"] for run in proposed])
        kept = np.array([run["after"]["approved"] / run["before"]["approved"] for run in proposed])
        print(
            f"held out, where proposed: false-approve rate {100 * before.mean():.1f} -> {100 * after.mean():.1f} %, "
            f"lower in {int((after < before).sum())} of {len(proposed)}; approvals kept {100 * kept.mean():.0f} %"
        )
    if out:
        asked = {name: value for name, value in ctx.params.items() if name not in ("folder", "out")}
        with open(out, "w", encoding="utf-8") as stream:
            json.dump({"options": asked, "runs": runs}, stream, indent=1)


if __name__ == "__main__":
    main.__doc__ = __doc__
    typer.run(main)
