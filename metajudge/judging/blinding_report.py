"""What was hidden from the judges of one item, in whose text and where, and what was left standing."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from metajudge.types.frozen import Frozen

RULE = "identity-1"
"""The version of the rule; another rule hides other names."""


class HiddenName(Frozen):
    """A name that was hidden.

    Attributes:
        start, end: its place in the text as it was given, in characters; ``end`` is exclusive.
        kind: ``id`` of a candidate or its model, ``family`` of models, or their ``maker``.
        family: whose name it is; None for an id.
    """

    candidate: str
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    text: str
    kind: Literal["id", "family", "maker"]
    family: str | None = None


class LeftName(Frozen):
    """A name, or a word like one, that judges could read; places as for a :class:`HiddenName`."""

    candidate: str
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    text: str
    why: str


class BlindingReport(Frozen):
    """The blinding of one item.

    Attributes:
        hiding: False where it was switched off; ``left`` then lists what stood readable.
        left_unlisted: names left standing beyond those listed.
    """

    rule: str = RULE
    hiding: bool = True
    hidden: tuple[HiddenName, ...] = ()
    left: tuple[LeftName, ...] = ()
    left_unlisted: int = Field(default=0, ge=0)


class BlindingTotals(Frozen):
    """Blinding over a run.

    Attributes:
        unreported: items of earlier versions, which kept none.
        not_hidden: items for which hiding was switched off.
        names: hidden names, by kind in ``kinds``.
        texts: different texts (an item and a candidate) in which a name was hidden.
    """

    items: int = 0
    unreported: int = 0
    not_hidden: int = 0
    names: int = 0
    kinds: dict[str, int] = Field(default_factory=dict)
    texts: int = 0
    left: int = 0

    def sentence(self) -> str:
        """The line that is printed."""
        parts = []
        if self.not_hidden:
            parts.append(f"Identities were NOT hidden in {self.not_hidden} of {self.items} items: switched off.")
        if self.items > self.not_hidden:
            kinds = ", ".join(f"{count} {_plural(kind, count)}" for kind, count in sorted(self.kinds.items()))
            what = f"{self.names} names hidden in {self.texts} answers ({kinds})" if self.names else "no name to hide"
            parts.append(f"Blinding: {what}.")
        if self.left:
            parts.append(f"{self.left} words that may be names were not hidden (details in the record).")
        if self.unreported:
            parts.append(f"{self.unreported} records of an earlier version have no blinding report.")
        return " ".join(parts)


def blinding_totals(reports: Iterable[BlindingReport | None]) -> BlindingTotals:
    """Sums the reports of a run; None means a record of an earlier version."""
    given = list(reports)
    known = [one for one in given if one is not None]
    kinds = Counter(name.kind for one in known for name in one.hidden)
    return BlindingTotals(
        items=len(known),
        unreported=len(given) - len(known),
        not_hidden=sum(not one.hiding for one in known),
        names=sum(kinds.values()),
        kinds=dict(sorted(kinds.items())),
        texts=sum(len({name.candidate for name in one.hidden}) for one in known),
        left=sum(len(one.left) + one.left_unlisted for one in known),
    )


def _plural(kind: str, count: int) -> str:
    words = {"id": ("id", "ids"), "family": ("model family", "model families"), "maker": ("maker", "makers")}
    return words[kind][count != 1]
