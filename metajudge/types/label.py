"""Labels: what people say is right about an item, and the one answer that several of them make."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints

from metajudge.types.frozen import Frozen, left_out
from metajudge.types.no_answer import passing as passing
from metajudge.types.verdict import AnyVerdict, Grade, Pairwise, Verdict


class Drawn(Frozen):
    """An item was drawn at random, each item of the population with the same probability.

    Attributes:
        probability: with which an item was drawn, in (0, 1].
        floor: lowest score of the population that was drawn from; None where all items could be drawn.
        seed: of the draw, where it is known.
    """

    probability: float = Field(gt=0, le=1)
    floor: float | None = left_out()
    seed: int | None = left_out()


Chosen: TypeAlias = Drawn | Literal["picked"]
"""How an item came to be labelled: drawn at random, or picked for what it is."""

CHOSEN_COLUMNS: Final = ("chosen", "drawn_probability", "drawn_floor", "drawn_seed")
"""Columns of a table of labels that say so: ``chosen`` is ``drawn`` or ``picked``; the others belong to ``drawn``."""


def chosen_in(row: Mapping[str, Any]) -> Chosen | None:
    """How the item of a row was chosen, by :data:`CHOSEN_COLUMNS`; None where the row does not say.

    A column ``chosen`` with any other word, such as the preferred response, says nothing.

    Raises:
        ValueError: a row that was drawn without a probability in (0, 1], or a floor or seed that is no number.
    """
    word, *drawn = (row.get(name) for name in CHOSEN_COLUMNS)
    said = str(word).strip().casefold()
    if said == "picked":
        return "picked"
    if said != "drawn":
        return None
    try:
        probability, floor, seed = (None if one in (None, "") or one != one else float(one) for one in drawn)
        return Drawn.model_validate({"probability": probability, "floor": floor, "seed": seed})
    except (TypeError, ValueError):
        given = ", ".join(f"{name} {one!r}" for name, one in zip(CHOSEN_COLUMNS[1:], drawn, strict=True))
        raise ValueError(f"drawn, but {given}: a drawn row needs its probability in (0, 1]") from None


def chosen_cells(chosen: Chosen | None) -> dict[str, Any]:
    """The cells of :data:`CHOSEN_COLUMNS` that :func:`chosen_in` reads."""
    if not isinstance(chosen, Drawn):
        return {} if chosen is None else {"chosen": chosen}
    return dict(zip(CHOSEN_COLUMNS, ("drawn", chosen.probability, chosen.floor, chosen.seed), strict=True))


class Label(Frozen):
    """One person's answer on an item, in the terms of a verdict.

    Attributes:
        value: what the person says is right.
        annotator: who said it; None where the source does not say.
        time: when, where the source says.
        chosen: how the item came to be labelled; None where the source does not say.
    """

    value: Verdict
    annotator: Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)] | None = left_out()
    time: datetime | None = left_out()
    chosen: Chosen | None = left_out()


RULINGS: Final = frozenset(("adjudicated", "adjudication", "adjudicator", "adjudicated_label", "ruling"))
"""Annotators whose label is a ruling on what people said, not the answer of one more person."""


def is_ruling(annotator: str | None) -> bool:
    """Whether who said it says that it is a ruling, also behind a person's name (``anna/adjudicated``)."""
    name = (annotator or "").rpartition("/")[2]
    return name.strip().casefold().replace("-", "_").replace(" ", "_") in RULINGS


def as_ruling(annotator: str | None) -> str:
    """The annotator of a ruling by a person, for :func:`is_ruling`."""
    return f"{annotator}/adjudicated" if annotator else "adjudicated"


def labels_in(data: Iterable[Any]) -> tuple[Label, ...]:
    """Labels from their JSON form."""
    return tuple(map(Label.model_validate, data))


def combined(first: Sequence[Label], second: Sequence[Label]) -> tuple[Label, ...]:
    """The labels of two records of one item, those of the second one last; what stands in both is one answer."""
    left = Counter(second)
    left.subtract(first)
    kept = []
    for one in first:
        if left[one] < 0:
            left[one] += 1
            kept.append(one)
    return (*kept, *second)


def chosen_of(labels: Sequence[Label]) -> Chosen | None:
    """How an item with these labels was chosen: drawn where one of them was, else picked where one was."""
    said = [one.chosen for one in labels if one.chosen is not None]
    return next((one for one in said if isinstance(one, Drawn)), said[0] if said else None)


def answers(labels: Sequence[Label]) -> tuple[Label, ...]:
    """One answer a person: the newest one, without times the last one; a ruling is not a person's answer.

    An answer with a time is newer than one without. Labels without a name are by a person each.

    Args:
        labels: of one item, over all its records, in their order.
    """
    found: dict[str | int, Label] = {}
    for place, one in enumerate(labels):
        person = place if one.annotator is None else one.annotator.strip()
        known = found.get(person)
        if not is_ruling(one.annotator) and (known is None or _when(one) >= _when(known)):
            found[person] = one
    return tuple(found.values())


def answered_again(count: int) -> str:
    """What is to be known of older answers; empty without any."""
    were = "answers are older ones" if count > 1 else "answer is an older one"
    return f"{count:,} {were} of a person who answered an item again: the newest counts." if count else ""


def settled(labels: Sequence[Label]) -> AnyVerdict | None:
    """What is right by the labels of one item: the newest ruling, else what its people say together.

    See :func:`answers` and :func:`majority`.
    """
    rulings = [one for one in labels if is_ruling(one.annotator)]
    if rulings:
        return max(reversed(rulings), key=_when).value  # of equally new ones the last
    return majority([one.value for one in answers(labels)])


def _when(label: Label) -> float:
    """Seconds since 1970, of a time without a zone as UTC; lower than any without a time."""
    if label.time is None:
        return float("-inf")
    time = label.time if label.time.tzinfo is not None else label.time.replace(tzinfo=UTC)
    return time.timestamp()


def majority(values: Sequence[AnyVerdict]) -> AnyVerdict | None:
    """What several people say together.

    - Pairwise: the response that most of them prefer; where the most frequent answers are equally frequent, a tie.
      Strengths are dropped.
    - Grades: the median, the mean of the middle two where their number is even.
    - Rankings and categories: the most frequent one; None where several are equally frequent.

    Args:
        values: of one kind; any order.

    Returns:
        None without values, for values of several kinds, and for an undecided vote of a kind without ties.
    """
    if not values or len({type(one) for one in values}) > 1:
        return None
    if all(isinstance(one, Grade) for one in values):
        return Grade(float(median(one.value for one in values if isinstance(one, Grade))))
    first = values[0]
    if isinstance(first, Pairwise):
        return _pairwise(first, [one for one in values if isinstance(one, Pairwise)])
    most = Counter(values).most_common()
    if len(most) > 1 and most[0][1] == most[1][1]:
        return None
    return most[0][0]


def _pairwise(first: Pairwise, values: Sequence[Pairwise]) -> Pairwise | None:
    pair = sorted(first.ids)
    if any(sorted(one.ids) != pair for one in values):
        return None
    counts = Counter(one.winner for one in values).most_common()
    winner = None if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]
    if winner is None:
        return Pairwise(pair[0], pair[1], 0)
    return Pairwise(winner, next(name for name in pair if name != winner), 1)
