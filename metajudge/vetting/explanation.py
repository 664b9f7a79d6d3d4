"""Why a run kept nothing, or gave no score: one sentence a reason, and the command that helps.

What explains an outcome is counted while results come (:class:`Gathered`), in bounded memory; :func:`explain` is pure.
Commands stand in terms of ``INPUT`` and ``AGENTS``, which the command line fills in.
"""

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from metajudge.errors import FailureKind
from metajudge.evidence.score import reachable_score
from metajudge.strategies.rule import rule_of
from metajudge.types import AgentResult, Assessment, SignalValue, Status

MOST_MESSAGES: Final = 1_000
"""Different failures remembered; later ones are counted by kind."""

SUPPORT: Final = 3.0
"""Of rejudge, on the scale 1 to 5: above it the agents support the judgment."""

ADD_AGENTS: Final = "metajudge vet INPUT --agent openai:gpt-4o-mini"
LONGEST_CAUSE: Final = 160
_ATTEMPTS: Final = re.compile(r" \(gave up after [^()]{1,80}\)\.?$")
"""How often and how long a call was tried, which differs between failures of one cause."""
_OF_STORE: Final = ("vet", "show", "review next")
"""Commands that use the store of the run."""
_VOTING: Final = ("majority_vote", "panel_discussion")


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for an outcome.

    Attributes:
        code: a stable name: ``agents_failed``, ``no_verdicts``, ``refused``, ``nothing_to_compare``,
            ``out_of_reach``, ``undecided``, ``rejudge_support``, ``vote_under_score_policy``, ``below_guarantee``,
            ``below_cut``, ``below_share`` or ``below_threshold``.
        next: a command that helps, with ``INPUT`` and ``AGENTS`` to fill in; None if there is none.
    """

    code: str
    text: str
    next: str | None = None


@dataclass(slots=True)
class Gathered:
    """Counts that explain an outcome.

    Attributes:
        needed, promised: the lowest cut in P; whether it is a promise's.
        share: the cut in shares of peers that agree.
        alone: judgments discarded of which nothing but the judge's own word was known.
        missing, nothing: judgments that free evidence left unscored, by the evidence that is missing; ``nothing``
            counts those without any.
        peers, both_orders: pairs by free evidence with other judges' verdicts, and with the other order.
        reachable: the highest score that the free evidence there was could have given.
        pairs_kept: judgments kept that prefer one of two responses, as far as free evidence looked at them.
        supported: judgments that rejudge supports, but not above the threshold.
        failures: agents' failures by kind and message; ``refused`` counts judgments that no agent was asked about.
    """

    judgments: int = 0
    kept: int = 0
    without_verdict: int = 0
    failed: int = 0
    by_evidence: int = 0
    alone: int = 0
    peers: int = 0
    both_orders: int = 0
    pairs_kept: int = 0
    supported: int = 0
    votes: int = 0
    best: tuple[str, float] | None = None
    threshold: float | None = None
    reachable: float | None = None
    best_probability: float | None = None
    needed: float | None = None
    promised: bool = False
    share: float | None = None
    scores: set[float] = field(default_factory=set)
    missing: Counter[str] = field(default_factory=Counter)
    nothing: Counter[str] = field(default_factory=Counter)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, assessment: Assessment, times: int = 1) -> None:
        """Counts an assessment, and as many that are like it."""
        self.judgments += times
        self.kept += times * (assessment.kept is True)
        rule = rule_of(assessment)
        if rule is not None and rule.by == "probability":
            self.needed = min(rule.cut or 0.0, self.needed if self.needed is not None else math.inf)
            self.promised |= rule.cut_from == "promise"
        elif rule is not None and rule.by == "agreement":
            self.share = rule.cut
        if assessment.status is Status.ASSESSED:
            self._add_score(assessment, times)
        else:
            self._add_failure(assessment, times)
        if assessment.strategy == "signals" and assessment.signals is not None:
            self._add_evidence(assessment, assessment.signals, times)
        if assessment.probability is not None:
            self.best_probability = max(assessment.probability, self.best_probability or 0.0)

    def _add_score(self, assessment: Assessment, times: int) -> None:
        rule = rule_of(assessment)
        if rule is not None and rule.by == "score":
            self.threshold = min(assessment.threshold, self.threshold or assessment.threshold)
        score = assessment.final_score
        if score is None:
            return
        if self.best is None or score > self.best[1]:
            self.best = (assessment.judgment_id, score)
        rejudged = assessment.strategy == "rejudge" and assessment.kept is False
        self.supported += times * (rejudged and SUPPORT < score <= assessment.threshold)
        decision = assessment.decision
        if assessment.strategy in _VOTING and decision is not None and decision.inputs.basis == "score":
            self.votes += times
            if len(self.scores) <= 2:
                self.scores.add(score)

    def _add_failure(self, assessment: Assessment, times: int) -> None:
        found = assessment.failure
        if found is not None and found.kind is FailureKind.NO_VERDICT:
            self.without_verdict += times
            return
        results: list[AgentResult] = [*assessment.agents, *([assessment.summariser] if assessment.summariser else [])]
        failures = [result.failure for result in results if result.failure is not None]
        if failures:
            self.failed += times
            for failure in failures:
                known = (failure.kind.value, _ATTEMPTS.sub("", failure.message))
                room = known in self.failures or len(self.failures) < MOST_MESSAGES
                self.failures[known if room else (failure.kind.value, "")] += times
        elif found is not None and assessment.status is Status.FAILED and len(self.refused) < MOST_MESSAGES:
            self.refused[found.message] += times

    def cause(self, kind: str) -> str:
        """The message that agents' failures of this kind had most often, shortened; empty where none is known."""
        messages = {message: count for (one, message), count in self.failures.items() if one == kind and message}
        if not messages:
            return ""
        found = min(messages, key=lambda message: (-messages[message], message)).rstrip(".")
        return found if len(found) <= LONGEST_CAUSE else f"{found[:LONGEST_CAUSE]}..."

    def _add_evidence(self, assessment: Assessment, signals: dict[str, SignalValue], times: int) -> None:
        self.by_evidence += times
        self.pairs_kept += times * bool(assessment.accepted and signals["strength"].value)
        reach = reachable_score(signals)
        if assessment.failure is not None and assessment.status is Status.UNSCORED:
            (self.nothing if reach is None else self.missing)[assessment.failure.message] += times
        by_score = assessment.decision is None and assessment.probability is None and "repeats" not in signals
        decided = rule_of(assessment) is not None and assessment.decided_by == "score"
        # The score decides on pairs with peers, and says nothing of others unless it was asked to.
        if reach is None or not by_score or not (decided or signals["peers"].value is not None):
            return
        self.threshold = min(assessment.threshold, self.threshold or assessment.threshold)
        self.reachable = max(reach, self.reachable or reach)
        order, peers = (signals[name].value is not None for name in ("order", "peers"))
        self.both_orders += times * order
        self.peers += times * peers
        contradicted = (signals["rationale"].value or 0) < 0
        alone = signals["peers"].state == "no_peers" and not order and not contradicted
        self.alone += times * (alone and assessment.kept is False)


