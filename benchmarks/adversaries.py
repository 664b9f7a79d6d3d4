"""What dishonest judges do to vetting: on recorded judgments of five judges, at three strengths of each attack.

    python -m metajudge.benchmarks.adversaries --data DIR [--json OUT] [--seeds 5] [--trials 200] [--only SET]

DIR contains any of ``judgebench``, ``llmbar``, ``mtbench``, ``realmistake`` and ``themis_rewardbench2``. Of each set
the five judges of :data:`PANELS` are taken, and of many questions :data:`MOST_QUESTIONS` drawn once. For each seed the
judges change roles, and each attack of :mod:`.adversaries_attacks` is made:

- *kept*: precision of what vetting without agents keeps (above 4.5; where that is nothing, as with plain verdicts in
  one order, the best 60 % without attack, and what reaches their score with it), and the share kept, of all five
  judges' verdicts, against the same without attack; without the discount of copies, too. Intervals by resampled
  questions, over all seeds together.
- *guarantee*: a threshold on the same score, set by the shipped procedure (delta .1; the target five points below what
  is kept without attack) on half the questions without attack, and used on the other half with it: how often the
  precision of what it keeps is below the target, how often the run says that the promise is out of its domain, and how
  often it is broken without a word.
- *people*: audited kept verdicts, one a question, until a one-sided binomial test at 5 % against the precision without
  attack finds the difference with a probability of 90 %.

Then: how often followers are found, and independent judges (:mod:`.adversaries_power`), and what is found of the
recorded judges as they are. Sets that are in OUT already, from the same settings, are not made again.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer

from metajudge.bulk.outcomes import Outcomes, outcomes_by
from metajudge.calibration.calibration import KnownDependence
from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold
from metajudge.evidence.class_answers import collect_class_answers
from metajudge.evidence.dependence import Dependence, dependence_of
from metajudge.evidence.facts import Facts, collected
from metajudge.evidence.local_dependence import Cells, PairTests, Sums
from metajudge.evidence.no_labels import NoLabels
from metajudge.readers import open_judgments
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.strategies import Panel, StrategyName
from metajudge.types import Judgment

from .adversaries_attacks import ATTACKS, Attack, right_of
from .adversaries_power import grid

PANELS: Final = {
    "judgebench": (
        "openrouter/inception/mercury",
        "openrouter/inception/mercury-coder",
        "openrouter/minimax/minimax-m2",
        "openrouter/minimax/minimax-m2.1",
        "openrouter/z-ai/glm-4.7",
    ),
    "mtbench": ("gpt-4o", "gpt-4o-mini", "gemini_flash", "gemini_pro", "llama-31"),
    "llmbar": ("GPT-4/Vanilla", "ChatGPT/Vanilla", "PaLM2/Vanilla", "LLaMA2/Vanilla", "Falcon/Vanilla"),
    "realmistake": tuple(
        f"{model}/baseline_errordetection_prompt_1"
        for model in (
            *("gpt-4-0613", "claude-3-opus-20240229", "gemini-1.0-pro-001", "Mixtral-8x7B-Instruct-v0.1"),
            "Qwen1.5-72B-Chat",
        )
    ),
    "themis_rewardbench2": (
        "NCSOFT/Llama-3-OffsetBias-8B",
        "Qwen/Qwen2.5-7B-Instruct",
        "R-I-S-E/RISE-Judge-Qwen2.5-7B",
        "Skywork/Skywork-Critic-Llama-3.1-8B",
        "ZiyiYe/Con-J-Qwen2-7B",
    ),
}
"""Five judges of each set, of five models or prompts."""

PHASE: Final = "P2a"
"""The series of RewardBench 2 that is taken."""
MOST_QUESTIONS: Final = 400
THRESHOLD: Final = 4.5
BEST: Final = 0.6
DELTA: Final = 0.1
POWER, LEVEL = 0.9, 0.05
MOST_AUDITED: Final = 5_000
RESAMPLES: Final = 1_000

PANEL: Final = Panel(agents=(), strategy=StrategyName.SIGNALS, threshold=THRESHOLD)
"""Vetting without agents."""


@dataclass(frozen=True, slots=True, eq=False)
class Vetted:
    """What vetting makes of an input.

    Attributes:
        score: [n] final scores, NaN without one.
        kept: [n].
        cut: the score that keeps.
        right: [n] 1, 0 or NaN by the label.
        question: [n] numbers, equal for inputs of the same items.
        dependence: of its judges.
    """

    score: Floats
    kept: Bools
    cut: float
    right: Floats
    question: Indices
    dependence: Dependence

    @property
    def known(self) -> Bools:
        return np.asarray(~np.isnan(self.right))

    def counting(self, rows: Bools) -> "Vetted":
        """The same with labels for some rows alone, which then are all that is counted."""
        return replace(self, right=np.where(rows, self.right, np.nan))


def vetted(facts: Facts, *, discount: bool = True, cut: float | None = None) -> Vetted:
    """Vets facts without agents, as ``metajudge vet`` does.

    Args:
        discount: whether copies count once; without it every judge has a vote of its own.
        cut: the score that keeps; None for the default threshold or, where it keeps nothing, the best of the input.
    """
    rules = facts.rules()
    dependence = dependence_of(facts, rules)
    recorded = facts.recorded
    if discount:
        recorded = replace(recorded, copies=dependence.copies)
    column = None
    if not recorded.pairs_only:
        column = NoLabels.of(recorded, [item.id for item in facts.items], rules).column(len(facts))
    found: Outcomes = outcomes_by(facts, recorded, lambda _: PANEL, rules, column)
    scores = [float("nan") if one.final_score is None else one.final_score for one in found.results]
    score = np.array(scores)[found.codes]
    if cut is None:
        above = bool((score > THRESHOLD).any())
        cut = THRESHOLD + 1e-9 if above else float(np.nanquantile(score, 1 - BEST))
    number: dict[str, int] = {}
    of_item = np.array([number.setdefault(one.question, len(number)) for one in facts.items], dtype=np.intp)
    return Vetted(
        score,
        np.asarray(score >= cut),
        cut,
        right_of(facts),
        of_item[facts.item],
        dependence,
    )


@dataclass(frozen=True, slots=True)
class Share:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Row:
    """One attack at one strength on one set; shares in [0, 1].

    Attributes:
        plain, usual: precision of what is kept without attack, and the share of labelled verdicts kept.
        precision, coverage: the same under attack.
        change: of the precision by the attack, paired by seed; ``undefended`` the same where copies have a vote each.
        broken: runs whose kept by a threshold set without attack are below the target; ``clean_broken`` on the same
            questions without attack; ``set_thresholds`` of the runs in which one passed.
        said: of these, runs that say that the promise is out of its domain, since judges are not independent, or it
            cannot be told; ``silent``: broken and not said.
        found: runs in which two adversaries are found as copies or followers; ``untold``: in which the run says that it
            cannot be told of two of them; ``innocent``: any other pair is found.
        counts_as: mean effective number of judges.
        audited: kept verdicts that people must check until they notice with 90 %; None: more than 5,000, or never.
    """

    set: str
    attack: str
    strength: float
    unit: str
    seeds: int
    questions: int
    plain: float
    usual: float
    precision: float
    coverage: float
    change: Share
    undefended: Share
    set_thresholds: int
    broken: float | None
    clean_broken: float | None
    said: float | None
    silent: float | None
    found: float
    untold: float
    innocent: float
    counts_as: float
    audited: int | None


def facts_of(data: Path, name: str) -> Facts:
    """The facts of a set's five judges on its questions, or on some drawn once."""
    judges = set(PANELS[name])

    def wanted(judgment: Judgment) -> bool:
        return judgment.judge in judges and judgment.meta.get("phase", PHASE) == PHASE

    facts = collected(one for one in open_judgments([data / name]).all() if wanted(one))
    questions = sorted({item.question for item in facts.items})
    if len(questions) <= MOST_QUESTIONS:
        return facts
    drawn = np.random.default_rng(0).choice(len(questions), MOST_QUESTIONS, replace=False)
    chosen = {questions[at] for at in drawn.tolist()}
    of_item = np.array([item.question in chosen for item in facts.items])
    return facts.select(np.flatnonzero(of_item[facts.item]))


