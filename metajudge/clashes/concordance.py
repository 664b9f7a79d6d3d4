"""What many evaluations have in common: by category, with people's calls, and in judges' habits. Pure.

*People*: an evaluation counts where people have made a call (the label of its item, or decisions on its review) and the
panel has a verdict. The panel agrees where both name the same winner, or both a tie. Intervals are Wilson's (1927),
with an effective number where several evaluations are of one prompt, since those are not independent
(:func:`metajudge.stats.clustered.clustered_proportion`).

*Order*: the order in which a judge sees K answers is drawn at random for every evaluation and judge. A judge whose
choice does not depend on the order therefore finds its top choice in the first place with probability 1/K,
independently in every evaluation, whatever the answers are. The number of such evaluations is a sum of Bernoulli draws;
its upper tail is computed exactly, as the convolution of one binomial distribution for each K.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from metajudge.clashes.record import ClashRecord
from metajudge.files.packaged import packaged
from metajudge.stats.clustered import ClusteredProportion, clustered_proportion
from metajudge.stats.intervals import clopper_pearson_lower
from metajudge.types.frozen import Frozen

CallSource = Literal["label", "blind", "seen", "unknown"]
FEWEST_CALLED = 10
"""Prompts below which nothing is promised."""
SOURCE = (
    'Figures of the paper "Multi-Agent Judging for LLM Evaluation" (tables 4, 10 and 12), not measured here; other '
    "prompts, people and panels, so a frame and no test"
)


@dataclass(frozen=True, slots=True)
class Reported:
    """One reported figure.

    Attributes:
        agreement: share, or range of shares, in percent as printed; None where none is reported.
        kappa: Cohen's, as printed; None where none is reported.
        reference: who reports it, as the paper cites it.
    """

    method: str
    benchmark: str
    agreement: str | None
    kappa: str | None
    reference: str


_ROWS = packaged("clashes", "prior_work")["rows"]
PRIOR_WORK = tuple(Reported(how, on, share or None, kappa or None, by) for how, on, share, kappa, by in _ROWS)
CEILING = "72 to 83 %"
"""Agreement of crowd and expert on Chatbot Arena: where a panel on closely matched models cannot be expected to exceed
people."""


@dataclass(frozen=True, slots=True)
class Call:
    """What people said of one evaluation.

    Attributes:
        item: the prompt; calls on one prompt are not independent.
        agrees: whether the panel's winner is theirs; None where they gave none, see ``why``.
        panel: whether the panel was ``unanimous``, ``divided`` (no unanimity, a tie included), or gave ``none``.
        source: ``label`` of the item, a decision made ``blind``, or after the panel's verdict was ``seen``.
        why: why it does not count: people could not tell, or were divided; the panel has no verdict.
    """

    item: str
    agrees: bool | None
    panel: Literal["unanimous", "divided", "none"]
    source: CallSource
    why: str | None = None


def words(share: ClusteredProportion) -> str:
    """``84.0% [71.5% to 91.7%], 42 of 50 evaluations, 40 prompts``."""
    prompts = f", {share.clusters} prompts" if share.clusters != share.n else ""
    return (
        f"{share.estimate:.1%} [{share.low:.1%} to {share.high:.1%}], {share.successes} of {share.n} "
        f"{'evaluation' if share.n == 1 else 'evaluations'}{prompts}"
    )


def _plain(share: ClusteredProportion | None) -> dict[str, Any] | None:
    if share is None:
        return None
    ends = {"share": share.estimate, "low": share.low, "high": share.high}
    counts = {"agreed": share.successes, "n": share.n, "prompts": share.clusters}
    return {**ends, **counts, "method": share.method}


@dataclass(frozen=True, slots=True)
class Concordance:
    """Panel against people.

    Attributes:
        overall, unanimous, divided: agreement rate of the counted calls, clustered by prompt; None without such calls.
        seen: of calls made after the panel's verdict was seen. They count nowhere else: who sees a verdict follows it.
        left_out: why an evaluation with a call does not count -> how many.
        promise: what the rule "accept what is unanimous" may promise here, in a sentence.
    """

    overall: ClusteredProportion | None
    unanimous: ClusteredProportion | None
    divided: ClusteredProportion | None
    seen: ClusteredProportion | None
    left_out: dict[str, int]
    promise: str

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        shares = {"overall": self.overall, "unanimous": self.unanimous, "divided": self.divided, "seen": self.seen}
        plain = {name: _plain(share) for name, share in shares.items()}
        return {**plain, "left_out": self.left_out, "promise": self.promise}


def concordance(calls: Sequence[Call]) -> Concordance:
    """Compares the panel with people's calls."""
    counted = [one for one in calls if one.agrees is not None and one.source != "seen"]
    unanimous = [one for one in counted if one.panel == "unanimous"]
    found = _agreed(unanimous)
    return Concordance(
        overall=_agreed(counted),
        unanimous=found,
        divided=_agreed([one for one in counted if one.panel == "divided"]),
        seen=_agreed([one for one in calls if one.agrees is not None and one.source == "seen"]),
        left_out=dict(Counter(one.why or "no call" for one in calls if one.agrees is None)),
        promise=_promise(unanimous, found),
    )


