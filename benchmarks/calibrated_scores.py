"""A calibration's probabilities for the judgments of a benchmark, and what is kept by them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from metajudge.calibration.calibration import Calibration
from metajudge.calibration.domain import MEANINGS, Mark, outside_domain
from metajudge.calibration.promise import Promise

from .findings import Threshold
from .observations import Observations
from .selections import COVERAGES, Score, Selection, keep_share

SCORE_NAME = "calibrated probability"


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Probabilities by judgment.

    Attributes:
        probabilities: judgment id -> P(correct); judgments the calibration cannot speak about are not in it.
        marks: judgment id -> what is to be known about its probability.
    """

    calibration: Calibration
    digest: str
    probabilities: Mapping[str, float]
    marks: Mapping[str, tuple[Mark, ...]]

    @property
    def provenance(self) -> dict[str, str]:
        """Which calibration, for the report's end."""
        identity, made_from = self.calibration.identity, self.calibration.provenance
        return {
            "calibration": f"digest {self.digest}, signals {', '.join(identity.signals)}, fitted on {made_from.n} "
            f"judgments of {len(made_from.questions)} questions by {', '.join(identity.judges)}"
        }

    def score(self, observations: Observations) -> Score:
        """[n] probabilities of some observations; None if missing."""
        values = [self.probabilities.get(name) for name in observations.ids]
        return Score(SCORE_NAME, values, probability=True)

    def promise_of(self, name: str, judge: str, category: str) -> Promise | None:
        """The promise that covers a judgment; None without one, and outside the calibration's domain."""
        return self.calibration.promise_for(judge, self.marks.get(name, ()), category)

    @property
    def meaning(self) -> tuple[str, ...]:
        """Caveats that hold for the rows of every judge."""
        return ()

    def selections(self, observations: Observations, score: Score, *, full: bool = True) -> list[Selection]:
        """The rows at given coverage, and the guaranteed one where a guarantee is stored; none without a score."""
        if not score.present.any():
            return []
        shares = [keep_share(score, share, "calibrated") for share in COVERAGES]
        guaranteed = self._guaranteed(observations, score)
        return [row for row in (*shares, guaranteed) if row is not None]

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