def study(name: str, facts: Facts, seeds: int) -> Iterator[Row]:
    """Every attack on a set."""
    clean, order = vetted(facts), list(range(len(facts.judges)))
    thresholds = [_threshold(clean, seed) for seed in range(seeds)]
    has = {""} | ({"pairs"} if facts.recorded.pairs_only else set())
    if has > {""} and len(np.unique(facts.order)) > 1 and clean.cut > THRESHOLD:
        has |= {"both orders"}
    for attack in (one for one in ATTACKS if one.needs in has):
        for strength in attack.strengths:
            yield _row(name, facts, clean, thresholds, attack, strength, order)


def _row(
    name: str,
    facts: Facts,
    clean: Vetted,
    thresholds: Sequence[tuple[Bools, float | None]],
    attack: Attack,
    strength: float,
    order: list[int],
) -> Row:
    found: list[tuple[Vetted, Vetted, Vetted, tuple[bool, bool, bool]]] = []
    for seed in range(len(thresholds)):
        rng = np.random.default_rng([7, seed])
        roles = [*order[seed % len(order) :], *order[: seed % len(order)]]
        roles = [roles[0], *rng.permutation(roles[1:]).tolist()]
        attacked, adversaries = attack.run(facts, rng, roles, strength)
        mine = vetted(attacked, cut=clean.cut)
        caught = _caught(mine.dependence, attacked, adversaries)
        every = vetted(attacked, discount=False, cut=clean.cut)
        if attack.base is None:
            found.append((clean, mine, every, caught))
            continue
        honest = facts.select(np.flatnonzero(np.isin(facts.judge, roles[: attack.base])))
        rows = np.isin(attacked.judge, roles[: attack.base])
        found.append((vetted(honest, cut=clean.cut), mine.counting(rows), every.counting(rows), caught))
    runs = [
        _guarantee(one, mine, _target(clean), *threshold)
        for (one, mine, _, _), threshold in zip(found, thresholds, strict=True)
        if threshold[1] is not None
    ]
    precision, coverage = _pooled([one[1] for one in found])
    plain, usual = _pooled([one[0] for one in found])
    return Row(
        set=name,
        attack=attack.name,
        strength=strength,
        unit=attack.unit,
        seeds=len(found),
        questions=int(clean.question.max()) + 1,
        plain=plain,
        usual=usual,
        precision=precision,
        coverage=coverage,
        change=_change([one[0] for one in found], [one[1] for one in found]),
        undefended=_change([one[0] for one in found], [one[2] for one in found]),
        set_thresholds=len(runs),
        broken=_mean([run[0] for run in runs]),
        clean_broken=_mean([run[1] for run in runs]),
        said=_mean([run[2] for run in runs]),
        silent=_mean([run[0] and not run[2] for run in runs]),
        found=float(np.mean([one[3][0] for one in found])),
        untold=float(np.mean([one[3][1] for one in found])),
        innocent=float(np.mean([one[3][2] for one in found])),
        counts_as=float(np.mean([_counts_as(one[1].dependence) for one in found])),
        audited=until_noticed(plain, precision),
    )


