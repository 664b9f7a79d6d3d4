"""A check before the correction for the number of checks, and the verdict on all checks of a card."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from metajudge.audit.card import Check, CheckName, Reference, Status
from metajudge.stats.association import Association
from metajudge.stats.interval_estimate import normal_quantile
from metajudge.stats.multiple import holm
from metajudge.stats.power import observations_needed
from metajudge.stats.sign_flip import SignFlip

LEVEL = 0.05
"""The chance of any finding on the card of a judge without bias is at most this."""

FEWEST = 10
"""With fewer observations nothing is tested."""

RULE_OF_THREE = 3.69
"""No event among k has an upper limit of this by k at 97.5 %: ``-ln(.025)``."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no result: an error of the program, in words with its place."""

    why: str


def attempt(make: Callable[..., T], *data: Any) -> T | Failed:
    """What ``make`` gives for some data. What the data do not allow, it says itself: an error is a fault of ours."""
    try:
        return make(*data)
    except MemoryError:
        raise
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(at.filename).name}:{at.lineno}"
        return Failed(f"an error of metajudge ({type(error).__name__}: {error}, at {where}); please report it")


@dataclass(slots=True)
class Parts:
    """Parts of an audit that stand for themselves.

    Attributes:
        notices: a sentence for each that failed, in order.
    """

    notices: list[str] = field(default_factory=list)

    def of(self, make: Callable[..., T], *data: Any, without: Any, whose: str = "") -> T | Any:
        """What ``make`` gives for some data, or ``without`` and a notice."""
        found = attempt(make, *data)
        if not isinstance(found, Failed):
            return found
        name = make.__name__.replace("_", " ").strip()
        self.notices.append(f"Not computed: {name}{f' of {whose}' if whose else ''}: {found.why}.")
        return without


