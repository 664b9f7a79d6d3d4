"""Probabilities of a run's judgments, fitted out of fold or by a calibration file, and what is kept by them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.calibration import Calibration
from metajudge.calibration.domain import MEANINGS, outside_domain
from metajudge.calibration.files import load_calibration, read_agent_scores
from metajudge.calibration.fit import out_of_fold
from metajudge.calibration.folds import question_split
from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold
from metajudge.calibration.promise import Promise
from metajudge.calibration.quality import precision_at
from metajudge.calibration.sources import DEFAULT_SIGNALS
from metajudge.calibration.table import SignalTable, table_of
from metajudge.errors import InputError
from metajudge.evidence.verdicts import Verdicts
from metajudge.reading.rewards import find_reward_scores, read_reward_scores
from metajudge.stats.arrays import Bools
from metajudge.types import VERDICT_KINDS, Right, VerdictKind, text_digest

from .findings import Origin, Threshold
from .observations import Observations
from .precision import COVERAGES, Probabilities, Score, Selection, keep_shares

if TYPE_CHECKING:
    from .bench import Bench
    from .grid_run import RowResult


TARGETS = (0.85, 0.9)
"""Precisions that the rows of guaranteed thresholds ask for."""

DELTA = 0.1
SPLIT_SEED = 0
OTHER_HALF = (
    "Rows that aim at a precision apply, to each half of the questions, the threshold that the other half's labels "
    f"guarantee (delta {DELTA:g}, one judgment drawn per question); the probabilities were fitted on both halves, out "
    "of fold, so the guarantee is approximate"
)


@dataclass(frozen=True, slots=True)
class OutOfFold(Probabilities):
    """Probabilities by judgment, means over the seeds, none of which saw a label of its own question.

    Attributes:
        runs: for every seed, judgment id -> probability.
        signals: kind of verdict -> the signals used.
        refused: kind of verdict -> why nothing was fitted.
    """

    runs: Sequence[Mapping[str, float]]
    signals: Mapping[str, tuple[str, ...]]
    refused: Mapping[str, str]

    @property
    def provenance(self) -> dict[str, str]:
        """How the probabilities were made, for the report's end."""
        used = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in self.signals.items())
        if not used:
            return {}
        seeds = "seed 0" if len(self.runs) == 1 else f"mean over seeds 0 to {len(self.runs) - 1}"
        return {
            "out of fold": f"five folds by question, model chosen within the other folds, {seeds}; signals of {used}"
        }

    @property
    def meaning(self) -> tuple[str, ...]:
        """Caveats that hold for the rows of every judge, without the full stop."""
        refused = [f"nothing is fitted for verdicts of kind {kind}: {why}" for kind, why in self.refused.items()]
        return (*refused, OTHER_HALF) if self.probabilities else tuple(refused)

    def selections(self, observations: Observations, score: Score, *, full: bool = True) -> list[Selection]:
        """The rows at given coverage and, where ``full``, those that aim at a precision; none without a score."""
        if not score.present.all():
            return []
        aimed = [_aimed(observations, score, target) for target in TARGETS if full]
        return [*keep_shares(score, "calibrated"), *(row for row in aimed if row is not None)]

    def notes(self, observations: Observations) -> tuple[str, ...]:
        """How much the figures vary with the seed."""
        names = [name for name in observations.ids if name in self.probabilities]
        if not names or len(self.runs) < 2:
            return ()
        correct = observations.correct[[name in self.probabilities for name in observations.ids]]
        cells = []
        for share in COVERAGES:
            found = [100 * precision_at(np.array([run[name] for name in names]), correct, share) for run in self.runs]
            cells.append(f"best {100 * share:.0f} % {np.mean(found):.1f} (sd {np.std(found, ddof=1):.2f})")
        each = f"Each of the {len(self.runs)} seeds by itself, mean precision in % and standard deviation"
        return (f"{each}: {', '.join(cells)}.",)