def _mean(values: Sequence[bool]) -> float | None:
    return float(np.mean(values)) if values else None


def _counts_as(found: Dependence) -> float:
    return max((group.counts_as for group in found.groups), default=0.0)


def _caught(found: Dependence, facts: Facts, adversaries: Bools) -> tuple[bool, bool, bool]:
    """Whether two adversaries are found to belong together, or named as too much alike, and whether another pair is."""
    guilty = {facts.judges[at] for at in np.flatnonzero(adversaries).tolist()}
    pairs = found.found("copy") | found.found("follower")
    alike = found.found("cannot be told")
    hit, named = (any(set(pair) <= guilty for pair in one) for one in (pairs, alike))
    return hit, named, any(not set(pair) <= guilty for pair in pairs)


def _pooled(every: Sequence[Vetted]) -> tuple[float, float]:
    """Precision of the kept and the share kept, of all labelled verdicts together."""
    kept = sum(int((one.kept & one.known).sum()) for one in every)
    right = sum(float(np.nansum(one.right[one.kept])) for one in every)
    total = sum(int(one.known.sum()) for one in every)
    return (right / kept if kept else float("nan")), kept / total


def _change(clean: Sequence[Vetted], attacked: Sequence[Vetted]) -> Share:
    """Precision under attack minus that without, all seeds together; questions resampled."""
    size = int(max(one.question.max() for one in (*clean, *attacked))) + 1
    sums = np.zeros((4, size))
    for at, every in ((0, clean), (2, attacked)):
        for one in every:
            rows = one.kept & one.known
            sums[at] += np.bincount(one.question[rows], one.right[rows], size)
            sums[at + 1] += np.bincount(one.question[rows], minlength=size)

    draws = np.random.default_rng(1).multinomial(size, np.full(size, 1 / size), RESAMPLES)
    right, kept, hit, taken = (np.vstack([np.ones(size), draws]) @ sums.T).T
    values = hit / np.maximum(taken, 1) - right / np.maximum(kept, 1)
    low, high = np.quantile(values[1:], [0.025, 0.975]).tolist()
    return Share(float(values[0]), low, high)