@dataclass(frozen=True, slots=True)
class Evidence:
    """An effect in the unit of its check.

    Attributes:
        estimate: the effect.
        interval: 95 %.
        null: what is rejected.
        p_value: of the test.
        smallest: level -> distance from ``null`` that is found with a probability of 80 %.
        n: observations.
        questions: of them.
        test: its name.
    """

    estimate: float
    interval: tuple[float, float]
    null: float
    p_value: float
    smallest: Callable[[float], float]
    n: int
    questions: int
    test: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A check before correction.

    Attributes:
        name, title, reference, unit, relevant_effect: as in :class:`~metajudge.audit.card.Check`.
        evidence: None where nothing is tested: ``status`` and ``reason`` say why.
        n: observations.
        questions: of them.
        things: different things judged in them, the unit in which more labels are asked for.
        says: the sentence on the effect, without its status.
        status, reason: of a check without evidence; there are too few observations where no reason is given.
        parts: tests within the check (categories, versions); their smallest p value is multiplied by it.
        details: as in the check.
    """

    name: CheckName
    title: str
    reference: Reference
    unit: str
    relevant_effect: float
    evidence: Evidence | None
    n: int
    questions: int
    things: int
    says: str
    parts: int = 1
    details: dict[str, float | int | str | None] = field(default_factory=dict)
    status: Status = "underpowered"
    reason: str = ""

    @property
    def p_value(self) -> float | None:
        return None if self.evidence is None else min(1.0, self.evidence.p_value * self.parts)


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
        estimate=found.estimate,
        interval=(max(found.low, min(-1.0, found.estimate)), min(found.high, max(1.0, found.estimate))),
        null=null,
        p_value=found.p_value(null, sides=sides),
        smallest=lambda level: found.smallest_effect(level, sides=sides),
        n=found.n,
        questions=found.clusters,
        test="t test by question, cluster-robust",
    )


def from_flips(found: SignFlip, *, scale: float = 1.0, shift: float = 0.0) -> Evidence:
    """A mean of signs as evidence: ``shift + scale * mean`` with signs from -1 to 1 times a whole number."""
    df = max(1, found.clusters - 1)
    spread = found.robust_error if np.isfinite(found.robust_error) else 1.0
    half = max(_t(df) * spread, RULE_OF_THREE / found.clusters) * scale
    estimate = shift + scale * found.estimate
    return Evidence(
        estimate=estimate,
        interval=(max(-1.0, estimate - half), min(1.0, estimate + half)),
        null=shift,
        p_value=found.p_value,
        smallest=lambda level: found.smallest_effect(level) * scale,
        n=found.n,
        questions=found.clusters,
        test=found.method,
    )


def _t(df: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.975)) if df < 1e6 else normal_quantile(0.95)


def decide(drafts: Sequence[Draft], level: float = LEVEL) -> tuple[Check, ...]:
    """Gives every check of one card its status.

    Holm's correction runs over the checks that were tested, so that the chance of any finding on the card of a judge
    without bias is at most ``level``. The smallest effect of each is that of a test at ``level`` by the number of them.
    """
    tested = [one for one in drafts if one.p_value is not None]
    adjusted = dict(zip((id(one) for one in tested), holm([one.p_value or 0.0 for one in tested]), strict=True))
    share = level / max(1, len(tested))
    checks = []
    for one in drafts:
        found = attempt(_decided, one, adjusted.get(id(one)), level, share)
        checks.append(_untested(broken(one, found)) if isinstance(found, Failed) else found)
    return tuple(checks)


def drafted(check: Callable[..., Draft | None], name: CheckName, view: object) -> Draft | None:
    """The draft of a check; of one that fails, a draft that says so."""
    found = attempt(check, view)
    if not isinstance(found, Failed):
        return found
    empty = Draft(name, name.replace("_", " ").capitalize(), "nothing", "", 0.0, None, 0, 0, 0, "")
    return broken(empty, found)


def broken(draft: Draft, found: Failed) -> Draft:
    """A draft without a figure, because of an error."""
    return replace(draft, evidence=None, status="error", reason=f"Not computed: {found.why}.")


def _decided(draft: Draft, adjusted: float | None, level: float, share: float) -> Check:
    evidence = draft.evidence
    if evidence is None or adjusted is None:
        return _untested(draft)
    smallest = evidence.smallest(share / draft.parts)
    needed = observations_needed(draft.things, smallest, draft.relevant_effect)
    status: Status = "finding" if adjusted <= level else "none" if smallest <= draft.relevant_effect else "underpowered"
    low, high = evidence.interval
    return Check(
        name=draft.name,
        title=draft.title,
        status=status,
        estimate=evidence.estimate,
        interval=(low, high),
        null=evidence.null,
        p_value=draft.p_value,
        adjusted_p=float(adjusted),
        smallest_effect=smallest,
        relevant_effect=draft.relevant_effect,
        labels_needed=needed,
        n=draft.n,
        questions=evidence.questions,
        reference=draft.reference,
        unit=draft.unit,
        test=evidence.test + (f", Bonferroni over {draft.parts}" if draft.parts > 1 else ""),
        sentence=f"{draft.says} {_closing(status, smallest, draft, needed)}".strip(),
        details=draft.details,
    )


def _closing(status: Status, smallest: float, draft: Draft, needed: int) -> str:
    if status == "finding":
        return ""
    if status == "none":
        return f"No finding; an effect of {smallest:.2f} would have been seen."
    unit = "labelled items" if draft.reference == "labels" else "items"
    return (
        f"Underpowered: only an effect of {smallest:.2f} would have been seen; for {draft.relevant_effect:g} about "
        f"{needed:,} {unit} are needed."
    )


def _untested(draft: Draft) -> Check:
    return Check(
        name=draft.name,
        title=draft.title,
        status=draft.status,
        estimate=None,
        interval=None,
        p_value=None,
        adjusted_p=None,
        smallest_effect=None,
        relevant_effect=draft.relevant_effect,
        labels_needed=None,
        n=draft.n,
        questions=draft.questions,
        reference=draft.reference,
        unit=draft.unit,
        test="not tested",
        sentence=draft.reason or f"Too few observations to test ({draft.n} from {draft.questions} questions).",
        details=draft.details,
    )
