"""The unit of dependence: which items of an input are no independent observations.

Items that state one question id belong together; else those that ask the same (question and reference; a context that
was shown is part of the question). Where no id is stated and one text covers more than nine tenths of the items, it is
an instruction (moderation, faithfulness), and each item stands for itself. Whoever knows better states the unit:
:func:`stated`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from metajudge.errors import InputError
from metajudge.types import Item, Judgment, text_digest

QUESTION: Final = "question"
ITEM: Final = "item"
TEXT: Final = "text"
"""By the question's text alone: the recipe of calibrations that name none."""

MOST_SHARE: Final = 0.9
"""A text that more items than this share have is an instruction."""
FEW: Final = 20
"""With fewer clusters it is said how many texts there are."""

_KNOWN: Final = "text:"
"""Before the name of a cluster, where that is stated as the question id."""


class Asked(NamedTuple):
    """What one item says of its unit.

    Attributes:
        item: its id.
        text: digest of the question that it opens with.
        unit: the name of its question: by its stated id, else by question and reference.
        stated: whether an id is stated.
    """

    item: str
    text: str
    unit: str
    stated: bool

    @classmethod
    def of(cls, item: Item) -> "Asked":
        """Of one item, whatever else is in the input."""
        text, given, reference = text_digest(item.opening), item.question_id, item.reference
        if given is not None:
            known = given.removeprefix(_KNOWN)
            return cls(item.id, text, known if known != given else text_digest(given), True)
        return cls(item.id, text, text if not reference else text_digest(f"{text} {text_digest(reference)}"), False)

    def named(self, unit: str) -> str:
        """The name of its cluster by a recipe: text, item, or what is stated."""
        return self.text if unit == TEXT else text_digest(self.item) if unit == ITEM else self.unit


class _Says(Protocol):
    """What an input keeps of an item; see :class:`Asked`."""

    @property
    def unit(self) -> str: ...

    @property
    def stated(self) -> bool: ...


def unit_of(items: Sequence[_Says]) -> str:
    """The unit of the items of an input: :data:`ITEM` where one unstated text covers most of them, else the question.

    Args:
        items: of the whole input, each once.
    """
    if len(items) < 2 or any(one.stated for one in items):
        return QUESTION
    ((_, most),) = Counter(one.unit for one in items).most_common(1)
    return ITEM if most > MOST_SHARE * len(items) else QUESTION


class Clusters:
    """The clusters of an input's items.

    Args:
        judgments: all of the input.
        unit: that was asked for (:func:`stated`); None where it follows from the items.

    Attributes:
        unit: what a cluster is: :data:`QUESTION`, :data:`ITEM`, or the field that was asked for.
        note: what to know where there are few; None where there are many.
    """

    def __init__(self, judgments: Iterable[Judgment] = (), unit: str | None = None) -> None:
        asked: dict[str, Asked] = {}
        for judgment in judgments:
            if judgment.item.id not in asked:
                asked[judgment.item.id] = Asked.of(judgment.item)
        items = list(asked.values())
        self._recipe = unit_of(items)
        self._asked = asked
        self.unit = unit or self._recipe
        names = {one.named(self._recipe) for one in items}
        self.note = None if unit else few(len(names), len(items))

    def name(self, item: Item) -> str:
        """The cluster of an item: 32 hexadecimal digits."""
        return (self._asked.get(item.id) or Asked.of(item)).named(self._recipe)


def few(clusters: int, items: int) -> str | None:
    """What to know where a few texts cover all items: intervals are wide, and texts may be instructions."""
    if not 0 < clusters < min(FEW, items):
        return None
    texts, they, are = ("1 text covers", "it is", "an instruction") if clusters == 1 else (
        f"{clusters} texts cover", "they are", "instructions"
    )
    return f"{texts} all {items:,} items: `--unit item` if {they} {are}"


def counted(number: int, unit: str) -> str:
    """A number of clusters in words: 12 questions, 300 items, 7 values of `session`."""
    more = "" if number == 1 else "s"
    return f"{number:,} {unit}{more}" if unit in (QUESTION, ITEM) else f"{number:,} value{more} of `{unit}`"


def stated(unit: str) -> Callable[[Judgment], Judgment]:
    """States the unit in every judgment of an input: what :class:`Asked` reads then.

    Args:
        unit: :data:`QUESTION`, :data:`ITEM`, or a field of ``meta``, else of the item.

    Returns:
        Gives a judgment with the question id of its item.

    Raises:
        InputError: of what it returns: a judgment without the field, or two of one item that differ in it.
    """
    seen: dict[str, tuple[str, str]] = {}

    def state(judgment: Judgment) -> Judgment:
        item = judgment.item
        if unit == ITEM:
            name = item.id
        elif unit == QUESTION:
            name = _KNOWN + Asked.of(item).unit
        else:
            name = _field(judgment, unit)
            first, other = seen.setdefault(item.id, (name, judgment.id))
            if first != name:
                raise InputError(
                    f"--unit {unit}: item {item.id!r} has {first!r} in judgment {other!r} and {name!r} in "
                    f"{judgment.id!r}: a unit must be the same for all judgments of an item"
                )
        return judgment.model_copy(update={"item": item.model_copy(update={"question_id": name})})

    return state


def _field(judgment: Judgment, name: str) -> str:
    plain: Mapping[str, object] = {**_plain(judgment.item), **judgment.meta}
    value = plain.get(name)
    if isinstance(value, bool | int | float | str) and value != "":
        return str(value)
    known = ", ".join(sorted(plain)) or "none"
    raise InputError(
        f"--unit {name}: judgment {judgment.id!r} has no such field ({known}): name `item`, `question` or a field that "
        f"every judgment has; a column of a table becomes one by --map meta.{name}={name}"
    )


def _plain(item: Item) -> dict[str, object]:
    found = {"category": item.category, "reference": item.reference, "question_id": item.question_id}
    return {name: value for name, value in found.items() if value is not None}