def _aimed(observations: Observations, score: Score, target: float) -> Selection | None:
    """Each half of the questions against the threshold that the other half's labels guarantee."""
    if len(set(observations.of("question"))) < 2:
        return None
    values = score.array
    half = question_split(observations.of("question"), 0.5, SPLIT_SEED)
    kept: Bools = np.zeros(len(values), dtype=bool)
    for part in (0, 1):
        other = half != part
        found = guaranteed_threshold(
            values[other],
            observations.correct[other],
            observations.questions[other].tolist(),
            target=target,
            delta=DELTA,
            approximate=True,
        )
        if isinstance(found, Guarantee):
            kept |= ~other & (np.round(values, 9) >= round(found.threshold, 9))
    origin = Threshold(value=None, origin="guaranteed, set on the other half of the questions")
    return Selection(f"aims at {100 * target:.0f} % precision", "calibrated", kept, score.present, origin)


def fit_out_of_fold(bench: "Bench", seeds: int, results: "Sequence[RowResult]" = ()) -> OutOfFold:
    """Fits a calibration to the labels of the judgments reported, every kind of verdict by itself.

    Args:
        results: configurations that ran; the scores of those that a grid marks as ``calibrated`` are signals, too.
        seeds: divisions into folds; the probabilities are their means.
    """
    # One configuration a judge is to be calibrated, so each judgment has one assessment.
    scores = scores_of(one for one in results if one.row.configuration and one.row.configuration.calibrated)
    runs: list[dict[str, float]] = [{} for _ in range(seeds)]
    signals: dict[str, tuple[str, ...]] = {}
    refused: dict[str, str] = {}
    for kind in bench.observations.kinds:
        try:
            table = _table(bench, kind, scores)
            values = [out_of_fold(table, seed=seed) for seed in range(seeds)]
        except InputError as error:
            refused[kind] = str(error)
            continue
        signals[kind] = table.signals
        for run, probabilities in zip(runs, values, strict=True):
            run.update(zip(table.judgment_ids, (float(value) for value in probabilities), strict=True))
    means = {name: float(np.mean([run[name] for run in runs])) for name in (runs[0] if runs else {})}
    return OutOfFold("calibrated out of fold", means, runs, signals, refused)


def table_for(
    bench: "Bench",
    facts: Verdicts,
    wanted: Collection[str],
    scores: AgentScores | None,
    *,
    signals: Sequence[str] | None,
    kind: VerdictKind,
    right: Right,
) -> SignalTable:
    """The signals of wanted judgments, with the scores of reward models where a file of them is beside the data."""
    path = find_reward_scores(bench.folder) if signals is None or "rewards" in signals else None
    return table_of(
        facts,
        signals,
        kind=kind,
        right=right,
        report=np.array([name in wanted for name in facts.judgment_ids], dtype=bool),
        rewards=None if path is None else read_reward_scores(path),
        agent_scores=scores if signals is not None and "agents" in signals else None,
    )


def scores_of(results: "Iterable[RowResult]") -> AgentScores | None:
    """The scores of the agents of configurations; None without any."""
    assessments = [assessment for one in results for assessment in one.assessments.values()]
    return AgentScores.from_assessments(assessments) if assessments else None


def _table(bench: "Bench", kind: VerdictKind, scores: AgentScores | None) -> SignalTable:
    signals = bench.request.signals
    if scores is not None and signals is None:
        signals = (*DEFAULT_SIGNALS[kind], "agents")
    every, wanted = bench.records.facts, set(bench.observations.only(bench.observations.judges, kind).ids)
    facts = every.select(np.flatnonzero((every.kind < 0) | (every.kind == VERDICT_KINDS.index(kind))))
    table = table_for(bench, facts, wanted, scores, signals=signals, kind=kind, right=bench.rules[kind])
    rows = table.select(table.labelled).sorted()
    return rows.without_absent()[0] if bench.request.signals is None else rows  # the judges asked for may lack some


