"""The panel against people: how often the winner is the one people choose, unanimous and divided apart. Pure.

An evaluation counts where people have made a call (the label of its item, or decisions on its review) and the panel has
a verdict. The panel agrees where both name the same winner, or both a tie. Intervals are Wilson's (1927), with an
effective number where several evaluations are of one prompt, since those are not independent
(:func:`metajudge.stats.clustered.clustered_proportion`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from metajudge.stats.clustered import ClusteredProportion, clustered_proportion
from metajudge.stats.intervals import clopper_pearson_lower

CallSource = Literal["label", "blind", "seen", "unknown"]
FEWEST = 10
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


PRIOR_WORK = (
    Reported("people: crowd and expert", "Chatbot Arena", "72 to 83 %", None, "Chiang et al. 2024"),
    Reported("people: two experts", "Chatbot Arena", "79 to 90 %", None, "Chiang et al. 2024"),
    Reported("people: two of them", "MT-Bench, no ties", "81 %", None, "Zheng et al. 2023"),
    Reported("people: two of them", "TriviaQA", None, "0.96", "Thakur et al. 2024"),
    Reported("one judge, GPT-4", "MT-Bench, no ties", "85 %", None, "Zheng et al. 2023"),
    Reported("one judge, GPT-4", "MT-Bench, headline", "over 80 %", None, "Zheng et al. 2023"),
    Reported("one judge, GPT-4 Turbo", "TriviaQA", None, "0.84", "Thakur et al. 2024"),
    Reported("panel of three, PoLL", "KILT-NQ", None, "0.763", "Verga et al. 2024"),
    Reported("panel of three, PoLL", "HotPotQA", None, "0.889", "Verga et al. 2024"),
    Reported("Arena-Hard-Auto", "Chatbot Arena", "89.1 %", None, "Li et al. 2024"),
    Reported("panel of three, Agent Clash", "MT-Bench", "88.0 %", "0.760", "the paper"),
    Reported("panel of three, Agent Clash", "Chatbot Arena", "76.0 %", "0.520", "the paper"),
    Reported("the same panel twice", "Chatbot Arena", "91.0 %", "0.757", "the paper"),
    Reported("the panel, unanimous", "both, pooled", "84.9 %", None, "the paper, table 12"),
    Reported("the panel, divided", "both, pooled", "63.8 %", None, "the paper, table 12"),
)
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
    names = {item: number for number, item in enumerate(dict.fromkeys(one.item for one in calls))}
    return clustered_proportion([float(bool(one.agrees)) for one in calls], [names[one.item] for one in calls])


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
    if found.clusters < FEWEST:
        return f"{rule} promises nothing yet: {found.clusters} prompts were decided, at least {FEWEST} are needed."
    by_prompt: dict[str, bool] = {}
    for one in unanimous:
        by_prompt[one.item] = by_prompt.get(one.item, True) and bool(one.agrees)
    bound = clopper_pearson_lower(sum(by_prompt.values()), len(by_prompt)).low
    return (
        f"{rule} may promise that people would give at least {bound:.0%} of the verdicts it accepts: on prompts drawn "
        f"like these {len(by_prompt)}, with this panel, at a confidence of 95 %."
    )
