"""Facts: what evidence needs to know of each judgment, as columns; no texts.

A fact is a number, a name or a short detail of a signal. Values that repeat, such as judges and verdicts, are kept once
in a table, and a column has their places in it. A judgment costs about 60 bytes of columns, its id, and its share of
the tables: under 250 bytes where a few judges judged each item in both orders.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from struct import Struct
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metajudge.evidence.format import compared_lengths, stated_confidence, word_counts
from metajudge.evidence.grouping import Interned, Key
from metajudge.evidence.rationale import Stated, stated_agreement
from metajudge.evidence.recorded import Recorded
from metajudge.evidence.rules import Rules, scales_of
from metajudge.evidence.units import Asked, ItemFact, unit_of
from metajudge.types import (
    VERDICT_KINDS,
    AnyVerdict,
    Item,
    Judgment,
    Right,
    SignalValue,
    kind_of,
    parse_verdict,
)
from metajudge.types.judgment import count_words

Codes: TypeAlias = NDArray[np.int32]
"""Places in a table of values; -1 where there is none."""

FactRow: TypeAlias = tuple[Any, ...]
"""The facts of one judgment as plain data that JSON can represent; see :meth:`Facts.row`."""

NO_VERDICT = -1
"""The code of an absent verdict or label in a column."""


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts of n judgments in the order of the input.

    Columns of codes are [n] int32 with places in the table of the same name in the plural. Columns of texts (from
    ``rationale`` on) are those of empty texts where the builder was told to leave texts out.

    Attributes:
        judgment_ids: [n].
        item, items: the item, by id and content; an id stands twice where it was used for two contents.
        model, models: the model behind the judge (``meta.judge_model``) as the record states it, -1 where it does not.
        verdict, verdicts: the verdict, -1 where the judge gave none.
        truth, truths: what is right (:attr:`~metajudge.types.Item.truth`), -1 where nobody says.
        category, categories: of the item, -1 where it has none.
        reason, reasons: why there is no verdict, -1 where there is one.
        rationale, rationales: value, state and detail of the signal ``rationale``.
        words: [n] number of words of the rationale.
        own_words: [n] words of the response preferred, or of the only response that was shown; -1 where neither is.
        other_words: [n] mean words of the responses that the verdict compares it with, NaN where there are none.
        confidence: [n] the stated confidence (:func:`~metajudge.evidence.confidence.stated_confidence`), NaN if none.
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

    def __len__(self) -> int:
        return len(self.judgment_ids)

    @cached_property
    def kind(self) -> Codes:
        """[n] place of the verdict's kind in :data:`~metajudge.types.VERDICT_KINDS`, -1 without a verdict."""
        of_verdict = [VERDICT_KINDS.index(kind_of(verdict)) for verdict in self.verdicts]
        return np.array([*of_verdict, NO_VERDICT], dtype=np.int32)[self.verdict]

    @cached_property
    def recorded(self) -> Recorded:
        """The verdicts alone."""
        return Recorded(
            self.item, self.judge, self.judges, self.order, self.orders, self.verdict, self.verdicts, self.model_of
        )

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
        rules = Rules(right)
        key = Key.of(self.verdict + 1, len(self.verdicts) + 1).then(self.truth + 1, len(self.truths) + 1)
        _, rows = key.distinct()
        for verdict, truth in zip(self.verdict[rows].tolist(), self.truth[rows].tolist(), strict=True):
            rules.add(self.verdict_of(verdict), None if truth < 0 else self.truths[truth])
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

    def select(self, rows: NDArray[np.integer[Any]] | slice) -> "Facts":
        """The facts of chosen rows; tables stay as they are."""
        ids = self.judgment_ids
        chosen = ids[rows] if isinstance(rows, slice) else [ids[row] for row in rows.tolist()]
        return replace(self, judgment_ids=chosen, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    def row(self, at: int) -> FactRow:
        """The facts of one judgment as plain data that JSON can represent; :meth:`FactsBuilder.add_row` takes it."""
        item = self.items[self.item[at]]
        verdict, truth = self.verdict[at], self.truth[at]
        other, confidence = float(self.other_words[at]), float(self.confidence[at])
        return (
            self.judgment_ids[at],
            *item,
            self.judges[self.judge[at]],
            _entry(self.models, self.model[at]),
            self.orders[self.order[at]],
            None if verdict < 0 else self.verdicts[verdict].to_json(),
            None if truth < 0 else self.truths[truth].to_json(),
            _entry(self.categories, self.category[at]),
            _entry(self.reasons, self.reason[at]),
            *self.rationales[self.rationale[at]],
            int(self.words[at]),
            int(self.own_words[at]),
            None if other != other else other,
            None if confidence != confidence else confidence,
        )


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
"""Columns of codes of :class:`Facts`, and the tables that they have places in."""
COUNTED: Final = ("words", "own_words")
NUMBERS: Final = ("other_words", "confidence")

_CODES: Final = (*CODED, *COUNTED)
_COLUMNS: Final = (*_CODES, *NUMBERS)

_ROW: Final = Struct(f"={len(_CODES)}i{len(NUMBERS)}d")
_ROW_TYPE: Final = np.dtype([*((name, np.int32) for name in _CODES), *((name, np.float64) for name in NUMBERS)])
"""A judgment's columns side by side, packed and as an array."""


def _entry(table: Sequence[str], code: int) -> str | None:
    return None if code < 0 else table[code]


class FactsBuilder:
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
        self._judges, self._models, self._orders = Interned[str](), Interned[str](), Interned[tuple[str, ...]]()
        self._verdicts, self._categories, self._reasons = Interned[AnyVerdict](), Interned[str](), Interned[str]()
        self._truths, self._rationales = Interned[AnyVerdict](), Interned[Stated]()
        self._parsed: dict[object, AnyVerdict] = {}
        self._word_counts: dict[int, tuple[int, ...]] = {}
        self._last = _LastItem(None)

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, judgment: Judgment) -> None:
        """Takes the facts of one judgment."""
        if self._texts:
            # judgment.words would be kept, under a lock
            self._add(judgment, stated_agreement(judgment), count_words(judgment.rationale))
        else:
            self._add(judgment, _NO_TEXT, 0)

    def add_all(self, judgments: Sequence[Judgment]) -> None:
        """Takes the facts of some judgments: as :meth:`add` one by one, in less time."""
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
                own = last.words[order[0]]
            if "confidence" in meta:
                said = stated_confidence(judgment).value
                confidence = _NAN if said is None else said
        self._append(
            judgment.id,
            last.place,
            judgment.judge,
            model if isinstance(model, str) and model else None,
            order,
            code,
            last.truth,
            last.category,
            judgment.no_verdict,
            stated,
            (words, own, other, confidence),
        )

    def add_row(self, row: FactRow) -> None:
        """Takes the facts of one judgment from :meth:`Facts.row`, also after a way through JSON."""
        name, item, content, question, scale, *asked, judge, model, order, verdict, truth, category, reason = row[:15]
        value, state, detail, words, own, other, confidence = row[15:]
        place = self._items.get((item, content))
        if place is None:
            place = self._new_item(ItemFact(item, content, question, None if scale is None else tuple(scale), *asked))
        self._append(
            name,
            place,
            judge,
            model,
            tuple(order),
            self._verdicts.optional(self._verdict(verdict)),
            self._truths.optional(self._verdict(truth)),
            self._categories.optional(category),
            reason,
            (value, state, detail),
            (words, own, _NAN if other is None else other, _NAN if confidence is None else confidence),
        )

    def _code(self, name: str, value: Any) -> int:
        if name == "item":
            place = self._items.get((value.id, value.digest))
            return self._new_item(value) if place is None else place
        tables: dict[str, Interned[Any]] = {
            "judge": self._judges,
            "model": self._models,
            "order": self._orders,
            "verdict": self._verdicts,
            "truth": self._truths,
            "category": self._categories,
            "reason": self._reasons,
            "rationale": self._rationales,
        }
        return tables[name].code(value)

    def facts(self) -> Facts:
        """The facts of everything added so far; the builder can go on."""
        rows = np.frombuffer(self._rows, dtype=_ROW_TYPE)
        unit = unit_of([one.asked for one in self._item_facts])
        return Facts(
            judgment_ids=list(self._ids),
            items=[one._replace(question=one.asked.named(unit)) for one in self._item_facts],
            judges=self._judges.values,
            models=self._models.values,
            orders=self._orders.values,
            verdicts=self._verdicts.values,
            truths=self._truths.values,
            categories=self._categories.values,
            reasons=self._reasons.values,
            rationales=self._rationales.values,
            **{name: rows[name].copy() for name in _COLUMNS},
        )

    def _append(
        self,
        name: str,
        item: int,
        judge: str,
        model: str | None,
        order: tuple[str, ...],
        verdict: int,
        truth: int,
        category: int,
        reason: str | None,
        rationale: Stated,
        counts: tuple[int, int, float, float],
    ) -> None:
        words, own, other, confidence = counts
        self._ids.append(name)
        self._rows += _ROW.pack(
            item,
            self._judges.code(judge),
            -1 if model is None else self._models.code(model),
            self._orders.code(order),
            verdict,
            truth,
            category,
            -1 if reason is None else self._reasons.code(reason),
            self._rationales.code(rationale),
            words,
            own,
            other,
            confidence,
        )

    def _new_item(self, fact: ItemFact) -> int:
        self._items[fact.id, fact.digest] = len(self._item_facts)
        self._item_facts.append(fact)
        return len(self._item_facts) - 1

    def _taken(self, item: Item) -> "_LastItem":
        key = (item.id, item.digest)
        place = self._items.get(key)
        if place is None:
            said = Asked.of(item)
            place = self._new_item(ItemFact(*key, said.unit, item.scale, said.text, said.unit, said.stated))
        words = self._words_of(item, place) if self._texts else {}
        truth, category = self._truths.optional(item.truth), self._categories.optional(item.category)
        return _LastItem(item, words, place, truth, category)

    def _words_of(self, item: Item, place: int) -> Mapping[str, int]:
        """Response id -> its number of words, counted once where records of an item do not follow one another."""
        names, counts = sorted(item.responses), self._word_counts.get(place)
        if counts is None:
            counts = self._word_counts[place] = tuple(item.words[name] for name in names)
        return dict(zip(names, counts, strict=True))

    def _of_verdict(self, verdict: AnyVerdict | None, words: Mapping[str, int]) -> "_OfVerdict":
        lengths = compared_lengths(verdict, words) if self._texts else (-1, _NAN)
        return (verdict, self._verdicts.optional(verdict), *lengths)

    def _verdict(self, value: object) -> AnyVerdict | None:
        if value is None:
            return None
        key = value if isinstance(value, str) else (type(value), repr(value))
        found = self._parsed.get(key)
        if found is None:
            found = self._parsed[key] = parse_verdict(value)
        return found


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


def collected(judgments: Iterable[Judgment], *, texts: bool = True) -> Facts:
    """The facts of judgments in one pass."""
    builder = FactsBuilder(texts=texts)
    for judgment in judgments:
        builder.add(judgment)
    return builder.facts()


@dataclass(frozen=True, slots=True, eq=False)
class SignalColumn:
    """One signal of n judgments.

    Attributes:
        codes: [n] places in ``values``, -1 where a judgment has no such signal.
    """

    codes: NDArray[np.integer[Any]]
    values: Sequence[SignalValue]

    def at(self, row: int) -> SignalValue | None:
        """The signal of one judgment."""
        code = self.codes[row]
        return None if code < 0 else self.values[code]


_NAN = float("nan")
_NO_TEXT: Stated = (None, "no_rationale", "no rationale was recorded")
