"""What free evidence says about a judgment, in words for people."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from metajudge.files.packaged import packaged
from metajudge.types import AnyVerdict, Category, Grade, SignalValue

Tone = Literal["", "good", "warn", "bad"]


@dataclass(frozen=True, slots=True)
class SignalLine:
    """A signal as a sentence; ``present`` is False if it is missing, and ``words`` give the reason."""

    title: str
    words: str
    detail: str
    tone: Tone
    present: bool


def signal_lines(signals: Mapping[str, SignalValue] | None) -> list[SignalLine]:
    """Every signal as a sentence."""
    found = []
    for name, value in (signals or {}).items():
        known = packaged("evidence", "signals").get(name, {"title": name})
        if value.value is None:
            found.append(SignalLine(known["title"], f"None: {value.detail or value.state}.", "", "", present=False))
        else:
            words, tone = known.get(value.state, (f"{value.state}: {value.value:.3g}", ""))
            found.append(SignalLine(known["title"], words, value.detail, tone, present=True))
    return found


_UNKNOWN_ORDER = {
    "missing": "this judge was not asked in another order",
    "other_no_verdict": "this judge gave no comparable verdict in the other order",
}


def missing_evidence(verdict: AnyVerdict | None, signals: Mapping[str, SignalValue]) -> str:
    """Which free evidence would decide on a judgment and is not there, without a full stop.

    Args:
        signals: by name (:func:`~metajudge.evidence.columns.signal_columns`).
    """
    grades = isinstance(verdict, Grade | Category)
    missing = []
    if signals["peers"].value is not None:
        missing.append("the other judges who graded it are too few" if grades else "the other judges are too few")
    elif signals["peers"].state == "own_tied":
        missing.append("the verdict names no single winner that other judges could confirm")
    else:
        missing.append("no other judge graded this response" if grades else "no other judge compared these responses")
    order = signals["order"].state
    if not grades and order in _UNKNOWN_ORDER:
        missing.append(_UNKNOWN_ORDER[order])
    elif not grades and order in ("disagree", "other_tied"):
        missing.append(
            f"this judge's verdict is {'a tie' if order == 'other_tied' else 'another one'} in the other order"
        )
    if (signals["rationale"].value or 0) < 0:
        missing.append("its rationale ends with another verdict")
    if grades and signals["repeats"].value is None and signals["variants"].value is None:
        missing.append("this judge graded it once")
    return ", and ".join(missing)
