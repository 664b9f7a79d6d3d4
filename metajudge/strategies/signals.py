"""signals: a score from free evidence alone, without a model and without calibration."""

from dataclasses import dataclass

from metajudge.errors import FailureKind
from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.no_labels import NoLabels, score_of
from metajudge.evidence.score import cannot_decide, signal_score
from metajudge.evidence.words import missing_evidence
from metajudge.scoring import exceeds
from metajudge.strategies.outcome import Outcome
from metajudge.strategies.panel import Panel
from metajudge.types import NO_LABELS, AnyVerdict, Failure, Judgment, Pairwise, SignalValue, Status


@dataclass(frozen=True, slots=True)
class SignalEvidence:
    """Weighs a judgment by its signals among all judgments of an input; the score is an uncalibrated heuristic.

    Attributes:
        index: all judgments of the input.
        no_labels: what agreement alone says about the input as a whole; None to leave it out.
    """

    index: EvidenceIndex
    no_labels: NoLabels | None = None

    def outcome(self, panel: Panel, judgment: Judgment) -> Outcome:
        """Assessed by the evidence; unscored, and never discarded, where it decides nothing.

        Pairs are scored by :func:`~metajudge.evidence.score.signal_score`, and so are other verdicts in an input too
        small for P(right) without labels. Where there is that probability, rankings, grades and categories are scored
        by it: it orders them better, and plain agreement keeps too much where the judges share a preference for one
        grade.
        """
        signals = self.index.signals(judgment)
        found = None if self.no_labels is None else self.no_labels.signal(judgment)
        if found is not None:
            signals[NO_LABELS] = found
        return weighed(panel, judgment.verdict, signals, self.index.peers(judgment).most)


def weighed(panel: Panel, verdict: AnyVerdict | None, signals: dict[str, SignalValue], most_support: float) -> Outcome:
    """The outcome of a judgment with these signals; see :meth:`SignalEvidence.outcome`.

    Args:
        verdict: the judgment's.
        most_support: see :attr:`~metajudge.evidence.peers.PeerSupport.most`.
    """
    score = signal_score(signals).value
    found = signals.get(NO_LABELS)
    if found is not None and found.value is not None and not isinstance(verdict, Pairwise):
        return _assessed(score_of(found.value), panel, signals)
    if score is None or _is_open(signals, score, panel.threshold, most_support):
        failure = Failure(kind=FailureKind.NO_EVIDENCE, message=missing_evidence(verdict, signals))
        return Outcome(Status.UNSCORED, failure=failure, signals=signals)
    return _assessed(score, panel, signals)


def _is_open(signals: dict[str, SignalValue], score: float, threshold: float, most_support: float) -> bool:
    return not exceeds(score, threshold) and cannot_decide(signals, score, threshold, most_support)


def _assessed(score: float, panel: Panel, signals: dict[str, SignalValue]) -> Outcome:
    accepted = bool(exceeds(score, panel.threshold))
    return Outcome(Status.ASSESSED, final_score=round(score, 9), accepted=accepted, signals=signals)
