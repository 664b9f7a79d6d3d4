"""signals: a score from free evidence alone, without a model and without calibration."""

from dataclasses import dataclass

from metajudge.errors import FailureKind
from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.score import signal_score
from metajudge.scoring import exceeds
from metajudge.strategies.outcome import Outcome
from metajudge.strategies.panel import Panel
from metajudge.types import Failure, Judgment, Status


@dataclass(frozen=True, slots=True)
class SignalEvidence:
    """Weighs a judgment by its signals among all judgments of an input; the score is an uncalibrated heuristic."""

    index: EvidenceIndex

    def outcome(self, panel: Panel, judgment: Judgment) -> Outcome:
        """Assessed by :func:`~metajudge.evidence.score.signal_score`; unscored where every signal is absent."""
        signals = self.index.signals(judgment)
        score = signal_score(signals)
        if score.value is None:
            failure = Failure(kind=FailureKind.NO_EVIDENCE, message=score.reason)
            return Outcome(Status.UNSCORED, failure=failure, signals=signals)
        return Outcome(
            Status.ASSESSED,
            final_score=round(score.value, 9),
            accepted=bool(exceeds(score.value, panel.threshold)),
            signals=signals,
        )