def explain(found: Gathered) -> list[Reason]:
    """Reasons why nothing was kept, why judgments have no score, or why a decision means little, best first."""
    reasons = [*_without_score(found), *_discarded(found)]
    unexplained = found.kept == 0 and all(reason.code == "vote_under_score_policy" for reason in reasons)
    if not unexplained or found.threshold is None or found.best is None:
        return reasons
    name, score = found.best
    text = f"Nothing was kept: the highest score is {score:.4g}, and only scores above {found.threshold:g} are kept"
    return [Reason("below_threshold", text, f"metajudge show {shlex.quote(name)}"), *reasons]


def filled(command: str, words: Mapping[str, str]) -> str:
    """A suggested command, or a sentence that ends with one, with a command line's inputs, agents and store in it."""
    found = " ".join(words.get(word, word) for word in command.split(" "))
    stored = any(f"metajudge {name} " in found for name in _OF_STORE)
    return f"{found} {words['STORE']}" if words.get("STORE") and stored else found


def _without_score(found: Gathered) -> Iterator[Reason]:
    """Why judgments have no score."""
    if found.failed:
        (kind, message), count = found.failures.most_common(1)[0]
        text = f"No score for {found.failed} of {_judgments(found.judgments)} because agents failed, most often with "
        text += f"{kind} ({_times(count)}): {message or 'see --out'}"
        yield Reason("agents_failed", text, "metajudge check AGENTS")
    if found.refused:
        message, _ = found.refused.most_common(1)[0]
        text = f"Not vetted, {_times(found.refused.total())} for this or a similar reason: {message}"
        yield Reason("refused", text)
    if found.judgments and found.without_verdict >= found.judgments:
        text = f"Of {_judgments(found.judgments)} none has a verdict, so there is nothing to vet"
        yield Reason("no_verdicts", text, "metajudge inspect INPUT")
    if count := found.nothing.total():
        text = f"No score for {_judgments(count)}: {_most_frequent(found.nothing)}; no model was asked"
        yield Reason("nothing_to_compare", text, ADD_AGENTS)