def _agreed(calls: Sequence[Call]) -> ClusteredProportion | None:
    if not calls:
        return None
    return _by_prompt([(one.item, bool(one.agrees)) for one in calls])


def _by_prompt(rows: Sequence[tuple[str, bool]]) -> ClusteredProportion:
    """The share of evaluations, given with their prompts, for which something holds."""
    numbers = {item: number for number, item in enumerate(dict.fromkeys(item for item, _ in rows))}
    return clustered_proportion([float(holds) for _, holds in rows], [numbers[item] for item, _ in rows])


def _promise(unanimous: Sequence[Call], found: ClusteredProportion | None) -> str:
    """The lower bound of the precision of unanimous verdicts: Clopper and Pearson's, one-sided 95 %, by prompt.

    A prompt agrees where all of its evaluations do.
    """
    rule = 'The rule "accept what is unanimous"'
    if found is None:
        return (
            f"{rule} promises nothing here: people decided no unanimous evaluation blind. Send some to them with "
            "--review-sample, or give labels with the prompts."
        )
    if found.clusters < FEWEST_CALLED:
        return (
            f"{rule} promises nothing yet: {found.clusters} prompts were decided, at least {FEWEST_CALLED} are needed."
        )
    by_prompt: dict[str, bool] = {}
    for one in unanimous:
        by_prompt[one.item] = by_prompt.get(one.item, True) and bool(one.agrees)
    bound = clopper_pearson_lower(sum(by_prompt.values()), len(by_prompt)).low
    return (
        f"{rule} may promise that people would give at least {bound:.0%} of the verdicts it accepts: on prompts drawn "
        f"like these {len(by_prompt)}, with this panel, at a confidence of 95 %."
    )


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """One category.

    Attributes:
        best: candidates with the most evaluations won alone; several where they won as many.
        won: how many each of them won.
    """

    category: str | None
    evaluations: int
    decided: int
    unanimous: int
    tied: int
    escalated: int
    best: tuple[str, ...]
    won: int


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """A judge that is a candidate, on its own answers.

    Attributes:
        share: of the evaluations in which it ranked its own answer those in which it put it first, alone; by prompt.
        panel: how often the panel's verdict put that answer first, alone, in the same evaluations.
    """

    judge: str
    own: str
    share: ClusteredProportion
    panel: int

    def sentence(self) -> str:
        """What was found; no test, since a candidate's answers may be the best."""
        share = self.share
        return (
            f"{self.judge} put its own answer first in {share.successes} of {share.n} evaluations "
            f"({share.estimate:.0%} [{share.low:.0%} to {share.high:.0%}] by prompt); the panel did in {self.panel}"
        )

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        share, who = self.share, {"judge": self.judge, "own": self.own}
        counts = {"first": share.successes, "n": share.n, "prompts": share.clusters}
        return {**who, **counts, "low": share.low, "high": share.high, "panel": self.panel}