def _target(clean: Vetted) -> float:
    """Five points below the precision of what is kept without attack, and a multiple of five."""
    return float(np.floor((_pooled([clean])[0] - 0.05) * 20 + 1e-9) / 20)


def _threshold(clean: Vetted, seed: int) -> tuple[Bools, float | None]:
    """Questions that a threshold is set on, and the threshold; None where none passes."""
    size = int(clean.question.max()) + 1
    part = np.random.default_rng([11, seed]).random(size) < 0.5
    rows = part[clean.question] & clean.known & ~np.isnan(clean.score)
    questions = [f"q{number}" for number in clean.question[rows].tolist()]
    found = guaranteed_threshold(
        clean.score[rows], clean.right[rows] == 1, questions, target=_target(clean), delta=DELTA, procedure="ranks"
    )
    return part, found.threshold if isinstance(found, Guarantee) else None


def _guarantee(
    clean: Vetted, attacked: Vetted, target: float, part: Bools, threshold: float | None
) -> tuple[bool, bool, bool]:
    """Whether the promise is broken under attack, without, and whether the run says that judges are dependent."""
    said = KnownDependence.of(clean.dependence).is_exceeded_by(attacked.dependence)

    def broken(one: Vetted) -> bool:
        rows = ~part[one.question] & one.known & (one.score >= (threshold or 0.0))
        return bool(rows.any()) and float(one.right[rows].mean()) < target

    return broken(attacked), broken(clean), said


def until_noticed(plain: float, attacked: float) -> int | None:
    """Audited verdicts until a one-sided binomial test at 5 % finds a lower precision with a probability of 90 %.

    Args:
        plain: the precision without attack, which is tested.
        attacked: the true one.

    Returns:
        The smallest number; None where it is above 5,000 or the precision is no lower.
    """
    from scipy.stats import binom

    if not attacked < plain:
        return None
    sizes = np.arange(1, MOST_AUDITED + 1)
    critical = binom.ppf(LEVEL, sizes, plain)
    critical = np.where(binom.cdf(critical, sizes, plain) > LEVEL, critical - 1, critical)
    enough = binom.cdf(critical, sizes, attacked) >= POWER
    return int(sizes[enough][0]) if enough.any() else None


def as_recorded(data: Path, name: str) -> Iterator[dict[str, Any]]:
    """What is found of all recorded judges as they are; of ReaLMistake by prompt, of RewardBench 2 in one series.

    ``follows`` has the least, 5 %, median, 95 % and largest share in which two judges follow each other, of pairs that
    could be tested and are of two models by the record's own word.
    """
    judgments = [one for one in open_judgments([data / name]).all() if one.meta.get("phase", PHASE) == PHASE]
    prompts = sorted({str(one.meta.get("judge_prompt")) for one in judgments}) if name == "realmistake" else [""]
    for prompt in prompts:
        facts = collected(one for one in judgments if not prompt or one.meta.get("judge_prompt") == prompt)
        found = dependence_of(facts, facts.rules())
        pairs = [pair for group in found.groups for pair in group.found]
        follows = _follows(facts)
        yield {
            "set": f"{name} {prompt}".strip(),
            "judges": sum(len(group.judges) for group in found.groups),
            "questions": max(group.questions for group in found.groups),
            "tested": sum(group.tested for group in found.groups),
            "follows": np.quantile(follows, [0, 0.05, 0.5, 0.95, 1]).tolist(),
            "pairs": len(follows),
            "found": [asdict(pair) for pair in pairs if not pair.declared],
            "declared": sum(pair.declared for pair in pairs),
        }