def _discarded(found: Gathered) -> Iterator[Reason]:
    """Why nothing was kept, or a decision means little."""
    reach = None if found.kept else _below_cut(found) or _out_of_reach(found)
    if reach is not None:
        yield reach
    elif found.missing:
        text = f"Undecided rather than doubtful: {_judgments(found.missing.total())} unscored, "
        yield Reason("undecided", text + _most_frequent(found.missing), ADD_AGENTS)
    elif found.alone:
        text = f"Undecided rather than doubtful: {_judgments(found.alone)} of those discarded have neither "
        yield Reason("undecided", f"{text}another judge's verdict nor one in the other order", ADD_AGENTS)
    if found.supported and found.threshold is not None:
        text = f"The agents support {_judgments(found.supported)} that are discarded: a rejudge score above 3 is "
        text += f"support, 5 is strong support by all, and the threshold of {found.threshold:g} requires almost that"
        yield Reason("rejudge_support", text, "metajudge vet INPUT AGENTS --strategy rejudge --threshold 3")
    if found.votes and len(found.scores) <= 2:
        ends = " or ".join(f"{score:g}" for score in sorted(found.scores))
        text = f"The policy decides on scores, and a vote has only the ends of the scale (here {ends}): no judgment "
        text += "can fall into a band between them; a weighted average gives scores in between"
        command = "metajudge vet INPUT AGENTS --strategy weighted_average --policy verdict_score"
        yield Reason("vote_under_score_policy", text, command)


def _out_of_reach(found: Gathered) -> Reason | None:
    reach, threshold = found.reachable, found.threshold
    if reach is None or threshold is None or reach > threshold:
        return None
    orders = " in both orders" if found.both_orders else " in one order"
    unknown = " (what is unscored is undecided, not doubtful)" if found.missing else ""
    text = (
        f"Nothing could be kept: free evidence from one judge{orders} reaches {reach:.2f} at most, and a score above "
    )
    text += f"{threshold:g} is needed{unknown}; add other judges' verdicts on the same items, or meta-judges"
    return Reason("out_of_reach", text, ADD_AGENTS)


def _most_frequent(missing: Counter[str]) -> str:
    """The most frequent reason; the first in the alphabet where several are."""
    message, count = min(missing.items(), key=lambda one: (-one[1], one[0]))
    return message if count == missing.total() else f"most often ({count:,}) because {message}"


def _below_cut(found: Gathered) -> Reason | None:
    if found.needed is not None:
        best = "none has one" if found.best_probability is None else f"the highest is {found.best_probability:.3f}"
        for_what = " for the guarantee" if found.promised else ""
        text = f"Nothing was kept: a probability of {found.needed:.3f} is needed{for_what}, and {best}"
        return Reason("below_guarantee" if found.promised else "below_cut", text)
    if found.share is None or found.best is None:
        return None
    best = f"{(found.best[1] - 1) / 4:.3g}"
    text = f"Nothing was kept: a share of {found.share:g} of the peers must agree, and the highest is {best}"
    return Reason("below_share", text, f"metajudge show {shlex.quote(found.best[0])}")


def _judgments(count: int) -> str:
    return "1 judgment" if count == 1 else f"{count:,} judgments"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
