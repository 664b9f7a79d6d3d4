"""MT-Bench (Zheng et al., NeurIPS 2023), recorded verdicts with the human votes: ``items.parquet`` and ``judgments``.

An item is a turn of a question answered by two models. Its votes become ``Item.labels``, one for each annotator; a
split vote is a tie. A judgment's verdict is recorded in the order shown and turned back. One recorded text may serve
several items (``contexts``) and gives a judgment for each. ``sample`` numbers repeats of one prompt.

Templates that GPT-4 used vary with the item and are one judge; those of a judge that was tried with several prompts
(:data:`PROMPTS`) are judges of their own with one ``meta["judge_model"]``. Verdicts on padded responses are another
judge (``.../padded``). Verdicts derived from two separate grades are marked ``meta["pointwise"]``.

``alttest/llm_annotations.json`` in the same folder contains verdicts of six further judges, in one order, without text.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import orjson
from pydantic import Json

from metajudge.errors import InputError
from metajudge.reading.containers.kinds import read_object
from metajudge.reading.containers.lines import BadLine, Line, Source
from metajudge.reading.containers.tables import Table, json_lines
from metajudge.reading.containers.typed_tables import parquet_table
from metajudge.reading.conversations import chat_of, exchange
from metajudge.reading.formats.pairs import (
    FIRST,
    NO_VERDICT,
    SIDES,
    FolderReader,
    GameOrder,
    game_of,
    list_of,
    pair_of,
    shape,
    turned_back,
)
from metajudge.types import Item, Judgment, majority, parse_verdict

PROMPTS: Final = frozenset({"bare", "rubric", "cot"})
"""Templates that differ in what they ask, not in the item they ask about."""

ANNOTATIONS: Final = Path("alttest") / "llm_annotations.json"
"""Further judges, in the folder of the items."""

_VOTES: Final = {"a": "A>B", "b": "B>A", "tie": "A=B"}
_SHOWN: Final = {"first": "A>B", "second": "B>A", "tie": "A=B"}
_ANNOTATED: Final = {"model_a": "A>B", "model_b": "B>A", "tie": "A=B"}
_MODELS: Final = ("-pair", "-single")
"""What a judge's id adds to its model's."""

_ITEM = shape(
    "item_id question_id turn category~ model_a model_b question prior_turns answer_a answer_b human_label votes "
    "voters",
    question_id=int,
    turn=int,
    prior_turns=Json[list[tuple[str, str, str]]],
    human_label=Literal["a", "b", "tie"],
    votes=Json[list[Literal["a", "b", "tie"]]],
    voters=Json[list[str]],
)
_CONTEXT = shape("item_id order condition", order=Literal["ab", "ba"], condition=(str, "base"))
_VERDICT = shape(
    "judge_id template contexts verdict text sample score_a~ score_b~",
    contexts=list_of(_CONTEXT),
    verdict=Literal["first", "second", "tie", "error"],
    text=(str, ""),
    sample=(int, 0),
    score_a=float,
    score_b=float,
)
"""A line of the judgments; the verdict is in the order shown."""


def _item(row: Any) -> Item:
    """The pair, with a label for each vote, and ``label`` where the votes alone would say another.

    Raises:
        BadLine: votes and voters differ in number.
    """
    if len(row.votes) != len(row.voters):
        raise BadLine(f"there are {len(row.votes)} votes by {len(row.voters)} voters")
    sides = {
        name: chat_of([*((asked, answers[at]) for asked, *answers in row.prior_turns), (row.question, answer)])
        for at, (name, answer) in enumerate(zip(SIDES, (row.answer_a, row.answer_b), strict=True))
    }
    found, votes = exchange(sides[FIRST], sides), [_VOTES[vote] for vote in row.votes]
    label, voted = parse_verdict(_VOTES[row.human_label]), majority([parse_verdict(vote) for vote in votes])
    return pair_of(
        row.item_id,
        found.question,
        tuple(found.answers.values()),
        (row.model_a, row.model_b),
        category=row.category,
        labels=[{"value": vote, "annotator": by} for vote, by in zip(votes, row.voters, strict=True)],
        label=None if voted is not None and voted.winner == label.winner else label,
        **found.beside(),
    )


def _judgments(items: Mapping[str, Item], line: Line) -> list[Judgment]:
    row = _VERDICT.model_validate(line.data)
    unknown = next((one.item_id for one in row.contexts if one.item_id not in items), None)
    if unknown is not None:
        raise BadLine(f"no item with item_id {unknown!r} in the file of items")
    return [_judgment(row, context, items[context.item_id]) for context in row.contexts]


def _judgment(row: Any, context: Any, item: Item) -> Judgment:
    order: GameOrder = "AB" if context.order == "ab" else "BA"
    model = next((row.judge_id.removesuffix(end) for end in _MODELS if row.judge_id.endswith(end)), row.judge_id)
    meta: dict[str, Any] = {"dataset": "mtbench", "judge_model": model, "judge_prompt": row.template}
    meta |= {"sample": row.sample} if row.sample else {}
    judge = row.judge_id + (f"/{row.template}" if row.template in PROMPTS else "")
    if context.condition != "base":
        judge, meta["condition"] = f"{judge}/{context.condition}", context.condition
    if row.score_a is not None and row.score_b is not None:
        meta |= {"pointwise": True, "scores": {"A": row.score_a, "B": row.score_b}}
    verdict = turned_back(_SHOWN.get(row.verdict), order)
    outcome, part = (verdict, NO_VERDICT if verdict is None else None), f"{order}/{row.sample}" if row.sample else ""
    return game_of(item, judge, order, outcome, part, rationale=row.text, meta=meta)


def _annotations(source: Source) -> Iterator[Line]:
    """The verdicts of ``llm_annotations.json``: judge -> item -> ``model_a``, ``model_b`` or ``tie``."""
    said = ((judge, name, mark) for judge, verdicts in read_object(source).items() for name, mark in verdicts.items())
    for number, (judge, name, mark) in enumerate(said, start=1):
        data = {"judge": judge, "item": name, "verdict": mark}
        yield Line(number, orjson.dumps(data), data)


def mtbench_folder(folder: Path, name: str, items: Sequence[Source], judgments: Sequence[Source]) -> FolderReader:
    """A reader of judgments that refer to items in another file, and of the annotations beside them.

    Args:
        folder: where annotations may lie.
        name: the folder as given.
        items: Parquet files of items; held in memory.
        judgments: streamed.

    Raises:
        InputError: the items or the judgments are missing.
    """
    if not items or not judgments:
        there, missing = ("judgments", "items") if judgments else ("items", "judgments")
        raise InputError(f"{name} contains MT-Bench {there}, but not the {missing}: give the folder with both files")
    names: dict[str, str] = {}

    def item_of(line: Line) -> Item:
        """An item, whose name in the annotations is noted."""
        row = _ITEM.model_validate(line.data)
        names[f"{row.question_id}__{row.model_a}__{row.model_b}__{row.turn}"] = row.item_id
        return _item(row)

    def annotated(items: Mapping[str, Item], line: Line) -> list[Judgment]:
        about, mark = line.data["item"], line.data["verdict"]
        if names.get(about) not in items:
            raise BadLine(f"no item is named {about!r} in the file of items")
        if mark not in _ANNOTATED:
            raise BadLine(f"the verdict {mark!r} is none of {', '.join(_ANNOTATED)}")
        outcome = turned_back(_ANNOTATED[mark], "AB"), None
        return [game_of(items[names[about]], line.data["judge"], "AB", outcome, meta={"dataset": "mtbench"})]

    records = [(json_lines(one), _judgments) for one in judgments]
    beside = Source(folder / ANNOTATIONS, str(Path(name) / ANNOTATIONS))
    if beside.path.is_file():
        records.append((Table("annotations", beside, partial(_annotations, beside)), annotated))
    tables = [parquet_table(one) for one in items]
    return FolderReader("MT-Bench folder", tables, item_of, records, "item; the first one")
