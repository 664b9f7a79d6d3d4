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
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel, Json

from metajudge.errors import InputError
from metajudge.readers.containers import read_object
from metajudge.readers.conversations import Conversation, Turn
from metajudge.readers.lines import BadLine, Line, Reject, Source
from metajudge.readers.pairs import FIRST, SECOND, BenchmarkLine, FolderReader, GameOrder, game_of, turned_back
from metajudge.readers.people import ByPeople
from metajudge.readers.reader import FoundJudgment
from metajudge.readers.tables import json_lines
from metajudge.readers.typed_tables import parquet_table
from metajudge.types import Item, Judgment, Message, majority, parse_verdict

PROMPTS = frozenset({"bare", "rubric", "cot"})
"""Templates that differ in what they ask, not in the item they ask about."""

ANNOTATIONS = Path("alttest") / "llm_annotations.json"
"""Further judges, in the folder of the items."""

_VOTES = {"a": "A>B", "b": "B>A", "tie": "A=B"}
_SHOWN = {"first": "A>B", "second": "B>A", "tie": "A=B"}
_ANNOTATED = {"model_a": "A>B", "model_b": "B>A", "tie": "A=B"}
_MODELS = ("-pair", "-single")
"""What a judge's id adds to its model's."""


class ItemRow(BenchmarkLine):
    """A row of the items."""

    item_id: str
    question_id: int
    turn: int
    category: str | None = None
    model_a: str
    model_b: str
    question: str
    prior_turns: Json[list[tuple[str, str, str]]]
    answer_a: str
    answer_b: str
    human_label: Literal["a", "b", "tie"]
    votes: Json[list[Literal["a", "b", "tie"]]]
    voters: Json[list[str]]

    def item(self) -> Item:
        """The pair, with a label for each vote, and ``label`` where the votes alone would say another.

        Raises:
            BadLine: votes and voters differ in number.
        """
        if len(self.votes) != len(self.voters):
            raise BadLine(f"there are {len(self.votes)} votes by {len(self.voters)} voters")
        first, second = self._conversation(0), self._conversation(1)
        asked = [turn.user for turn in first.turns]
        labels = zip(self.votes, self.voters, strict=True)
        data = {
            "id": self.item_id,
            "question": first.question(),
            "responses": {FIRST: first.answer(), SECOND: second.answer()},
            "category": self.category,
            "models": {FIRST: self.model_a, SECOND: self.model_b},
            "labels": [{"value": _VOTES[vote], "annotator": voter} for vote, voter in labels],
            "conversation": [Message(role="user", content=text) for text in asked] if len(asked) > 1 else (),
        }
        label = parse_verdict(_VOTES[self.human_label])
        voted = majority([parse_verdict(_VOTES[vote]) for vote in self.votes])
        same = voted is not None and voted.winner == label.winner
        return Item.model_validate(data if same else {**data, "label": label})

    def _conversation(self, side: int) -> Conversation:
        turns = [Turn(asked, answers[side]) for asked, *answers in self.prior_turns]
        return Conversation((*turns, Turn(self.question, (self.answer_a, self.answer_b)[side])))


class _Context(BaseModel):
    item_id: str
    order: Literal["ab", "ba"]
    condition: str = "base"


class VerdictRow(BenchmarkLine):
    """A line of the judgments; the verdict is in the order shown."""

    judge_id: str
    template: str
    contexts: list[_Context]
    verdict: Literal["first", "second", "tie", "error"]
    text: str = ""
    sample: int = 0
    score_a: float | None = None
    score_b: float | None = None


