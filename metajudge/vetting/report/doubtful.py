"""The judgments that a report shows with their texts: those nearest to another decision, and those kept but wrong.

At most one of each item, so that what is shown is not one question over and over.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from metajudge.errors import FailureKind
from metajudge.types import Assessment, Judgment

MOST_SHOWN: Final = 12
"""Doubtful judgments shown."""
MOST_WRONG: Final = 6
"""Judgments shown that were kept although their label says that they are wrong."""

LOOKED_AT: Final = 40 * MOST_SHOWN
FAR: Final = 1e9
"""The distance where nothing decided."""
NEVER: Final = 3
"""The group of what is never shown."""


def group_of(assessment: Assessment) -> int:
    """0 for what a policy sends to people, 1 for what was decided, 2 for what was not, :data:`NEVER` for no verdict."""
    if assessment.do.source == "nothing":
        no_verdict = assessment.failure is not None and assessment.failure.kind is FailureKind.NO_VERDICT
        return NEVER if no_verdict else 2
    return 0 if assessment.do.action == "ask" else 1


@dataclass(slots=True)
class Shown:
    """One judgment that may be shown.

    Attributes:
        rank: what a person has to decide comes first, then the nearest to another decision, then the first of the
            input.
        row: where it stands, to read its texts; None where ``judgment`` is there.
        blind: whether people have to judge it without any result.
    """

    rank: tuple[int, float, int]
    item: str
    assessment: Assessment
    right: bool | None
    blind: bool
    row: int | None = None
    judgment: Judgment | None = None

    @property
    def place(self) -> int:
        """The last part of its rank."""
        return self.rank[2]


@dataclass(slots=True)
class Doubtful:
    """Chosen judgments by item.

    Attributes:
        near: item -> its judgment that is nearest to another decision; at most :data:`MOST_SHOWN` items.
        wrong: item -> its first judgment that was kept although wrong; at most :data:`MOST_WRONG` items, the first
            of the input.
    """

    near: dict[str, Shown] = field(default_factory=dict)
    wrong: dict[str, Shown] = field(default_factory=dict)
    _seen: int = 0

    def offer(
        self,
        judgment: Judgment,
        assessment: Assessment,
        distance: float | None,
        right: bool | None,
        *,
        blind: bool,
        place: int | None = None,
    ) -> None:
        """Takes a judgment at hand if it belongs to those shown.

        Args:
            place: in the input, where judgments do not come in its order.
        """
        rank = self._rank(assessment, distance, place)
        self._take(Shown(rank, judgment.item.id, assessment, right, blind, judgment=judgment))

    def note(
        self, row: int, item: str, assessment: Assessment, distance: float | None, right: bool | None, *, blind: bool
    ) -> None:
        """Takes a judgment whose texts are read later, by :meth:`read`."""
        self._take(Shown(self._rank(assessment, distance, row), item, assessment, right, blind, row=row))

    def nearest(
        self, distances: NDArray[np.float64], groups: NDArray[np.int64], wrong: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Places of a block that may be among those shown, ascending.

        Args:
            distances: [m] from another decision; NaN where nothing decided.
            groups: [m] as :func:`group_of` gives them.
            wrong: [m] whether it was kept although wrong.
        """
        far = np.where(np.isnan(distances), FAR, distances)
        last = max((one.rank for one in self.near.values()), default=(NEVER, 0.0, 0))
        full = len(self.near) >= MOST_SHOWN
        nearer = (groups < last[0]) | ((groups == last[0]) & (far < last[1])) if full else groups < NEVER
        order = np.lexsort((far, groups))
        # Several judgments of one item follow each other: more are looked at than can be shown.
        chosen = order[nearer[order]][:LOOKED_AT]
        room = np.flatnonzero(wrong)[:LOOKED_AT] if len(self.wrong) < MOST_WRONG else np.zeros(0, dtype=np.int64)
        return np.union1d(chosen, room).astype(np.int64)

    def read(self, judgment: Callable[[int], Judgment]) -> None:
        """Reads the texts that are still missing, in ascending order of rows."""
        waiting = [one for one in (*self.near.values(), *self.wrong.values()) if one.judgment is None]
        for one in sorted(waiting, key=lambda one: one.row or 0):
            if one.row is not None:
                one.judgment = judgment(one.row)

    def shown(self) -> list[Shown]:
        """The doubtful ones, the most doubtful first; those that are among the wrong ones stand there alone."""
        there = {one.assessment.judgment_id for one in self.wrong.values()}
        near = (one for one in self.near.values() if one.assessment.judgment_id not in there)
        return sorted(near, key=lambda one: one.rank)

    def _rank(self, assessment: Assessment, distance: float | None, place: int | None = None) -> tuple[int, float, int]:
        self._seen += 1
        return (group_of(assessment), FAR if distance is None else distance, self._seen if place is None else place)

    def _take(self, one: Shown) -> None:
        wrong = one.right is False and one.assessment.do.action == "keep"
        if wrong and (one.item not in self.wrong or one.place < self.wrong[one.item].place):
            self.wrong[one.item] = one
            if len(self.wrong) > MOST_WRONG:
                del self.wrong[max(self.wrong, key=lambda name: self.wrong[name].place)]
        if one.rank[0] == NEVER:
            return
        known = self.near.get(one.item)
        if known is not None and known.rank <= one.rank:
            return
        self.near[one.item] = one
        if len(self.near) > MOST_SHOWN:
            del self.near[max(self.near, key=lambda name: self.near[name].rank)]
