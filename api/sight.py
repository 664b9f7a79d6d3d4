"""Who may see labels: the one rule for the HTTP interface and the pages.

An item's label, and whatever follows from it, is not shown to a reviewer who is to find out what is right. A key that
may review and not read never sees one. A key that may do both sees none of an item with a review that waits for it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from metajudge.store.protocol import Store
from metajudge.store.undecided import Undecided, undecided_by

from .keys import Caller, Scope


@dataclass(frozen=True, slots=True)
class Sight:
    """What a caller may see.

    Attributes:
        reviewer: the name that their decisions carry; None while it is unknown.
    """

    caller: Caller
    reviewer: str | None

    @property
    def reviews(self) -> bool:
        """Whether the caller decides reviews."""
        return Scope.REVIEW in self.caller.scopes

    @property
    def labels(self) -> bool:
        """Whether the caller sees any label, and figures based on labels."""
        return not self.reviews or not self.caller.scopes.isdisjoint({Scope.READ, Scope.ADMIN})

    async def undecided(self, store: Store) -> Undecided:
        """What waits for the caller's decision."""
        return await store.ask(lambda connection: undecided_by(connection, self.reviewer))

    async def withheld(self, store: Store) -> Callable[[str], bool]:
        """Tells of an item, by its id, whether its label must not be shown."""
        if not self.labels:
            return lambda _item: True
        if not self.reviews:
            return lambda _item: False
        items = (await self.undecided(store)).items
        return lambda item: item in items
