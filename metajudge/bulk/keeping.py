"""Blocks of results in a store: appended, or recognised as what is there already."""

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from metajudge.bulk.texts import DIGEST
from metajudge.store.bulk import AssessmentBlock, BulkStore, ItemRow, JudgmentRow, Numbers

TextRows = Callable[[Collection[str], Collection[str]], tuple[Sequence[ItemRow], Sequence[JudgmentRow]]]
"""Makes the rows of those of a block's texts that are asked for by the digests of items and judgments."""


@dataclass(slots=True)
class Keeping:
    """Keeps blocks of one run.

    A block that an earlier run has kept is recognised by its digest and the store's newest version at the end of that
    run: as long as nothing was appended since, its rows are the newest ones, and are not looked up one by one.

    Attributes:
        reused: how many assessments were recognised in this way, or one by one.
    """

    store: BulkStore
    reused: int = 0
    _before: int = -1
    _added: int = 0
    _news: bool = False
    _blocks: list[tuple[bytes, Numbers]] = field(default_factory=list)

    async def start(self) -> None:
        """Call it before the first block."""
        self._before = await self.store.newest_version()

    async def keep(self, block: AssessmentBlock, items: Sequence[str], texts: TextRows) -> None:
        """Keeps a block and its texts; in the database on return."""
        content = _digest(block)
        (known,) = await self.store.find_results([_key(self._before, content)])
        if known is not None:
            self.reused += len(block)
            self._blocks.append((content, known))
            return
        missing = await self.store.without_texts(items, block.judgment_digests)
        if any(missing):
            await self.store.keep_texts(*texts(*missing))
        appended = await self.store.append_block(block)
        self._news = True
        self._added += appended.added
        self.reused += len(block) - appended.changed
        self._blocks.append((content, appended.numbers))

    async def finish(self) -> None:
        """Call it after the last block: the next run will recognise them."""
        newest = await self.store.newest_version()
        if newest - self._before == self._added and self._news:  # else all is known already
            keys = [_key(newest, content) for content, _ in self._blocks]
            await self.store.keep_results(keys, [numbers for _, numbers in self._blocks])


def _digest(block: AssessmentBlock) -> bytes:
    """Of all that a block says."""
    found = hashlib.sha256("".join((*block.keys, *block.judgment_digests)).encode())  # the keys name the signals
    found.update(b"".join(block.payloads))
    said = block.annotations
    if said is not None:
        kinds = [b"-" if one is None else one.payload for one in said.kinds]
        found.update(b"".join([kinds[code] for code in said.codes.tolist()]))
        found.update(said.probabilities.tobytes())
        found.update(said.numbers.tobytes())
    return found.digest()


def _key(newest: int, content: bytes) -> bytes:
    return hashlib.sha256(newest.to_bytes(8, "big") + content).digest()[:DIGEST]
