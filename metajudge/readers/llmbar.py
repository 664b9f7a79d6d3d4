"""LLMBar (Zeng et al., ICLR 2024): the folder layout, items plus judgments with one object a line, and its repository.

The judge is ``judge_model/judge_prompt``. Swap and Swap_CoT ask twice (where the two orders conflict, a second
prompt shows both explanations): their stages are judges of their own, ``GPT-4/Swap#1`` and ``GPT-4/Swap#2``, so
that the two orders of a stage belong together. Ids are ``item/judge/order``.

The verdict is the published decision. Its parser sometimes contradicts the text; the text's own verdict is kept
as ``meta["text_verdict"]``, in terms of response ids too. Ratings score each response alone: they are read as
pairwise verdicts (a tie where the scores are equal) in the stored order and marked ``meta["pointwise"]``.

The repository has ``Dataset/<subset>/evaluators/<model>/<strategy>/result.json``, a JSON list parallel to
``dataset.json`` whose entries repeat the pair and add ``results``: the strategy's preparations as ``[text, finish]``,
then one object a stage with the games ``"swap = False"`` and ``"swap = True"``. Unlike everywhere else a game's
``winner`` is recorded **in the stored order**, already turned back; only the text speaks of the order shown. A
rating's games are synthetic and are not read: its two scores are. Only the path names judge and subset.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from metajudge.errors import InputError
from metajudge.readers.lines import Line, Source
from metajudge.readers.pairs import (
    FIRST,
    ORDERS,
    SECOND,
    FolderReader,
    GameOrder,
    JudgmentRow,
    check_label,
    game_of,
    pair_of,
    paired,
    turned_back,
)
from metajudge.readers.reader import LineReader
from metajudge.readers.tables import json_list
from metajudge.types import Item, Judgment

TWO_STAGE = frozenset({"Swap", "Swap_CoT"})

_KEPT = ("subset", "judge_model", "judge_prompt", "stage", "final", "finish", "has_explanation")
LABELS = ("a", "b")
"""The prompts call the responses Output (a) and Output (b)."""


class EvaluatorRow(JudgmentRow):
    """A line of the judgments file; label, decision and text_verdict are in the order shown."""

    judge_prompt: str
    stage: int = 1
    final: bool = True
    order: Literal["AB", "BA", "pointwise"]
    text_verdict: str | None = None
    finish: str | None = None
    score_a: str | float | None = None
    score_b: str | float | None = None


def evaluations(items: list[Source], judgments: Source) -> FolderReader:
    """A reader of the folder layout."""
    return paired("LLMBar folder", items, judgments, EvaluatorRow, judgment_of)


def judgment_of(row: EvaluatorRow, item: Item) -> Judgment:
    """Turns a row's verdicts back to response ids.

    Raises:
        BadLine: the row's label contradicts the item's.
    """
    order: GameOrder = "AB" if row.order == "pointwise" else row.order
    check_label(row.label, order, item)
    stage = f"#{row.stage}" if row.judge_prompt in TWO_STAGE or row.stage > 1 else ""
    judge = f"{row.judge_model}/{row.judge_prompt}{stage}"
    verdict = turned_back(row.decision, order) if row.decision else None
    outcome, said = (verdict, None if verdict is not None else _why_none(row)), row.judgment_text or ""
    return game_of(item, judge, order, outcome, row.order, rationale=said, labels=LABELS, meta=_meta(row, order))


def _meta(row: EvaluatorRow, order: GameOrder) -> dict[str, Any]:
    meta: dict[str, Any] = {"dataset": "llmbar", **{name: getattr(row, name) for name in _KEPT}}
    meta["finish"] = row.finish or None
    if row.order == "pointwise":
        meta |= {"pointwise": True, "scores": {"A": row.score_a, "B": row.score_b}}
    stated = turned_back(row.text_verdict, order) if row.text_verdict else None
    if stated is not None:
        meta["text_verdict"] = str(stated)
    return {name: value for name, value in meta.items() if value is not None}


def _why_none(row: EvaluatorRow) -> str:
    if row.decision:
        return f"the recorded decision {row.decision[:40]!r} is none of A>B, A=B, B>A"
    if row.order == "pointwise":
        return f"the scores cannot be compared: {row.score_a!r} and {row.score_b!r}"
    finish = f" (finish: {row.finish})" if row.finish else ""
    if not (row.judgment_text or "").strip():
        return f"the judge's answer is empty{finish}"
    return f"no verdict could be read from the judge's answer{finish}"


_SAID_BETTER = re.compile(r"[Oo]utput \(([ab])\) is better")


class _Game(BaseModel):
    completion: list[str] = Field(min_length=1)
    winner: Literal["1", "2"] | None


class _Stage(BaseModel):
    unswapped: _Game = Field(alias="swap = False")
    swapped: _Game = Field(alias="swap = True")


class _Rating(BaseModel):
    score_1: list[str] = Field(min_length=1)
    score_2: list[str] = Field(min_length=1)


class _Entry(BaseModel):
    input: str
    output_1: str
    output_2: str
    label: Literal[1, 2]
    results: list[dict[str, Any] | list[Any]]


def is_result_path(path: Path) -> bool:
    """Whether a path has the layout ``.../evaluators/<model>/<strategy>/<file>``."""
    return len(path.parts) >= 5 and path.parts[-4] == "evaluators"


class ResultFile(LineReader):
    """Reads one result.json: one judge on one subset."""

    def __init__(self, source: Source) -> None:
        super().__init__("LLMBar result.json", source, json_list(source).rows, self._judgments)
        path = source.path.resolve()
        if not is_result_path(path):
            raise InputError(
                f"{source.name} contains a JSON list of results, but only a path .../evaluators/MODEL/STRATEGY/"
                "result.json says whose they are: keep the repository's folders"
            )
        self.judge_model, self.judge_prompt = path.parts[-3], path.parts[-2]
        above = path.parts[:-4]
        start = len(above) - above[::-1].index("Dataset") if "Dataset" in above else len(above) - 1
        self.subset = "/".join(above[start:])

    def _judgments(self, line: Line) -> list[Judgment]:
        index, entry = line.number - 1, _Entry.model_validate(line.data)
        name, responses = f"{self.subset}/{index:04d}", (entry.output_1, entry.output_2)
        label = _winner(str(entry.label))
        item = pair_of(name, entry.input, responses, category=self.subset, label=label)
        return [judgment_of(row, item) for row in self._evaluations(index, entry)]

    def _evaluations(self, index: int, entry: _Entry) -> Iterator[EvaluatorRow]:
        stages = [stage for stage in entry.results if isinstance(stage, dict)]
        for number, stage in enumerate(stages, start=1):
            common = {
                "item_id": f"{self.subset}/{index:04d}",
                "subset": self.subset,
                "judge_model": self.judge_model,
                "judge_prompt": self.judge_prompt,
                "stage": number,
                "final": number == len(stages),
            }
            if "score_1" in stage:
                yield EvaluatorRow.model_validate({**common, **_rating(_Rating.model_validate(stage))})
                continue
            asked = self._asks_for_explanation(number)
            games = _Stage.model_validate(stage)
            for order, game in zip(ORDERS, (games.unswapped, games.swapped), strict=True):
                yield EvaluatorRow.model_validate({**common, **_game(game, order, asked)})

    def _asks_for_explanation(self, stage: int) -> bool:
        if self.judge_prompt in TWO_STAGE:
            return stage == 1 or self.judge_prompt == "Swap_CoT"
        return self.judge_prompt == "CoT"


def _game(game: _Game, order: GameOrder, asked: bool) -> dict[str, Any]:
    text = game.completion[0]
    matches = _SAID_BETTER.findall(text) if asked else []
    return {
        "order": order,
        "decision": _as_shown(game.winner, order),
        "text_verdict": ("A>B" if matches[-1] == "a" else "B>A") if matches else None,
        "judgment_text": text,
        "finish": game.completion[1] if len(game.completion) > 1 else None,
        "has_explanation": asked and len(text.split()) >= 8,
    }


def _rating(rating: _Rating) -> dict[str, Any]:
    score_a, score_b = rating.score_1[0], rating.score_2[0]
    decision = None
    # Only whole numbers count as scores; anything else upstream turned into one win each.
    if re.fullmatch(r"\s*\d+\s*", score_a) and re.fullmatch(r"\s*\d+\s*", score_b):
        a, b = int(score_a), int(score_b)
        decision = "A=B" if a == b else "A>B" if a > b else "B>A"
    return {"order": "pointwise", "decision": decision, "score_a": score_a, "score_b": score_b}


def _as_shown(winner: str | None, order: GameOrder) -> str | None:
    """A stored-order winner in the order shown, as :class:`EvaluatorRow` wants it."""
    if winner is None:
        return None
    return _winner(winner) if order == "AB" else _winner("1" if winner == "2" else "2")


def _winner(number: str) -> str:
    return f"{FIRST}>{SECOND}" if number == "1" else f"{SECOND}>{FIRST}"
