"""Blocks of results in a store: appended, or recognised as what is there already."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from metajudge.bulk.texts import DIGEST
from metajudge.store.bulk import AssessmentBlock, BulkStore, ItemRow, JudgmentRow, Numbers

TextRows = Callable[[], tuple[Sequence[ItemRow], Sequence[JudgmentRow]]]
"""Makes the rows of a block's texts, which are read for it."""


@dataclass(slots=True)
class Keeping:
    """Keeps blocks of one run.

    A block that an earlier run has kept is recognised by its digest and the store's newest version at the end of that
    run: as long as nothing was appended since, its rows are the newest ones, and are not looked up one by one.

    Attributes:
        reused: how many assessments were recognised in this way.
    """

    store: BulkStore
    reused: int = 0
    _before: int = -1
    _added: int = 0
    _blocks: list[tuple[bytes, Numbers]] = field(default_factory=list)

    async def start(self) -> None:
        """Call it before the first block."""
        self._before = await self.store.newest_version()

    async def keep(self, block: AssessmentBlock, texts: TextRows) -> None:
        """Keeps a block and its texts; in the database on return."""
        content = _digest(block)
        (known,) = await self.store.find_results([_key(self._before, content)])
        if known is not None:
            self.reused += len(block)
            self._blocks.append((content, known))
            return
        await self.store.keep_texts(*texts())
        appended = await self.store.append_block(block)
        self._added += appended.added
        self._blocks.append((content, appended.numbers))

    async def finish(self) -> None:
        """Call it after the last block: the next run will recognise them."""
        newest = await self.store.newest_version()
        if newest - self._before == self._added and not (self.reused and not self._added):  # else all is known already
            keys = [_key(newest, content) for content, _ in self._blocks]
            await self.store.keep_results(keys, [numbers for _, numbers in self._blocks])


def _digest(block: AssessmentBlock) -> bytes:
    """Of all that a block says."""
    found = hashlib.sha256()
    for key in block.keys:
        found.update(key.encode())
    for payload in block.payloads:
        found.update(payload)
    for said in block.annotations:
        found.update(b"-" if said is None else said.payload)
    return found.digest()


def _key(newest: int, content: bytes) -> bytes:
    return hashlib.sha256(newest.to_bytes(8, "big") + content).digest()[:DIGEST]
