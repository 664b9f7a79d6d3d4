"""The unit of dependence: which items of an input are no independent observations.

Items that state one question id belong together; else those that ask the same (question and reference; a context that
was shown is part of the question). An item without a question stands for itself. Where no id is stated and one text
covers more than nine tenths of the items, it is an instruction (moderation, faithfulness), and each item stands for
itself. A caller who knows the unit states it: :func:`stated`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from metajudge.errors import InputError
from metajudge.types import AnyVerdict, Item, Judgment, Label, text_digest
from metajudge.types.judgment import Scale
from metajudge.types.label import settled

QUESTION: Final = "question"
ITEM: Final = "item"
TEXT: Final = "text"
"""By the question's text alone: the recipe of calibrations that name none."""

MOST_SHARE: Final = 0.9
"""A text that more items than this share have is an instruction."""
FEW: Final = 20
"""With fewer texts than this it is said how many there are."""

_NAME: Final = "cluster:"
"""Before the name of a cluster, where that is stated as the question id."""


class Asked(NamedTuple):
    """What one item says of its unit.

    Attributes:
        unit: the name of its question: by its stated id, else by question and reference.
    """

    item: str
    text: str
    unit: str
    stated: bool

    @classmethod
    def of(cls, item: Item) -> "Asked":
        """Of one item, whatever else is in the input."""
        return cls.of_parts(item.id, item.opening, item.reference, item.question_id)

    @classmethod
    def of_parts(cls, item_id: str, opening: str, reference: str | None, question_id: str | None) -> "Asked":
        """The same of an item's parts; ``opening`` is the question that it opens with, empty without texts."""
        text = text_digest(opening or item_id)
        if question_id is not None:
            name = question_id.removeprefix(_NAME)
            return cls(item_id, text, name if name != question_id else text_digest(question_id), True)
        return cls(item_id, text, text_digest(f"{text} {text_digest(reference)}") if reference else text, False)

    def named(self, unit: str) -> str:
        """The name of its cluster by a recipe, 32 hexadecimal digits: by the text, the item, or what is stated."""
        return self.text if unit == TEXT else text_digest(self.item) if unit == ITEM else self.unit


class ItemFact(NamedTuple):
    """What evidence keeps of an item.

    Attributes:
        digest: of its content; one id with two digests is a conflict.
        question: name of its cluster among all the items .
        scale: the lowest and highest grade, or the categories from worst to best.
        text, unit, stated: as :class:`Asked` has them.
        label: what its records state is right; None where none states it.
        labels: what people say of it, over all its records, each with annotator and time.
    """

    id: str
    digest: str
    question: str
    scale: Scale | None
    text: str
    unit: str
    stated: bool
    label: AnyVerdict | None = None
    labels: tuple[Label, ...] = ()

    @property
    def asked(self) -> Asked:
        return Asked(self.id, self.text, self.unit, self.stated)

    @property
    def truth(self) -> AnyVerdict | None:
        """The label, else what most people say; None without either, and where people disagree."""
        return self.label if self.label is not None else settled(self.labels)

    @property
    def answers(self) -> list[AnyVerdict]:
        """The label and every answer of people."""
        return [*(() if self.label is None else (self.label,)), *(one.value for one in self.labels)]


def unit_of(items: Sequence[Asked]) -> str:
    """The unit of an input's items: :data:`ITEM` where one unstated text covers most of them, else the question."""
    if len(items) < 2 or any(one.stated for one in items):
        return QUESTION
    return ITEM if _commonest(items) > MOST_SHARE * len(items) else QUESTION


def note_of(items: Sequence[Asked], given: str | None) -> str | None:
    """What to know of the unit, in a sentence; None where it is the question, and there are many."""
    if given not in (None, QUESTION):
        return f"A question here is what has the same {given} (--unit {given})."
    if given is None and any(one.stated for one in items):
        return None
    if unit_of(items) == ITEM:
        return (
            f"One text covers {_commonest(items):,} of {len(items):,} items, so it counts as an instruction, and each "
            "item as a question of its own (`--unit question` if it is a question)."
        )
    texts = len({one.unit for one in items})
    if not texts < min(FEW, len(items)):
        return None
    covers, they = ("text covers", "it is an instruction") if texts == 1 else ("texts cover", "they are instructions")
    return f"{texts} {covers} all {len(items):,} items: `--unit item` if {they}."


def _commonest(items: Sequence[Asked]) -> int:
    return max(Counter(one.unit for one in items).values())


class Clusters:
    """The clusters of an input's items.

    Attributes:
        note: what to know of the unit where it follows from the items (:func:`note_of`).
    """

    def __init__(self, judgments: Iterable[Judgment] = ()) -> None:
        self._asked: dict[str, Asked] = {}
        for judgment in judgments:
            if judgment.item.id not in self._asked:
                self._asked[judgment.item.id] = Asked.of(judgment.item)
        items = list(self._asked.values())
        self._unit, self.note = unit_of(items), note_of(items, None)

    def name(self, item: Item) -> str:
        """The cluster of an item: 32 hexadecimal digits."""
        return (self._asked.get(item.id) or Asked.of(item)).named(self._unit)

    def number(self, item: Item) -> int:
        """The same as a number in [0, 2**64)."""
        return int(self.name(item)[:16], 16)


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
            name = _NAME + Asked.of(item).unit
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
    item = judgment.item
    own = {"category": item.category, "reference": item.reference, "question_id": item.question_id}
    known = {field: value for field, value in own.items() if value is not None} | judgment.meta
    value = known.get(name)
    if isinstance(value, bool | int | float | str) and value != "":
        return str(value)
    raise InputError(
        f"--unit {name}: judgment {judgment.id!r} has no such field, but {', '.join(sorted(known)) or 'none'}: name "
        f"item, question or a field that all have; a column of a table becomes one by --map meta.{name}={name}"
    )
