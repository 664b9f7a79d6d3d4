"""Lines that an earlier run has read, recognised by their digests: their facts are not made again."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from metajudge.evidence.facts import FactRow
from metajudge.store.bulk import BulkStore

VERSION: Final = 1
"""Of what is kept; raise it when a line's facts or digests would come out differently."""


class KnownLine(NamedTuple):
    """What is known of a line.

    Attributes:
        digests: of the judgment's record and of what vetting depends on: 64 hex digits.
        facts: see :meth:`metajudge.evidence.facts.Facts.row`.
    """

    digests: str
    facts: FactRow


class KnownLines:
    """Keeps what was made of lines, in a store.

    Args:
        store: None to know nothing.
    """

    def __init__(self, store: BulkStore | None) -> None:
        self.store = store

    async def find(self, lines: Sequence[bytes]) -> list[KnownLine | None]:
        """What is known of lines by their digests, in the order asked."""
        if self.store is None:
            return [None] * len(lines)
        return [_read(one) for one in await self.store.find_facts(lines)]

    async def keep(self, lines: Sequence[bytes], known: Sequence[KnownLine]) -> None:
        """Keeps what is known of lines, some thousand at a time."""
        if self.store is not None:
            await self.store.keep_facts(lines, [(VERSION, *one) for one in known])


def _read(row: Any) -> KnownLine | None:
    return KnownLine(row[1], row[2]) if row is not None and row[0] == VERSION else None
