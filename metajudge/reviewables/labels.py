"""What a reviewer calls the responses: labels that tell nothing of their authors, and the judge's labels in them. Pure.

A label belongs to a response of an item whoever looks, so that a written decision means the same in a table, on a page
and in a terminal. Only the order of showing depends on the reviewer.
"""

import random
import re
from collections.abc import Mapping, Sequence

from metajudge.types import Judgment, digest

_SIGN = re.compile(r"(>{1,2}|=)")
_NOUNS = "assistant|response|answer|candidate|model|output|chatbot|completion|option|system|solution|réponse|antwort"
_LINKS = r"and|or|vs\.?|versus|&|et|und"


def labels_for(names: Sequence[str], about: str) -> dict[str, str]:
    """Label -> response, drawn for what ``about`` names, the same every time and for everybody.

    Labels are R1, R2, ... or begin with another letter where a response is called so.
    """
    ordered = sorted(names)
    random.Random(int(digest(["labels", about]), 16)).shuffle(ordered)
    letter = next(one for one in "RSTUVWXYZ" if not any(re.fullmatch(rf"{one}\d+", name) for name in ordered))
    return {f"{letter}{place}": name for place, name in enumerate(ordered, start=1)}


def shown_order(labels: Mapping[str, str], review_id: str, reviewer: str | None) -> list[str]:
    """The labels in the order in which a reviewer sees the responses; unchanged without a reviewer.

    Different reviewers see different orders, so that a preference for the first place is no agreement.
    """
    found = list(labels)
    if reviewer is not None:
        random.Random(int(digest(["order", review_id, reviewer]), 16)).shuffle(found)
    return found


def by_name(text: str, labels: Mapping[str, str]) -> str:
    """A verdict written with labels, with the responses' names in their place; another one as it is.

    One label alone is the best: ``R2`` of R1, R2 and R3 is ``R2>R1=R3``.
    """
    named = [one.strip() for one in _SIGN.split(text.strip())[::2]]
    if not set(named) <= set(labels):
        return text
    if len(named) == 1 and len(labels) > 1:
        others = [name for label, name in labels.items() if label != named[0]]
        return f"{labels[named[0]]}>{'='.join(others)}"
    return _called(text.strip(), labels)


def by_label(text: str, labels: Mapping[str, str]) -> str:
    """A verdict written with the responses' names, with labels in their place."""
    return _called(text, {name: label for label, name in labels.items()})


def _called(text: str, names: Mapping[str, str]) -> str:
    parts = _SIGN.split(text)
    return "".join(names.get(one.strip(), one) if place % 2 == 0 else one for place, one in enumerate(parts))


def judges_labels(judgment: Judgment, labels: Mapping[str, str]) -> dict[str, str]:
    """What the judge called the responses -> what the reviewer calls them."""
    called = {name: label for label, name in labels.items()}
    both = zip(judgment.order, judgment.shown_labels, strict=True)
    return {shown: called[name] for name, shown in both if name in called}


def in_reviewers_words(text: str, seen: Mapping[str, str]) -> str:
    """A judge's words with the reviewer's label behind each of its own: ``Assistant A [R2]``.

    A single letter is a label where a noun goes before it ("Assistant A", "Responses A and B") or in a judge's marks
    (``[[A>B]]``); elsewhere it may be a word. Labels of several characters (A0, model-1) are labels everywhere.

    Args:
        seen: the judge's label -> the reviewer's.
    """
    if not seen or not text:
        return text
    one = "|".join(re.escape(name) for name in sorted(seen, key=len, reverse=True))
    ends = r"(?![A-Za-z0-9_])"
    nouns = re.compile(
        rf"\b(?:{_NOUNS})s?[ \t]{{1,3}}[\"'*`(\[]{{0,3}}({one}){ends}"
        rf"(?:[ \t]{{1,3}}(?:{_LINKS})[ \t]{{1,3}}({one}){ends})?",
        re.IGNORECASE,
    )
    marks = re.compile(rf"\[\[({one})(?:(>{{1,2}}|=)({one}))?\]\]")
    long = [name for name in seen if len(name) > 1]
    known = {name.casefold(): label for name, label in seen.items()}
    if long:
        anywhere = re.compile(
            rf"(?<![A-Za-z0-9_])({'|'.join(map(re.escape, sorted(long, key=len, reverse=True)))}){ends}"
        )
        return anywhere.sub(lambda found: f"{found[0]} [{seen[found[1]]}]", text)

    def named(found: re.Match[str]) -> str:
        both = [known[one.casefold()] for one in found.groups() if one is not None]
        return f"{found[0]} [{', '.join(both)}]" if found[1] in seen else found[0]

    text = marks.sub(lambda found: f"{found[0]} [{''.join(seen.get(one, one) for one in found.groups(''))}]", text)
    return nouns.sub(named, text)
