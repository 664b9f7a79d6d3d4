"""A check before the correction for the number of checks, and the verdict on all checks of a card."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from metajudge.audit.card import Check, CheckName, Status
from metajudge.stats.association import Association, observations_needed
from metajudge.stats.interval_estimate import CONFIDENCE, Estimate, normal_quantile
from metajudge.stats.multiple import holm
from metajudge.stats.paired import SignFlip

LEVEL = 0.05
"""The chance of any finding on the card of a judge without bias is at most this."""

FEWEST = 10
"""With fewer observations nothing is tested."""

RELEVANT = 0.10
"""Ten points of a share: the effect that is declared to matter where a check does not say otherwise."""

RULE_OF_THREE = 3.69
"""No event among k has an upper limit of this by k at 97.5 %: ``-ln(.025)``."""
T = TypeVar("T")

TITLES: dict[CheckName, str] = {
    "position": "Prefers a position",
    "length": "Prefers longer responses",
    "own_family": "Prefers its own family",
    "own_answer": "Prefers its own answers",
    "severity": "Severity",
    "drift": "Drift over time",
    "versions": "Differs between versions",
    "prompts": "Differs between prompts",
    "categories": "Differs between categories",
    "weaker_than_peers": "Weaker than the other judges",
    "copy": "Errs like another judge",
}


def attempt(make: Callable[..., T], *data: Any) -> tuple[T | None, str]:
    """What ``make`` gives for some data, or else why an error of the program ends it, in words with its place.

    What the data do not allow, it says itself: an error is a fault of ours.
    """
    try:
        return make(*data), ""
    except MemoryError:
        raise
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(at.filename).name}:{at.lineno}"
        return None, f"an error of metajudge ({type(error).__name__}: {error}, at {where}); please report it"


@dataclass(slots=True)
class Parts:
    """Parts of an audit that stand for themselves.

    Attributes:
        notices: a sentence for each that failed, in order.
    """

    notices: list[str] = field(default_factory=list)

    def of(self, make: Callable[..., T], *data: Any, without: Any, whose: str = "") -> T | Any:
        """What ``make`` gives for some data, or ``without`` and a notice."""
        found, why = attempt(make, *data)
        if not why:
            return found
        name = make.__name__.replace("_", " ").strip()
        self.notices.append(f"Not computed: {name}{f' of {whose}' if whose else ''}: {why}.")
        return without


@dataclass(frozen=True, slots=True)
class Evidence(Estimate):
    """An effect in the unit of its check, with its interval; ``method`` is the name of its test.

    Attributes:
        null: what is rejected.
        p_value: of the test.
        smallest: level -> distance from ``null`` that is found with a probability of 80 %.
        questions: of the observations.
    """

    null: float
    p_value: float
    smallest: Callable[[float], float]
    questions: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A check before the correction for the number of checks.

    Attributes:
        check: as it is where nothing is tested; with evidence, its sentence is on the effect alone.
        evidence: None where nothing is tested.
        things: different things judged, the unit in which more labels are asked for.
        wrong: share of the judge's verdicts on which the effect makes a right verdict wrong; None where it makes none.
        parts: tests within the check (categories, versions); their smallest p value is multiplied by it.
    """

    check: Check
    evidence: Evidence | None
    things: int
    parts: int = 1
    wrong: float | None = 1.0

    @property
    def p_value(self) -> float | None:
        return None if self.evidence is None else min(1.0, self.evidence.p_value * self.parts)


def untested(**given: Any) -> Check:
    """A check without figures, which has too few observations where nothing else is given."""
    absent = dict.fromkeys(("estimate", "interval", "p_value", "adjusted_p", "smallest_effect", "labels_needed"))
    same = {"status": "underpowered", "test": "not tested", "relevant_effect": RELEVANT}
    return Check(**{**absent, **same, **given})


