"""signals: a decision from free evidence alone, without a model and without calibration."""

from metajudge.errors import FailureKind
from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.score import BALANCED, reachable_score, signal_score
from metajudge.evidence.words import missing_evidence
from metajudge.strategies.outcome import Outcome
from metajudge.strategies.panel import Panel
from metajudge.strategies.rule import SAME_IN_BOTH_ORDERS, Rule, own_rule
from metajudge.types import AnyVerdict, Failure, Pairwise, SignalValue, Status


def weighed(panel: Panel, verdict: AnyVerdict | None, signals: dict[str, SignalValue], peers: PeerSupport) -> Outcome:
    """The outcome of a judgment with these signals: unscored, and never discarded, where they decide nothing.

    Pairs are scored by :func:`~metajudge.evidence.score.signal_score`. Of rankings, grades and categories the share of
    peers that agree decides (:attr:`~metajudge.evidence.peers.PeerSupport.share`), and the score is ``1 + 4 share``.
    Of a judge without peers a verdict that stays the same in both orders is kept by agreement, and nothing is
    discarded: what the judge's own word cannot decide, people are to decide.
    """
    pairwise = isinstance(verdict, Pairwise)
    if peers.value is None and not panel.threshold_typed:
        return _alone(verdict, signals)
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


def _alone(verdict: AnyVerdict | None, signals: dict[str, SignalValue]) -> Outcome:
    """The outcome of a verdict that no peer has compared."""
    score = signal_score(signals) if isinstance(verdict, Pairwise) else None
    if signals["order"].state == "agree" and not (signals["rationale"].value or 0) < 0:
        return Outcome(Status.ASSESSED, final_score=score, accepted=True, signals=signals, rule=SAME_IN_BOTH_ORDERS)
    failure = Failure(kind=FailureKind.NO_EVIDENCE, message=missing_evidence(verdict, signals))
    return Outcome(Status.UNSCORED, failure=failure, signals=signals)


def on_scale(share: float) -> float:
    """A share in [0, 1] on the scale from 1 to 5."""
    return 1 + 4 * share


def _keeps(rule: Rule, score: float) -> bool:
    return bool(rule.keeps(score if rule.by == "score" else (score - 1) / 4))
