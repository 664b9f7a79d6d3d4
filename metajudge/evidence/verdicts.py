"""Verdicts: what evidence needs to know of each judgment, as columns; no texts.

A fact is a number, a name or a short detail of a signal. Values that repeat, such as judges and verdicts, are kept once
in a table, and a column has their places in it. A judgment costs about 60 bytes of columns, its id, and its share of
the tables: under 250 bytes where a few judges judged each item in both orders.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from struct import Struct
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from metajudge.errors import InputError
from metajudge.evidence.format import compared_lengths, stated_confidence, word_counts
from metajudge.evidence.grouping import Integers, Interned, Key, compared
from metajudge.evidence.rationale import Stated, stated_agreement
from metajudge.evidence.rules import Rules, grade_values, scales_of
from metajudge.evidence.units import Asked, ItemFact, unit_of
from metajudge.stats.arrays import Bools, Floats, Ints, coded
from metajudge.types import (
    VERDICT_KINDS,
    AnyVerdict,
    Category,
    Grade,
    Item,
    Judgment,
    Pairwise,
    Right,
    SignalValue,
    is_right,
    kind_of,
)
from metajudge.types.label import combined
from metajudge.types.right import DECIMALS

T = TypeVar("T")
Codes: TypeAlias = NDArray[np.int32]
"""Places in a table of values; -1 where there is none."""

NO_VERDICT = -1
"""The code of an absent verdict or label in a column."""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The facts of n judgments in the order of the input.

    Columns of codes are [n] int32 with places in the table of the same name in the plural. Columns of texts (from
    ``rationale`` on) are those of empty texts where the builder was told to leave texts out.

    Attributes:
        judgment_ids: [n].
        item, items: the item, by id and content, with people's labels; an id stands twice where it was used for two
            contents.
        model, models: the model behind the judge (``meta.judge_model``) as the record states it, -1 where it does not.
        verdict, verdicts: the verdict, -1 where the judge gave none.
        truth, truths: what is right (:attr:`~metajudge.types.Item.truth`), -1 without a label.
        category, categories: of the item, -1 where it has none.
        reason, reasons: why there is no verdict, -1 where there is one.
        rationale, rationales: value, state and detail of the signal ``rationale``.
        words: [n] number of words of the rationale.
        own_words: [n] words of the response preferred, or of the only response that was shown; -1 where neither is.
        other_words: [n] mean words of the responses that the verdict compares it with, NaN where there are none.
        confidence: [n] the stated confidence (:func:`~metajudge.evidence.format.stated_confidence`), NaN if none.
        copies: judge -> the judge whose copy it is (:attr:`~metajudge.evidence.dependence.Dependence.copies`), for
            judges that have one; they have one voice together.
    """

    judgment_ids: Sequence[str]
    item: Codes
    items: Sequence[ItemFact]
    judge: Codes
    judges: Sequence[str]
    model: Codes
    models: Sequence[str]
    order: Codes
    orders: Sequence[tuple[str, ...]]
    verdict: Codes
    verdicts: Sequence[AnyVerdict]
    truth: Codes
    truths: Sequence[AnyVerdict]
    category: Codes
    categories: Sequence[str]
    reason: Codes
    reasons: Sequence[str]
    rationale: Codes
    rationales: Sequence[Stated]
    words: Codes
    own_words: Codes
    other_words: NDArray[np.float64]
    confidence: NDArray[np.float64]
    copies: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.judgment_ids)

    @cached_property
    def kind(self) -> Codes:
        """[n] place of the verdict's kind in :data:`~metajudge.types.VERDICT_KINDS`, -1 without a verdict."""
        of_verdict = [VERDICT_KINDS.index(kind_of(verdict)) for verdict in self.verdicts]
        return np.array([*of_verdict, NO_VERDICT], dtype=np.int32)[self.verdict]

    def verdict_of(self, code: int) -> AnyVerdict | None:
        """The verdict of a code."""
        return None if code < 0 else self.verdicts[code]

    @cached_property
    def model_of(self) -> Mapping[str, str]:
        """Judge -> the first model that a record of it states; judges without one are left out."""
        stated = np.flatnonzero(self.model >= 0)
        _, first = np.unique(self.judge[stated], return_index=True)
        rows = stated[first].tolist()
        return {self.judges[self.judge[row]]: self.models[self.model[row]] for row in rows}

    def rules(self, right: Right | None = None) -> Rules:
        """What counts as right in the input.

        Args:
            right: for the kinds of verdicts it applies to; None for the default of each kind.
        """
        labels = np.unique(
            self.truth[(self.verdict >= 0) & (self.truth >= 0) & np.append(self.graded, False)[self.verdict]]
        )
        given = [self.verdicts[code] for code in np.unique(self.verdict[self.verdict >= 0])]
        rules = Rules(right, given, [self.truths[code] for code in labels])
        columns, declared = (self.judge, self.verdict, self.truth), [bool(item.scale) for item in self.items]
        rules.scales = scales_of(self.judges, self.verdicts, self.truths, columns, self.item, declared)
        return rules

    @cached_property
    def asked(self) -> list[Asked]:
        """[items] what each says of its unit."""
        return [one.asked for one in self.items]

    def conflicts(self) -> Mapping[str, list[int]]:
        """Item id -> its places in ``items``, for ids that were used for different contents."""
        places: dict[str, list[int]] = {}
        for at, item in enumerate(self.items):
            places.setdefault(item.id, []).append(at)
        return {name: found for name, found in places.items() if len(found) > 1}

    def refuse_conflicts(self) -> None:
        """Raises :class:`InputError` where the content of an item differs between two judgments, and names these."""
        for item_id, places in self.conflicts().items():
            first, other = (self.judgment_ids[int(np.argmax(self.item == place))] for place in places[:2])
            raise InputError(
                f"item {item_id!r} has two different contents: in judgment {first!r} and in judgment {other!r}. "
                "Evidence compares verdicts on the same item: give each content its own item id, or repair the record "
                "that differs."
            )

    def select(self, rows: NDArray[np.integer[Any]] | slice) -> "Verdicts":
        """The facts of chosen rows; tables stay as they are."""
        ids = self.judgment_ids
        chosen = ids[rows] if isinstance(rows, slice) else list(map(ids.__getitem__, rows.tolist()))
        return replace(self, judgment_ids=chosen, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    def of_items(self, rows: Ints) -> "Verdicts":
        """The facts of chosen rows, their items alone in the table and in the order that they had there."""
        in_line = len(rows) > 0 and bool((np.diff(rows) == 1).all())  # mostly: then nothing is copied
        chosen = self.select(slice(int(rows[0]), int(rows[-1]) + 1) if in_line else rows)
        item, first = Key.of(chosen.item, len(self.items)).distinct()
        items = [self.items[code] for code in chosen.item[first].tolist()]
        found = replace(chosen, item=item.astype(np.int32), items=items)
        # What was worked out for the other tables holds for the chosen rows too.
        found.__dict__.update({name: getattr(self, name) for name in _OF_TABLES})
        return found

    def agree(self, rule: Right, rows: Integers, other: Integers, others: Sequence[AnyVerdict]) -> Floats:
        """Whether the verdicts of chosen rows are right by other ones.

        Args:
            rows: that have a verdict.
            other: [rows] places in ``others``.

        Returns:
            [rows] 1 right, 0 wrong, NaN where the rule cannot compare the two.
        """
        if rule.name not in ("equal", "within") or not all(isinstance(one, Grade) for one in self.verdicts):
            return compared(self.verdict[rows], other, self.verdicts, others, partial(is_right, rule=rule))
        # Grades may have as many values as there are rows.
        apart = np.abs(grade_values(self.verdicts)[self.verdict[rows]] - grade_values(others)[other])
        return np.where(np.isnan(apart), np.nan, np.round(apart - (rule.value or 0.0), DECIMALS) <= 0)

    @cached_property
    def question(self) -> Ints:
        """[items] number of each one's question, the unit of dependence."""
        return coded([item.question for item in self.items])[1]

    @property
    def by_cluster(self) -> Ints:
        """[n] number of each row's question: rows of one question are not independent."""
        return np.asarray(self.question[self.item])

    @cached_property
    def names(self) -> Ints:
        """[judges] place of each judge's name among the sorted names."""
        places = np.empty(len(self.judges), dtype=np.int64)
        places[sorted(range(len(self.judges)), key=self.judges.__getitem__)] = np.arange(len(self.judges))
        return places

    @cached_property
    def judge_model(self) -> Ints:
        """[judges] number of the model behind each judge (:attr:`model_of`), -1 where none is known."""
        known = Interned[str]()
        return np.array([known.optional(self.model_of.get(judge)) for judge in self.judges], dtype=np.int64)

    @cached_property
    def voice(self) -> Ints:
        """[judges] number of the voice of each judge, which copies share."""
        return coded([self.copies.get(judge, judge) for judge in self.judges])[1]

    def are_variants(self, judge: Integers, other: Integers) -> Bools:
        """[n] whether two judges are one model under different names."""
        model = self.judge_model
        return np.asarray((judge != other) & (model[judge] >= 0) & (model[judge] == model[other]))

    @cached_property
    def shown(self) -> Ints:
        """[orders] number of the set of responses that each order shows."""
        return coded([frozenset(order) for order in self.orders])[1]

    @property
    def pairs_only(self) -> bool:
        """Whether all verdicts that there are compare two responses."""
        return bool(self.paired[self.verdict].all())

    @cached_property
    def paired(self) -> Bools:
        """[verdicts + 1] whether each compares two responses; true for a missing one."""
        return np.array([*(isinstance(one, Pairwise) for one in self.verdicts), True], dtype=bool)

    @cached_property
    def graded(self) -> Bools:
        """[verdicts] whether each is a grade or a category."""
        return np.array([isinstance(one, Grade | Category) for one in self.verdicts], dtype=bool)


_OF_TABLES: Final = ("model_of", "names", "judge_model", "voice", "shown", "paired", "graded")
"""What follows from the tables without the items."""


CODED: Final = {
    "item": "items",
    "judge": "judges",
    "model": "models",
    "order": "orders",
    "verdict": "verdicts",
    "truth": "truths",
    "category": "categories",
    "reason": "reasons",
    "rationale": "rationales",
}
"""Columns of codes of :class:`Verdicts`, and the tables that they have places in."""
COUNTED: Final = ("words", "own_words")
NUMBERS: Final = ("other_words", "confidence")

_CODES: Final = (*CODED, *COUNTED)
_COLUMNS: Final = (*_CODES, *NUMBERS)

_ROW: Final = Struct(f"={len(_CODES)}i{len(NUMBERS)}d")
_ROW_TYPE: Final = np.dtype([*((name, np.int32) for name in _CODES), *((name, np.float64) for name in NUMBERS)])
"""A judgment's columns side by side, packed and as an array."""


class VerdictsBuilder:
    """Collects facts one judgment at a time; the result does not depend on how judgments are divided into calls.

    Args:
        texts: whether to read rationales and count words; without it signals of the text are those of empty texts.
    """

    def __init__(self, *, texts: bool = True) -> None:
        self._texts = texts
        self._ids: list[str] = []
        self._rows = bytearray()  # one after the other, as _ROW
        self._items: dict[tuple[str, str], int] = {}
        self._item_facts: list[ItemFact] = []
        self._tables = {name: Interned[Any]() for name in CODED.values() if name != "items"}
        self._word_counts: dict[int, tuple[int, ...]] = {}
        self._last = _LastItem(None)

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, judgment: Judgment) -> None:
        """Takes the facts of one judgment."""
        self.add_all([judgment])

    def add_all(self, judgments: Sequence[Judgment]) -> None:
        """Takes the facts of some judgments."""
        if not self._texts:
            for judgment in judgments:
                self._add(judgment, _NO_TEXT, 0)
            return
        # One step for all of them after the other: the code and the tables of a step stay near the processor.
        counts = word_counts([judgment.rationale for judgment in judgments])
        stated = [stated_agreement(judgment) for judgment in judgments]
        for judgment, said, words in zip(judgments, stated, counts, strict=True):
            self._add(judgment, said, words)

    def _add(self, judgment: Judgment, stated: Stated, words: int) -> None:
        last, verdict, order, meta = self._last, judgment.verdict, judgment.order, judgment.meta
        if judgment.item is not last.item:  # records of one item mostly follow one another
            last = self._last = self._taken(judgment.item)
        known = last.of_verdict.get(id(verdict))
        if known is None:
            known = last.of_verdict[id(verdict)] = self._of_verdict(verdict, last.words)
        _, code, own, other = known
        model, confidence = meta.get("judge_model"), _NAN
        if self._texts:
            if len(order) == 1:
                own = last.words.get(order[0], -1)
            if "confidence" in meta:
                said = stated_confidence(meta["confidence"])
                confidence = _NAN if said is None else said
        reason, tables = judgment.no_verdict, self._tables
        self._ids.append(judgment.id)
        self._rows += _ROW.pack(
            last.place,
            tables["judges"].code(judgment.judge),
            tables["models"].code(model) if isinstance(model, str) and model else -1,
            tables["orders"].code(order),
            code,
            last.truth,
            last.category,
            -1 if reason is None else tables["reasons"].code(reason),
            tables["rationales"].code(stated),
            words,
            own,
            other,
            confidence,
        )

    def facts(self) -> Verdicts:
        """The facts of everything added so far; the builder can go on."""
        rows = np.frombuffer(self._rows, dtype=_ROW_TYPE)
        columns: dict[str, Any] = {name: rows[name].copy() for name in _COLUMNS}
        columns |= {name: table.values for name, table in self._tables.items()}
        unit = unit_of([one.asked for one in self._item_facts])
        return Verdicts(
            judgment_ids=list(self._ids),
            items=[one._replace(question=one.asked.named(unit)) for one in self._item_facts],
            **columns,
        )

    def _taken(self, item: Item) -> "_LastItem":
        key = (item.id, item.digest)
        place = self._items.get(key)
        if place is None:
            said = Asked.of(item)
            place = self._items[key] = len(self._item_facts)
            self._item_facts.append(ItemFact(*key, said.unit, item.scale, said.text, said.unit, said.stated))
        if item.label is not None or item.labels:
            known = self._item_facts[place]
            label = known.label if item.label is None else item.label
            self._item_facts[place] = known._replace(label=label, labels=combined(known.labels, item.labels))
        words = self._words_of(item, place) if self._texts and item.has_texts else {}
        tables = self._tables
        truth, category = tables["truths"].optional(item.truth), tables["categories"].optional(item.category)
        return _LastItem(item, words, place, truth, category)

    def _words_of(self, item: Item, place: int) -> Mapping[str, int]:
        """Response id -> its number of words, counted once where records of an item do not follow one another."""
        names, counts = sorted(item.responses), self._word_counts.get(place)
        if counts is None:
            counts = self._word_counts[place] = tuple(item.words[name] for name in names)
        return dict(zip(names, counts, strict=True))

    def _of_verdict(self, verdict: AnyVerdict | None, words: Mapping[str, int]) -> "_OfVerdict":
        lengths = compared_lengths(verdict, words) if words else (-1, _NAN)
        return (verdict, self._tables["verdicts"].optional(verdict), *lengths)


