"""Sentences of a report: what decided, what evidence says, and shares with their intervals."""

from collections.abc import Mapping
from typing import Final

from metajudge.reviewables.wording import signal_lines
from metajudge.stats.clustered import ClusteredProportion
from metajudge.types import SignalValue

SOURCES: Final[Mapping[tuple[str, str], str]] = {
    ("keep", "policy"): "kept: the policy approves",
    ("keep", "guarantee"): "kept under the guarantee",
    ("keep", "threshold"): "kept: the score is above the threshold",
    ("ask", "policy"): "a person is asked: the policy says so",
    ("ask", "nothing"): "undecided: no verdict, or too little evidence",
    ("discard", "policy"): "discarded: the policy rejects",
    ("discard", "guarantee"): "discarded: below the guaranteed probability",
    ("discard", "threshold"): "discarded: the score is not above the threshold",
}
"""What is to be done and what decided it -> in words."""

_WEIGHED: Final = ("order", "peers", "repeats", "variants", "rationale")


def evidence_words(name: str, state: str) -> str:
    """A state of a signal as a sentence; empty for signals that have no word for it."""
    if name not in _WEIGHED:
        return ""
    line = signal_lines({name: SignalValue(value=0.0, state=state)})[0]
    return line.words


def percent_range(found: ClusteredProportion) -> str:
    """A share with its interval: ``90.0 % (50.9 to 98.7)``."""
    return f"{100 * found.estimate:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"