def by_category(records: Sequence[ClashRecord]) -> list[CategoryRow]:
    """A row each, by name; evaluations without a category last. Nothing where no evaluation has one."""
    names = {record.category for record in records}
    if names <= {None}:
        return []
    found = []
    for name in sorted(names, key=lambda one: (one is None, one or "")):
        those = [record for record in records if record.category == name]
        wins = Counter(record.winner for record in those if record.winner is not None)
        most = max(wins.values(), default=0)
        row = CategoryRow(
            category=name,
            evaluations=len(those),
            decided=sum(record.status == "ok" for record in those),
            unanimous=sum(record.tally is not None and record.tally.unanimous for record in those),
            tied=sum(record.status == "tie" for record in those),
            escalated=sum(record.tally is None or record.tally.triage != "accept" for record in those),
            best=tuple(sorted(one for one, won in wins.items() if won == most)),
            won=most,
        )
        found.append(row)
    return found


def self_preference(records: Sequence[ClashRecord]) -> list[SelfPreference]:
    """Every judge, voter and observer that ranked an answer of its own, by name."""
    found: dict[tuple[str, str], list[tuple[str, bool, bool]]] = {}
    for record in records:
        for vote in record.votes:
            first = vote.own_first
            if vote.own is not None and first is not None:
                rows = found.setdefault((vote.judge, vote.own), [])
                rows.append((record.item_id, first, record.winner == vote.own))
    return [
        SelfPreference(*who, _by_prompt([(item, first) for item, first, _ in rows]), sum(won for *_, won in rows))
        for who, rows in sorted(found.items())
    ]


LEVEL = 0.01
"""Of the test, shared among the judges of a run (Bonferroni)."""
FEWEST = 8
"""Evaluations below which no judge is tested: with seven pairs even the extreme has p = .0078."""


class FirstShown(Frozen):
    """One judge over a run.

    Attributes:
        n: evaluations in which it put one answer first, alone; with at least two answers.
        first: of these, how often that answer was the one shown first.
        expected: what chance gives.
        p_value: chance of ``first`` or more if the order plays no part, one-sided; None below :data:`FEWEST`.
        level: what ``p_value`` has to lie under for the judge to be reported.
        reported: whether it does.
    """

    judge: str
    n: int
    first: int
    expected: float
    p_value: float | None
    level: float
    reported: bool

    def sentence(self) -> str:
        """What was found, with the test."""
        counts = f"judge {self.judge} preferred the answer it was shown first in {self.first} of {self.n} evaluations"
        chance = f"chance gives {self.expected:.1f}"
        if self.p_value is None:
            return f"{counts} ({chance}; below {FEWEST} evaluations nothing is tested)"
        test = f"exact one-sided p = {self.p_value:.2g}, level {self.level:.2g}"
        verdict = "its votes follow the order shown" if self.reported else "no sign that the order decides"
        return f"{counts} ({chance}; {test}): {verdict}"


def first_shown(records: Iterable[ClashRecord]) -> list[FirstShown]:
    """Every judge of a run, observers included, by name.

    Args:
        records: those that count; each was judged under an order of its own.
    """
    seen: defaultdict[str, list[tuple[int, bool]]] = defaultdict(list)
    for record in records:
        for vote in record.votes:
            if vote.groups is not None and vote.groups.winner is not None and len(vote.order) > 1:
                seen[vote.judge].append((len(vote.order), vote.order[0] == vote.groups.winner))
    return compared_with_chance(seen)


def compared_with_chance(seen: dict[str, list[tuple[int, bool]]]) -> list[FirstShown]:
    """The same from plain data.

    Args:
        seen: judge -> for each evaluation how many answers were shown, and whether its choice stood first.
    """
    import numpy as np
    from scipy.stats import binom

    level, found = LEVEL / max(1, sum(len(rows) >= FEWEST for rows in seen.values())), []
    for judge, rows in sorted(seen.items()):
        first, sizes = sum(was_first for _, was_first in rows), [size for size, _ in rows]
        p_value = None
        if len(rows) >= FEWEST:  # P(sum >= first) where each draw is 1 with probability 1/size
            masses = np.ones(1)
            for size, n in sorted(Counter(sizes).items()):
                masses = np.convolve(masses, binom.pmf(np.arange(n + 1), n, 1 / size))
            p_value = float(min(1.0, masses[first:].sum()))
        reported, expected = p_value is not None and p_value < level, sum(1 / size for size in sizes)
        counts = {"n": len(rows), "first": first, "expected": expected}
        found.append(FirstShown(judge=judge, **counts, p_value=p_value, level=level, reported=reported))
    return found
