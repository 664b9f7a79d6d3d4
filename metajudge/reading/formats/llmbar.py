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
from metajudge.reading.containers.lines import Line, Source
from metajudge.reading.containers.tables import json_list
from metajudge.reading.formats import pairs
from metajudge.reading.reader import LineReader
from metajudge.types import Item, Judgment

TWO_STAGE = frozenset({"Swap", "Swap_CoT"})
_EXPLAINED = ("CoT", "Swap_CoT")

_KEPT = ("subset", "judge_model", "judge_prompt", "stage", "final", "finish", "has_explanation")
LABELS = ("a", "b")
"""The prompts call the responses Output (a) and Output (b)."""


class EvaluatorRow(pairs.JudgmentRow):
    """A line of the judgments file; label, decision and text_verdict are in the order shown."""

    judge_prompt: str
    stage: int = 1
    final: bool = True
    order: Literal["AB", "BA", "pointwise"]
    text_verdict: str | None = None
    finish: str | None = None
    score_a: str | float | None = None
    score_b: str | float | None = None


def evaluations(items: list[Source], judgments: Source) -> pairs.FolderReader:
    """A reader of the folder layout."""
    return pairs.paired("LLMBar folder", items, judgments, EvaluatorRow, judgment_of)


def judgment_of(row: EvaluatorRow, item: Item) -> Judgment:
    """Turns a row's verdicts back to response ids.

    Raises:
        BadLine: the row's label contradicts the item's.
    """
    order: pairs.GameOrder = "AB" if row.order == "pointwise" else row.order
    pairs.check_label(row.label, order, item)
    stage = f"#{row.stage}" if row.judge_prompt in TWO_STAGE or row.stage > 1 else ""
    judge = f"{row.judge_model}/{row.judge_prompt}{stage}"
    verdict, stated = pairs.turned_back(row.decision, order), pairs.turned_back(row.text_verdict, order)
    meta: dict[str, Any] = {"dataset": "llmbar", **{name: getattr(row, name) for name in _KEPT}}
    meta["finish"] = row.finish or None
    if row.order == "pointwise":
        meta |= {"pointwise": True, "scores": {"A": row.score_a, "B": row.score_b}}
    meta["text_verdict"] = None if stated is None else str(stated)
    kept = {name: value for name, value in meta.items() if value is not None}
    outcome, said = (verdict, None if verdict is not None else _why_none(row)), row.judgment_text or ""
    return pairs.game_of(item, judge, order, outcome, row.order, rationale=said, labels=LABELS, meta=kept)


def _why_none(row: EvaluatorRow) -> str:
    if row.decision:
        return f"the recorded decision {row.decision[:40]!r} is none of A>B, A=B, B>A"
    if row.order == "pointwise":
        return f"the scores cannot be compared: {row.score_a!r} and {row.score_b!r}"
    why = pairs.NO_VERDICT if (row.judgment_text or "").strip() else "the judge's answer is empty"
    return why + (f" (finish: {row.finish})" if row.finish else "")


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
        entry, name = _Entry.model_validate(line.data), f"{self.subset}/{line.number - 1:04d}"
        responses, label = (entry.output_1, entry.output_2), _winner(entry.label == 1)
        item = pairs.pair_of(name, entry.input, responses, category=self.subset, label=label)
        return [judgment_of(row, item) for row in self._evaluations(name, entry)]

    def _evaluations(self, name: str, entry: _Entry) -> Iterator[EvaluatorRow]:
        stages = [stage for stage in entry.results if isinstance(stage, dict)]
        for number, stage in enumerate(stages, start=1):
            common = {
                "item_id": name,
                "subset": self.subset,
                "judge_model": self.judge_model,
                "judge_prompt": self.judge_prompt,
                "stage": number,
                "final": number == len(stages),
            }
            if "score_1" in stage:
                yield EvaluatorRow.model_validate({**common, **_rating(_Rating.model_validate(stage))})
                continue
            asked = self.judge_prompt in _EXPLAINED or (self.judge_prompt in TWO_STAGE and number == 1)
            games = _Stage.model_validate(stage)
            for order, game in zip(pairs.ORDERS, (games.unswapped, games.swapped), strict=True):
                yield EvaluatorRow.model_validate({**common, **_game(game, order, asked)})


def _game(game: _Game, order: pairs.GameOrder, asked: bool) -> dict[str, Any]:
    """A game as the fields of :class:`EvaluatorRow`, with the winner of the stored order in the order shown."""
    text = game.completion[0]
    matches = _SAID_BETTER.findall(text) if asked else []
    return {
        "order": order,
        "decision": None if game.winner is None else _winner((game.winner == "1") == (order == "AB")),
        "text_verdict": _winner(matches[-1] == "a") if matches else None,
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
        decision = "A=B" if a == b else _winner(a > b)
    return {"order": "pointwise", "decision": decision, "score_a": score_a, "score_b": score_b}


def _winner(first: bool) -> str:
    return f"{pairs.FIRST}>{pairs.SECOND}" if first else f"{pairs.SECOND}>{pairs.FIRST}"