def from_slope(found: Association, *, null: float = 0.0, sides: int = 2) -> Evidence | None:
    """A slope or a mean as evidence; None where too few questions carry it.

    Where nothing varies the standard error is taken from the rule of three: what was not seen may still be rare. The
    interval is cut to what a difference of shares can be.
    """
    if not found.usable or found.n < FEWEST:
        return None
    if found.error == 0:
        half = RULE_OF_THREE / found.clusters
        found = replace(found, error=half / 2, low=found.estimate - half, high=found.estimate + half)
    return Evidence(
        found.estimate,
        low=max(found.low, min(-1.0, found.estimate)),
        high=min(found.high, max(1.0, found.estimate)),
        n=found.n,
        confidence=found.confidence,
        method="t test by question, cluster-robust",
        null=null,
        p_value=found.p_value(null, sides=sides),
        smallest=lambda level: found.smallest_effect(level, sides=sides),
        questions=found.clusters,
    )


def from_flips(found: SignFlip, *, scale: float = 1.0) -> Evidence:
    """A mean of signs as evidence: ``scale * mean`` with signs from -1 to 1 times a whole number."""
    from scipy.special import stdtrit

    df = max(1, found.clusters - 1)
    spread = found.robust_error if np.isfinite(found.robust_error) else 1.0
    t = float(stdtrit(df, 0.975)) if df < 1e6 else normal_quantile(CONFIDENCE)
    half, estimate = max(t * spread, RULE_OF_THREE / found.clusters) * scale, scale * found.estimate
    return Evidence(
        estimate,
        low=max(-1.0, estimate - half),
        high=min(1.0, estimate + half),
        n=found.n,
        confidence=CONFIDENCE,
        method=found.method,
        null=0.0,
        p_value=found.p_value,
        smallest=lambda level: found.smallest_effect(level) * scale,
        questions=found.clusters,
    )


def decide(drafts: Sequence[Draft], level: float = LEVEL) -> tuple[Check, ...]:
    """Gives every check of one card its status.

    Holm's correction runs over the checks that were tested, so that the chance of any finding on the card of a judge
    without bias is at most ``level``. The smallest effect of each is that of a test at ``level`` by the number of them.
    """
    adjusted = iter(holm([one.p_value for one in drafts if one.p_value is not None]))
    share = level / max(1, sum(one.p_value is not None for one in drafts))
    return tuple(
        one.check if one.evidence is None else _decided(one, one.evidence, float(next(adjusted)), level, share)
        for one in drafts
    )


def drafted(check: Callable[..., Draft | None], name: CheckName, view: object) -> Draft | None:
    """The draft of a check; of one that fails, a draft that says so."""
    found, why = attempt(check, view)
    if not why:
        return found
    none = {"reference": "nothing", "unit": "", "relevant_effect": 0.0, "n": 0, "questions": 0}
    broken = untested(name=name, title=TITLES[name], status="error", sentence=f"Not computed: {why}.", **none)
    return Draft(broken, None, 0)


def _decided(draft: Draft, evidence: Evidence, adjusted: float, level: float, share: float) -> Check:
    check, smallest = draft.check, evidence.smallest(share / draft.parts)
    needed = observations_needed(draft.things, smallest, check.relevant_effect)
    status: Status = "finding" if adjusted <= level else "none" if smallest <= check.relevant_effect else "underpowered"
    found = {
        "status": status,
        "estimate": evidence.estimate,
        "interval": (evidence.low, evidence.high),
        "null": evidence.null,
        "p_value": draft.p_value,
        "adjusted_p": adjusted,
        "smallest_effect": smallest,
        "cost": None if draft.wrong is None else abs(evidence.estimate) * draft.wrong,
        "labels_needed": needed,
        "questions": evidence.questions,
        "test": evidence.method + (f", Bonferroni over {draft.parts}" if draft.parts > 1 else ""),
    }
    made = Check.model_validate(dict(check) | found)
    return made.model_copy(update={"sentence": f"{check.sentence} {_closing(made, smallest, draft.things)}".strip()})


def _closing(check: Check, smallest: float, things: int) -> str:
    needed = check.labels_needed or 0
    if check.status == "finding":
        return ""
    if check.status == "none":
        return f"No finding; an effect of {smallest:.2f} would have been seen."
    unit = "labelled items" if check.reference == "labels" else "items"
    if check.unsure:
        return (
            f"A large difference, but only {check.questions:,} questions: it could be chance; about "
            f"{needed - things:,} more {unit} would settle it."
        )
    return (
        f"Underpowered: only an effect of {smallest:.2f} would have been seen; for {check.relevant_effect:g} about "
        f"{needed:,} {unit} are needed."
    )
