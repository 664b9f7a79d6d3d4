"""Sentences for recorded results."""

from collections.abc import Mapping
from typing import Literal

from metajudge.types import AnyVerdict, Category, Grade, Pairwise, Ranking

Tone = Literal["good", "bad", "warn", ""]
"""The colour of a mark; its text carries the same meaning."""

TONES: Mapping[str, Tone] = {
    "APPROVE": "good",
    "REVIEW": "warn",
    "REVIEW_PRIORITY": "bad",
    "REJECT": "bad",
    "approve": "good",
    "modify": "warn",
    "reject": "bad",
}


def verdict_words(verdict: AnyVerdict | None, names: Mapping[str, str]) -> str:
    """A verdict with the page's names of the responses, such as ``Left is much better than Right``."""
    match verdict:
        case None:
            return "no verdict"
        case Grade():
            return f"grade {verdict}"
        case Category(value):
            return str(value) if isinstance(value, str) else "yes (true)" if value else "no (false)"
        case Pairwise(strength=0):
            return f"{names[verdict.first]} and {names[verdict.second]} are equally good"
        case Pairwise():
            much = "much " if verdict.strength == 2 else ""
            return f"{names[verdict.first]} is {much}better than {names[verdict.second]}"
        case Ranking(groups=((best,), (_, *_))):
            return f"{names[best]} is best"
        case Ranking(groups=(_,)):
            return "all are equally good"
        case Ranking():
            return ", then ".join(" and ".join(names[one] for one in group) for group in verdict.groups)
