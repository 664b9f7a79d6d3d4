"""Blocks of results in a store: appended, or recognised as what is there already."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from metajudge.store.bulk import AssessmentBlock, BulkStore, ItemRow, JudgmentRow

TextRows = Callable[[Collection[str], Collection[str]], tuple[Sequence[ItemRow], Sequence[JudgmentRow]]]
"""Makes the rows of those of a block's texts that are asked for by the digests of items and judgments."""


@dataclass(slots=True)
class Keeping:
    """Keeps blocks of one run.

    Attributes:
        reused: how many assessments were there already, as the newest ones.
    """

    store: BulkStore
    reused: int = 0

    async def keep(self, block: AssessmentBlock, items: Sequence[str], texts: TextRows) -> None:
        """Keeps a block and its texts; in the database on return."""
        missing = await self.store.without_texts(items, block.judgment_digests)
        if any(missing):
            await self.store.keep_texts(*texts(*missing))
        self.reused += len(block) - await self.store.append_block(block)
