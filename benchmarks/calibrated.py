"""A calibration file applied to the judgments of a benchmark, and what is kept by its probabilities."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.calibration import Calibration
from metajudge.calibration.domain import MEANINGS, outside_domain
from metajudge.calibration.files import load_calibration, read_agent_scores
from metajudge.calibration.promise import Promise
from metajudge.calibration.table import table_of
from metajudge.readers.rewards import find_reward_scores, read_reward_scores
from metajudge.types import text_digest

from .findings import Threshold
from .observations import Observations
from .selections import Probabilities, Score, Selection, keep_shares

if TYPE_CHECKING:
    from .bench import Bench
    from .grid_run import RowResult

SCORE_NAME = "calibrated probability"


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
        promised = [self.calibration.promise_for(judge, ()) is not None for judge in observations.judges]
        if any(promised):
            outside = sum(bool(outside_domain(self.marks.get(name, ()))) for name in observations.ids)
            notes += [
                f"No guarantee covers {outside} of {len(observations)} judgments, which lie outside its domain."
            ] * (outside > 0)
            notes += self._meanings(observations)
        return tuple(notes)

    def _meanings(self, observations: Observations) -> list[str]:
        """The guarantees that cover some of these judges, in words."""
        judges = set(observations.judges)
        promises = zip(self.calibration.promises, self.calibration.meanings, strict=True)
        return [meaning for promise, meaning in promises if judges & set(promise.decides)]

    def _guaranteed(self, observations: Observations, score: Score) -> Selection | None:
        """The judgments that a guarantee covers, against its threshold; None where it covers none."""
        about = zip(observations.ids, observations.of("judge"), observations.of("category"), strict=True)
        promises = [self.promise_of(*one) for one in about]
        known = set(filter(None, promises))
        if not known:
            return None
        kept = [
            value is not None and promise is not None and promise.stamp().keeps(value)
            for promise, value in zip(promises, score.values, strict=True)
        ]
        values = {one.threshold for one in known}
        return Selection(
            name=", ".join(sorted({one.label for one in known})),
            kind="calibrated",
            kept=np.array(kept, dtype=bool),
            scored=score.present & np.array([one is not None for one in promises], dtype=bool),
            threshold=Threshold(
                value=values.pop() if len(values) == 1 else None,
                origin="guaranteed, approximate"
                if any(one.approximate for one in known)
                else "guaranteed, set on labels of its own",
            ),
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
    rewards = find_reward_scores(bench.folder)
    facts = bench.records.facts
    table = table_of(
        facts,
        signals,
        kind=calibration.kind,
        right=calibration.right,
        report=np.array([name in wanted for name in facts.judgment_ids], dtype=bool),
        rewards=read_reward_scores(rewards) if rewards is not None and "rewards" in signals else None,
        agent_scores=_agent_scores(results, agent_scores) if "agents" in signals else None,
    )
    found = calibration.probabilities(table, allow_other_identity)
    present = ~np.ma.getmaskarray(found.probabilities)
    values = np.ma.getdata(found.probabilities)
    return Calibrated(
        SCORE_NAME,
        calibration=calibration,
        digest=text_digest(path.read_text("utf-8")),
        probabilities={name: float(values[row]) for row, name in enumerate(table.judgment_ids) if present[row]},
        marks=dict(zip(table.judgment_ids, found.marks, strict=True)),
    )


def _agent_scores(results: "Sequence[RowResult]", path: Path | None) -> AgentScores | None:
    if path is not None:
        return read_agent_scores(path)
    assessments = [assessment for result in results for assessment in result.assessments.values()]
    return AgentScores.from_assessments(assessments) if assessments else None