@dataclass(frozen=True, slots=True)
class Calibrated(Probabilities):
    """Probabilities by judgment; judgments that the calibration cannot speak about have none."""

    calibration: Calibration
    digest: str

    @property
    def provenance(self) -> dict[str, str]:
        """Which calibration, for the report's end."""
        identity, made_from = self.calibration.identity, self.calibration.provenance
        return {
            "calibration": f"digest {self.digest}, signals {', '.join(identity.signals)}, fitted on {made_from.n} "
            f"judgments of {len(made_from.questions)} questions by {', '.join(identity.judges)}"
        }

    def promise_of(self, name: str, judge: str, category: str) -> Promise | None:
        """The promise that covers a judgment; None without one, and outside the calibration's domain."""
        return self.calibration.promise_for(judge, self.marks.get(name, ()), category)

    def selections(self, observations: Observations, score: Score, *, full: bool = True) -> list[Selection]:
        """The rows at given coverage, and the guaranteed one where a guarantee is stored; none without a score."""
        if not score.present.any():
            return []
        guaranteed = self._guaranteed(observations, score)
        return [*keep_shares(score, "calibrated"), *([] if guaranteed is None else [guaranteed])]

    def notes(self, observations: Observations) -> tuple[str, ...]:
        """How far the probabilities can be trusted, and what a guarantee means."""
        counts = Counter(mark for name in observations.ids for mark in self.marks.get(name, ()))
        notes = [
            f"{count} of {len(observations)} judgments {MEANINGS[mark]}." for mark, count in sorted(counts.items())
        ]
        without = sum(name not in self.probabilities for name in observations.ids)
        if without:
            notes.append(f"{without} of {len(observations)} judgments have no calibrated probability.")
        if without == len(observations):
            return tuple(notes)
        if any(self.calibration.promise_for(judge, ()) is not None for judge in observations.judges):
            outside = sum(bool(outside_domain(self.marks.get(name, ()))) for name in observations.ids)
            covered = f"No guarantee covers {outside} of {len(observations)} judgments, which lie outside its domain."
            promises = zip(self.calibration.promises, self.calibration.meanings, strict=True)
            judges = set(observations.judges)
            notes += [covered] * (outside > 0)
            notes += [meaning for promise, meaning in promises if judges & set(promise.decides)]
        return tuple(notes)

    def _guaranteed(self, observations: Observations, score: Score) -> Selection | None:
        """The judgments that a guarantee covers, against its threshold; None where it covers none."""
        about = zip(observations.ids, observations.of("judge"), observations.of("category"), strict=True)
        promises = [self.promise_of(*one) for one in about]
        known = set(filter(None, promises))
        if not known:
            return None
        both = zip(promises, score.values, strict=True)
        kept = [value is not None and promise is not None and promise.stamp().keeps(value) for promise, value in both]
        values, rough = {one.threshold for one in known}, any(one.approximate for one in known)
        origin: Origin = "guaranteed, approximate" if rough else "guaranteed, set on labels of its own"
        return Selection(
            name=", ".join(sorted({one.label for one in known})),
            kind="calibrated",
            kept=np.array(kept, dtype=bool),
            scored=score.present & np.array([one is not None for one in promises], dtype=bool),
            threshold=Threshold(value=values.pop() if len(values) == 1 else None, origin=origin),
        )


def load_calibrated(
    path: Path,
    bench: "Bench",
    results: "Sequence[RowResult]" = (),
    agent_scores: Path | None = None,
    allow_other_identity: bool = False,
) -> Calibrated:
    """Applies a calibration file to the judgments reported.

    Where judges were asked for by name, the calibration must be for all of them; else the judges it does not know are
    left without a probability, as long as it knows any; with ``allow_other_identity`` all have one, marked.

    Args:
        path: as ``metajudge calibrate fit`` writes it.
        results: configurations run just now, for calibrations that read agents' scores.
        allow_other_identity: whether judges, agents, rubrics or prompts may differ from the fit's.

    Raises:
        InputError: no calibration, one for something else, or a signal that the data lack.
    """
    calibration = load_calibration(path)
    seen = bench.observations
    wanted = set(seen.ids)
    known = set(calibration.identity.judges)
    chosen = bench.request.judges is not None or allow_other_identity
    if not chosen and known & set(seen.judges):
        wanted = {name for name, judge in zip(seen.ids, seen.of("judge"), strict=True) if judge in known}
    signals = bench.request.signals or calibration.identity.signals
    scores = None
    if "agents" in signals:
        scores = scores_of(results) if agent_scores is None else read_agent_scores(agent_scores)
    table = table_for(
        bench, bench.records.facts, wanted, scores, signals=signals, kind=calibration.kind, right=calibration.right
    )
    found = calibration.probabilities(table, allow_other_identity)
    present = ~np.ma.getmaskarray(found.probabilities)
    values = np.ma.getdata(found.probabilities)
    return Calibrated(
        "calibrated probability",
        calibration=calibration,
        digest=text_digest(path.read_text("utf-8")),
        probabilities={name: float(values[row]) for row, name in enumerate(table.judgment_ids) if present[row]},
        marks=dict(zip(table.judgment_ids, found.marks, strict=True)),
    )
