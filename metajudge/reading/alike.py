"""Records that say what a record before said: their judgments are made without another check.

What can be wrong about a verdict depends on a few fields and on the names, models and scale of the responses. Records
that agree in these differ in texts alone.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, TypeAlias

import orjson

from metajudge.reading.containers.cells import cell
from metajudge.types import Category, Item, Judgment

Said: TypeAlias = tuple[Any, ...]
"""What the check of a judgment depends on, beside its id, its judge and its rationale."""

MOST_KEPT: Final = 1_000
"""Different judgments that are kept for comparison."""
_NUMBERS: Final = frozenset((int, float, bool))


class Alike:
    """Judgments that were checked, by what they say.

    Args:
        columns: those whose cells say something of the verdict, the order or the caller's own data.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._checked: dict[Said, Judgment] = {}

    def said(self, data: Mapping[str, Any], item: Item) -> Said | None:
        """What a row says; None where it can be compared with no other row."""
        if item.labels:
            return None
        found: list[Any] = [*item.responses, item.scale, isinstance(item.label, Category)]
        if item.models:
            found += item.models.items()
        for column in self._columns:
            value = data[column] if column in data else cell(data, column)
            kind = type(value)
            if value is None or kind is str:
                found.append(value)
            elif kind in _NUMBERS:
                found.append(repr(value) if kind is float else (kind, value))  # which tells 0.0 from -0.0
            elif kind is list:
                found.append(orjson.dumps(value, default=str))
            else:
                return None
        return tuple(found)

    def find(self, said: Said | None) -> Judgment | None:
        """A checked judgment that says the same."""
        return None if said is None else self._checked.get(said)

    def keep(self, said: Said | None, judgment: Judgment) -> None:
        """Keeps a checked judgment."""
        if said is not None and len(self._checked) < MOST_KEPT:
            self._checked[said] = judgment


def retold(known: Judgment, name: str, item: Item, judge: str, rationale: str) -> Judgment | None:
    """The judgment of another row that says the same; None where its texts have to be checked."""
    if not ("!" <= name[:1] <= "~" and "!" <= judge[:1] <= "~" and name.isascii() and judge.isascii()):
        return None
    meta = deepcopy(known.meta) if known.meta else {}
    said = {"id": name, "item": item, "judge": judge.strip(), "rationale": rationale, "meta": meta}
    return known.model_copy(update=said)
