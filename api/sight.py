"""Who may see labels: the rule for the HTTP interface and the pages.

An item's label, and anything derived from it, is hidden from reviewers who have to decide what is correct. A key with
``review`` and without ``read`` never sees labels. A key with both does not see those of items that wait for its review.
"""

from collections.abc import Callable
from dataclasses import dataclass

from metajudge.store.protocol import Store
from metajudge.store.undecided import Undecided, undecided_by

from .keys import Caller, Scope


@dataclass(frozen=True, slots=True)
class Sight:
    """A caller's permissions to see labels.

    Attributes:
        reviewer: the name recorded with their decisions; None while unknown.
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
        """The subjects and items that wait for the caller's decision."""
        return await store.ask(lambda connection: undecided_by(connection, self.reviewer))

    async def withheld(self, store: Store) -> Callable[[str], bool]:
        """A function from an item's id to whether its label must be hidden."""
        if not self.labels:
            return lambda _item: True
        if not self.reviews:
            return lambda _item: False
        items = (await self.undecided(store)).items
        return lambda item: item in items