def _follows(facts: Facts) -> Floats:
    """What the tested pairs of two models follow each other."""
    number: dict[str, int] = {}
    question = np.array([number.setdefault(one.question, len(number)) for one in facts.items], dtype=np.int64)
    recorded, kept = facts.recorded, list[float]()
    for answers in collect_class_answers(recorded, [item.id for item in facts.items], facts.rules()):
        tests = PairTests.of(Sums.of(Cells.read(answers, recorded, question, facts.words.astype(np.int64))))
        models = [recorded.models.get(judge, judge) for judge in answers.judges]
        for one, other in zip(*np.nonzero(np.triu(~np.isnan(tests.expected), 1)), strict=True):
            if models[one] != models[other]:
                kept.append(float(tests.follows[one, other]))
    return np.array(kept)


def main(
    data: Annotated[Path, typer.Option(help="Folder with the recorded sets.", exists=True, file_okay=False)],
    out: Annotated[Path | None, typer.Option("--json", help="Write every figure; sets in it are kept.")] = None,
    seeds: Annotated[int, typer.Option(help="Runs of each attack.", min=1)] = 5,
    trials: Annotated[int, typer.Option(help="Made inputs of each cell of the power table; 0: none.", min=0)] = 200,
    only: Annotated[str | None, typer.Option(help=f"One set alone: {', '.join(PANELS)}.")] = None,
) -> None:
    """Measures what dishonest judges do to vetting, and what finds them."""
    if only is not None and only not in PANELS:
        raise typer.BadParameter(f"there is no set {only!r}: choose one of {', '.join(PANELS)}", param_hint="--only")
    names = [name for name in PANELS if only in (None, name) and (data / name).is_dir()]
    if not names:
        raise typer.BadParameter(f"{data} has none of the folders {', '.join(PANELS)}", param_hint="--data")
    settings = {"seeds": seeds, "most_questions": MOST_QUESTIONS, "delta": DELTA}
    done = _known(out, settings)
    for name in names:
        if name not in done["sets"]:
            facts = facts_of(data, name)
            done["sets"][name] = {
                "recorded": list(as_recorded(data, name)),
                "rows": [asdict(row) for row in study(name, facts, seeds)],
            }
            _keep(out, done)
        for row in done["sets"][name]["rows"]:
            typer.echo(_line(row))
    if trials and done.get("trials") != trials:
        done["power"], done["trials"] = [asdict(one) for one in grid(trials, 0)], trials
        _keep(out, done)


def _known(out: Path | None, settings: dict[str, Any]) -> dict[str, Any]:
    if out is not None and out.exists():
        found: dict[str, Any] = json.loads(out.read_text())
        if found.get("settings") == settings:
            return found
    return {"settings": settings, "sets": {}}


def _keep(out: Path | None, done: dict[str, Any]) -> None:
    if out is not None:
        out.write_text(json.dumps(done, indent=1) + "\n")


def _line(row: dict[str, Any]) -> str:
    change, plain = row["change"], row["undefended"]
    return (
        f"{row['set']:20} {row['attack']:26} {row['strength']:5g}  kept {100 * row['precision']:5.1f} "
        f"({100 * row['coverage']:3.0f} %)  change {100 * change['value']:+5.1f} ({100 * change['low']:+.1f} to "
        f"{100 * change['high']:+.1f})  without discount {100 * plain['value']:+5.1f}  found {row['found']:.1f} untold "
        f"{row['untold']:.1f}  "
        f"counts as {row['counts_as']:.1f}  broken {row['broken']}  silent {row['silent']}  audited {row['audited']}"
    )


if __name__ == "__main__":
    typer.run(main)
