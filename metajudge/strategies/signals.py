"""signals: a decision from free evidence alone, without a model and without calibration."""

from metajudge.errors import FailureKind
from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.score import BALANCED, reachable_score, signal_score
from metajudge.evidence.words import missing_evidence
from metajudge.strategies.outcome import Outcome
from metajudge.strategies.panel import Panel
from metajudge.strategies.rule import Rule, own_rule
from metajudge.types import AnyVerdict, Failure, Pairwise, SignalValue, Status


def weighed(panel: Panel, verdict: AnyVerdict | None, signals: dict[str, SignalValue], peers: PeerSupport) -> Outcome:
    """The outcome of a judgment with these signals: unscored, and never discarded, where they decide nothing.

    Pairs are scored by :func:`~metajudge.evidence.score.signal_score`. Of rankings, grades and categories the share of
    peers that agree decides (:attr:`~metajudge.evidence.peers.PeerSupport.share`), and the score is ``1 + 4 share``.
    """
    pairwise = isinstance(verdict, Pairwise)
    rule = own_rule(panel.threshold, typed=panel.threshold_typed, by_agreement=not pairwise)
    score = signal_score(signals) if pairwise else None if peers.share is None else on_scale(peers.share)
    best = reachable_score(signals, peers.most) if pairwise else on_scale((peers.peers + 1) / (peers.peers + 2))
    kept = score is not None and _keeps(rule, score)
    # To discard what does not weigh against the verdict, and could not have kept it, would be no better founded.
    is_open = score is None or best is None or (round(score - BALANCED, 9) >= 0 and not _keeps(rule, best))
    if not kept and is_open:
        failure = Failure(kind=FailureKind.NO_EVIDENCE, message=missing_evidence(verdict, signals))
        return Outcome(Status.UNSCORED, failure=failure, signals=signals)
    assert score is not None
    return Outcome(Status.ASSESSED, final_score=round(score, 9), accepted=kept, signals=signals, rule=rule)


def on_scale(share: float) -> float:
    """A share in [0, 1] on the scale from 1 to 5."""
    return 1 + 4 * share


def _keeps(rule: Rule, score: float) -> bool:
    return bool(rule.keeps(score if rule.by == "score" else (score - 1) / 4))