class MTBenchFolder(FolderReader):
    """Reads judgments that refer to items in another file, and the annotations beside them.

    Args:
        items: Parquet files of items; held in memory.
        judgments: streamed.
        annotations: ``llm_annotations.json``; None if missing.
    """

    def __init__(self, items: Sequence[Source], judgments: Sequence[Source], annotations: Source | None = None) -> None:
        self._annotations = annotations
        self._names: dict[str, str] = {}
        tables, records = [parquet_table(one) for one in items], [json_lines(one) for one in judgments]
        super().__init__("MT-Bench folder", tables, _item_of, records, _judgments, "item; the first one")

    def read(self) -> Iterator[FoundJudgment | Reject | ByPeople]:
        yield from super().read()
        if self._annotations is not None:
            named = {name: self.items[item] for name, item in self._names.items()}
            yield from _annotated(self._annotations, named)

    def _take(self, line: Line) -> Item:
        """Keeps an item, and its id by its name in the annotations."""
        item, row = super()._take(line), line.data
        self._names[f"{row['question_id']}__{row['model_a']}__{row['model_b']}__{row['turn']}"] = item.id
        return item


def _item_of(line: Line) -> Item:
    return ItemRow.model_validate(line.data).item()


def _judgments(line: Line, items: Mapping[str, Item]) -> list[Judgment]:
    row = VerdictRow.model_validate(line.data)
    unknown = next((one.item_id for one in row.contexts if one.item_id not in items), None)
    if unknown is not None:
        raise BadLine(f"no item with item_id {unknown!r} in the file of items")
    return [_judgment(row, context, items[context.item_id]) for context in row.contexts]


def _judgment(row: VerdictRow, context: _Context, item: Item) -> Judgment:
    order: GameOrder = "AB" if context.order == "ab" else "BA"
    judge = row.judge_id + (f"/{row.template}" if row.template in PROMPTS else "")
    judge += f"/{context.condition}" if context.condition != "base" else ""
    verdict = turned_back(_SHOWN[row.verdict], order) if row.verdict in _SHOWN else None
    outcome = verdict, None if verdict is not None else "no verdict could be read from the judge's answer"
    part = f"{order}/{row.sample}" if row.sample else ""
    return game_of(item, judge, order, outcome, part, rationale=row.text, meta=_meta(row, context))


def _meta(row: VerdictRow, context: _Context) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "dataset": "mtbench",
        "judge_model": next((row.judge_id.removesuffix(e) for e in _MODELS if row.judge_id.endswith(e)), row.judge_id),
        "judge_prompt": row.template,
    }
    if row.sample:
        meta["sample"] = row.sample
    if context.condition != "base":
        meta["condition"] = context.condition
    if row.score_a is not None and row.score_b is not None:
        meta |= {"pointwise": True, "scores": {FIRST: row.score_a, SECOND: row.score_b}}
    return meta


def _annotated(source: Source, items: Mapping[str, Item]) -> Iterator[FoundJudgment | Reject]:
    """Verdicts of ``llm_annotations.json``: judge -> item -> ``model_a``, ``model_b`` or ``tie``."""
    number = 0
    for judge, verdicts in read_object(source).items():
        for name, mark in verdicts.items():
            number += 1
            raw = orjson.dumps({"judge": judge, "item": name, "verdict": mark})
            if name not in items:
                yield source.reject(number, f"no item is named {name!r} in the file of items", raw)
            elif mark not in _ANNOTATED:
                yield source.reject(number, f"the verdict {mark!r} is none of {', '.join(_ANNOTATED)}", raw)
            else:
                outcome = turned_back(_ANNOTATED[mark], "AB"), None
                found = game_of(items[name], judge, "AB", outcome, meta={"dataset": "mtbench"})
                yield FoundJudgment(found, source.name, number)


def mtbench_folder(folder: Path, name: str, items: Sequence[Source], judgments: Sequence[Source]) -> MTBenchFolder:
    """A reader of the folder layout.

    Raises:
        InputError: the items or the judgments are missing.
    """
    if not items or not judgments:
        there, missing = ("judgments", "items") if judgments else ("items", "judgments")
        raise InputError(f"{name} contains MT-Bench {there}, but not the {missing}: give the folder with both files")
    beside = folder / ANNOTATIONS
    annotations = Source(beside, str(Path(name) / ANNOTATIONS)) if beside.is_file() else None
    return MTBenchFolder(items, judgments, annotations)
