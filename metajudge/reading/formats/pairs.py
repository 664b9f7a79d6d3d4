"""Pairwise games as benchmarks record them, and their folder layout: a file of labelled pairs, one of judgments.

Everything in a game is in the order shown and is turned back to response ids: in the second game of a pair the
responses have changed places, so ``A>B`` there says that response B is better.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import GenericAlias
from typing import Any, Final, Literal, TypeAlias

from pydantic import ConfigDict, create_model

from metajudge.reading.containers.lines import BadLine, Line, Reject, Source
from metajudge.reading.containers.tables import Table, json_lines
from metajudge.reading.people import ByPeople
from metajudge.reading.reader import FoundJudgment, LineReader, each, split
from metajudge.types import Category, Item, Judgment, Pairwise

FIRST, SECOND = SIDES = ("A", "B")
"""The response ids of a pair."""

GameOrder = Literal["AB", "BA"]
ORDERS: Final[tuple[GameOrder, GameOrder]] = ("AB", "BA")
"""The orders of the two games of a pair."""

_MARK = re.compile(r"([AB])\s*(>>|>|=)\s*([AB])")
_BRACKETED = re.compile(r"\[\[\s*([AB]\s*(?:>>|>|=)\s*[AB])\s*\]\]")
_STRENGTH: dict[str, Literal[0, 1, 2]] = {"=": 0, ">": 1, ">>": 2}

Outcome: TypeAlias = tuple[Pairwise | None, str | None]
"""A game's verdict in terms of response ids, or the reason why it is missing."""

NOT_PLAYED: Final[Outcome] = (None, "the runner failed to ask the judge: the game is null")
EMPTY: Final = "the judge's answer is empty"
NO_VERDICT: Final = "no verdict could be read from the judge's answer"


def shape(fields: str, **kinds: Any) -> Any:
    """The fields that are read of a record, as a model that validates them; others are left alone.

    Args:
        fields: names; ``name?`` may be null, ``name~`` may be missing, too.
        kinds: name -> its type, which is text for others; a tuple is a type with its default.
    """
    made: dict[str, Any] = {}
    for word in fields.split():
        name = word.rstrip("?~")
        kind = kinds.get(name, str)
        if not isinstance(kind, tuple):
            kind = (kind if word == name else kind | None), (None if word.endswith("~") else ...)
        made[name] = kind
    return create_model("Row", __config__=ConfigDict(frozen=True, extra="ignore"), **made)


def list_of(kind: Any) -> Any:
    """A list as a type for :func:`shape`."""
    return GenericAlias(list, (kind,))


def pair_of(name: str, question: Any, responses: Sequence[Any], models: Sequence[Any], **more: Any) -> Item:
    """A pair as an item; a model that is not known is left out.

    Raises:
        ValidationError: the values make no item.
    """
    known = {side: one for side, one in zip(SIDES, models, strict=True) if one} or None
    texts = dict(zip(SIDES, responses, strict=True))
    return Item.model_validate({"id": name, "question": question, "responses": texts, "models": known, **more})


def known_only(noted: Mapping[str, Any]) -> dict[str, Any]:
    """What is noted, without what is not known."""
    return {name: value for name, value in noted.items() if value is not None}


def shown_order(order: GameOrder) -> tuple[str, str]:
    """Response ids in the order shown."""
    return SIDES if order == "AB" else (SECOND, FIRST)


def turned_back(mark: str | None, order: GameOrder) -> Pairwise | None:
    """A mark such as ``A>>B`` in the order shown, in terms of response ids; None where it is no valid mark.

    A tie always comes back as ``A=B``.
    """
    found = _MARK.fullmatch((mark or "").strip())
    if found is None or found[1] == found[3]:
        return None
    if found[2] == "=":
        return Pairwise(FIRST, SECOND, 0)
    names = dict(zip(SIDES, shown_order(order), strict=True))
    return Pairwise(names[found[1]], names[found[3]], _STRENGTH[found[2]])


def stated_marks(text: str) -> tuple[str, ...]:
    """The different marks in double brackets (``[[A>>B]]``), as shown, in the order of their first appearance."""
    return tuple(dict.fromkeys(re.sub(r"\s", "", mark) for mark in _BRACKETED.findall(text)))