_OfVerdict: TypeAlias = tuple[AnyVerdict | None, int, int, float]
"""A verdict, its code, the words of the response that it prefers and the mean words of the others."""


@dataclass(slots=True)
class _LastItem:
    """What the judgments of an item share.

    Attributes:
        of_verdict: by the identity of the verdict, as records that were read share those that are equal.
    """

    item: Item | None
    words: Mapping[str, int] = field(default_factory=dict)
    place: int = -1
    truth: int = -1
    category: int = -1
    of_verdict: dict[int, _OfVerdict] = field(default_factory=dict)


def collected(judgments: Iterable[Judgment], *, texts: bool = True) -> Verdicts:
    """The facts of judgments in one pass."""
    builder = VerdictsBuilder(texts=texts)
    for judgment in judgments:
        builder.add(judgment)
    return builder.facts()


@dataclass(frozen=True, eq=False)  # slots would forbid to make one by an alias such as SignalColumn
class Coded(Generic[T]):
    """A value for each of n judgments.

    Attributes:
        codes: [n] places in ``values``, -1 where a judgment has none.
    """

    codes: NDArray[np.integer[Any]]
    values: Sequence[T]

    def at(self, row: int) -> T | None:
        """The value of one judgment."""
        code = self.codes[row]
        return None if code < 0 else self.values[code]


SignalColumn: TypeAlias = Coded[SignalValue]


_NAN = float("nan")
_NO_TEXT: Stated = (None, "no_rationale", "no rationale was recorded")