def game_verdict(decision: str | None, mark: str | None, text: str, order: GameOrder) -> Outcome:
    """The verdict of a game: the recorded decision, with the strength of the judge's own mark where the two agree.

    Both are in the order shown. The judge's text is looked at only to say why there is no verdict.
    """
    if decision is None:
        return None, _why_none(mark, text)
    verdict = turned_back(decision, order)
    if verdict is None:
        return None, _invalid(decision)
    stated = turned_back(mark, order)
    return stated if stated is not None and stated.winner == verdict.winner else verdict, None


def game_of(item: Item, judge: str, order: GameOrder, outcome: Outcome, part: str = "", **more: Any) -> Judgment:
    """A game as a judgment; its id is ``item/judge/part``, where the part is the order unless it is given."""
    verdict, why = outcome
    name, shown = f"{item.id}/{judge}/{part or order}", shown_order(order)
    return Judgment(id=name, item=item, judge=judge, verdict=verdict, no_verdict=why, order=shown, **more)


def check_label(label: str | None, order: GameOrder, item: Item) -> None:
    """Compares a game's own label, in the order shown, with its item's.

    Raises:
        BadLine: the two name different winners: the order, or the label, is recorded wrongly.
    """
    if label is None or item.label is None:
        return
    stated = turned_back(label, order)
    if stated is None or stated.winner != item.label.winner:
        raise BadLine(f"label {label!r} in the order shown ({order}) contradicts the item's label {str(item.label)!r}")


def _why_none(mark: str | None, text: str) -> str:
    if mark:
        return _invalid(mark)
    marks = stated_marks(text)
    if len(marks) > 1:
        return f"the judge gave several different verdicts ({', '.join(marks)}, as shown)"
    if not marks:
        return "the judge's answer holds no verdict" if text.strip() else EMPTY
    return _invalid(marks[0]) if turned_back(marks[0], "AB") is None else "no verdict was recorded"


def _invalid(mark: str) -> str:
    found = _MARK.fullmatch(mark.strip())
    if found is not None and found[1] == found[3]:
        return f"the judge compared a response with itself ({mark}, as shown)"
    return f"the recorded verdict {mark[:40]!r} is none of A>>B, A>B, A=B, B>A, B>>A"


@dataclass(eq=False)
class FolderReader:
    """Reads records that name items in other files; the items are held in memory, the records are streamed.

    Attributes:
        format: its name, for people.
        tables: of items.
        item_of: reads an item.
        records: tables of judgments, each with what makes the judgments of a record on the items, by their ids.
        first: what messages call the first of two items of one id.
    """

    format: str
    tables: Sequence[Table]
    item_of: Callable[[Line], Item]
    records: Sequence[tuple[Table, Callable[[Mapping[str, Item], Line], list[Judgment]]]]
    first: str

    def read(self) -> Iterator[FoundJudgment | Reject | ByPeople]:
        items: dict[str, Item] = {}

        def keep(line: Line) -> None:
            item = self.item_of(line)
            if items.setdefault(item.id, item) != item:
                raise BadLine(f"item_id {item.id!r} was already used for another {self.first} is kept")

        for table in self.tables:
            yield from split(each(table.source, table.rows(), keep))[1]
        for table, made in self.records:
            yield from LineReader(self.format, table.source, table.rows, partial(made, items)).read()


_PAIR = shape("item_id question response_a response_b label~ category~ subset~ response_model~")
GAME: Final = "item_id judge_model decision? label~ judgment_text~ subset~ has_explanation~"
"""What every judgment line of the layout has; label and decision are in the order shown."""


def paired(
    format_name: str, pairs: Sequence[Source], judgments: Source, row: Any, judgment_of: Callable[[Any, Item], Judgment]
) -> FolderReader:
    """A reader of judgments that refer to pairs in another file; ``row`` is the :func:`shape` of a judgment."""

    def made(items: Mapping[str, Item], line: Line) -> list[Judgment]:
        given = row.model_validate(line.data)
        if given.item_id not in items:
            raise BadLine(f"no pair with item_id {given.item_id!r} in {', '.join(one.name for one in pairs)}")
        return [judgment_of(given, items[given.item_id])]

    tables, records = [json_lines(source) for source in pairs], [(json_lines(judgments), made)]
    return FolderReader(format_name, tables, _pair, records, "pair; the first pair")


def _pair(line: Line) -> Item:
    row = _PAIR.model_validate(line.data)
    texts, models, category = (row.response_a, row.response_b), (row.response_model,) * 2, row.category or row.subset
    item = pair_of(row.item_id, row.question, texts, models, category=category, label=row.label)
    if isinstance(item.label, Category):
        raise BadLine(f"label {row.label!r} is none of A>B, A=B, B>A")
    return item
