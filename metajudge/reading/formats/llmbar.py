"""LLMBar (Zeng et al., ICLR 2024): the folder layout, items plus judgments with one object a line, and its repository.

The judge is ``judge_model/judge_prompt``. Swap and Swap_CoT ask twice: their stages are judges of their own,
``GPT-4/Swap#1`` and ``GPT-4/Swap#2``. Ids are ``item/judge/order``. The verdict is the published decision, whose parser
sometimes contradicts the text; what the text says is kept as ``meta["text_verdict"]``. Ratings score each response
alone: they are read as pairwise verdicts in the stored order and marked ``meta["pointwise"]``.

The repository has ``Dataset/<subset>/evaluators/<model>/<strategy>/result.json``, a JSON list whose entries repeat the
pair and add ``results``: the strategy's preparations as ``[text, finish]``, then one object a stage with its two games.
Unlike everywhere else a game's ``winner`` is recorded **in the stored order**, already turned back; only the text
speaks of the order shown. A rating's games are made up: its two scores are read. Only the path names judge and subset.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from metajudge.errors import InputError
from metajudge.reading.containers.lines import Line, Source
from metajudge.reading.containers.tables import json_list
from metajudge.reading.formats import pairs
from metajudge.reading.formats.pairs import GameOrder, known_only, shape
from metajudge.reading.reader import LineReader
from metajudge.types import Item, Judgment

_TWO_STAGE: Final = ("Swap", "Swap_CoT")
_EXPLAINED: Final = ("CoT", "Swap_CoT")
_KEPT: Final = ("subset", "judge_model", "judge_prompt", "stage", "final", "finish", "has_explanation")
_WINNERS: Final = {True: "A>B", False: "B>A"}
_SAID_BETTER: Final = re.compile(r"[Oo]utput \(([ab])\) is better")
_WHOLE: Final = re.compile(r"\s*\d+\s*")

_EVALUATION = shape(
    f"{pairs.GAME} judge_prompt stage final order text_verdict~ finish~ score_a~ score_b~",
    has_explanation=bool,
    stage=(int, 1),
    final=(bool, True),
    order=Literal["AB", "BA", "pointwise"],
    score_a=str | float,
    score_b=str | float,
)
"""A line of the judgments file; label, decision and text_verdict are in the order shown."""

_SOME: Final = (list[str], Field(min_length=1))
_GAME = shape("completion winner?", completion=_SOME, winner=Literal["1", "2"])
_STAGE = shape("AB BA", AB=(_GAME, Field(alias="swap = False")), BA=(_GAME, Field(alias="swap = True")))
_RATING = shape("score_1 score_2", score_1=_SOME, score_2=_SOME)
_ENTRY = shape("input output_1 output_2 label results", label=Literal[1, 2], results=list[dict[str, Any] | list[Any]])


def evaluations(items: list[Source], judgments: Source) -> pairs.FolderReader:
    """A reader of the folder layout."""
    return pairs.paired("LLMBar folder", items, judgments, _EVALUATION, _judgment)


def _judgment(row: Any, item: Item) -> Judgment:
    """Turns a row's verdicts back to response ids.

    Raises:
        BadLine: the row's label contradicts the item's.
    """
    rated = row.order == "pointwise"
    order: GameOrder = "AB" if rated else row.order
    pairs.check_label(row.label, order, item)
    stage = f"#{row.stage}" if row.judge_prompt in _TWO_STAGE or row.stage > 1 else ""
    verdict, stated = pairs.turned_back(row.decision, order), pairs.turned_back(row.text_verdict, order)
    meta = {"dataset": "llmbar", **{name: getattr(row, name) for name in _KEPT}, "finish": row.finish or None}
    if rated:
        meta |= {"pointwise": True, "scores": {"A": row.score_a, "B": row.score_b}}
    meta["text_verdict"] = None if stated is None else str(stated)
    return pairs.game_of(
        item,
        f"{row.judge_model}/{row.judge_prompt}{stage}",
        order,
        (verdict, None if verdict is not None else _why_none(row)),
        row.order,
        rationale=row.judgment_text or "",
        labels=("a", "b"),  # the prompts call the responses Output (a) and Output (b)
        meta=known_only(meta),
    )


def _why_none(row: Any) -> str:
    if row.decision:
        return f"the recorded decision {row.decision[:40]!r} is none of A>B, A=B, B>A"
    if row.order == "pointwise":
        return f"the scores cannot be compared: {row.score_a!r} and {row.score_b!r}"
    why = pairs.NO_VERDICT if (row.judgment_text or "").strip() else pairs.EMPTY
    return why + (f" (finish: {row.finish})" if row.finish else "")


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
        *above, _, model, prompt, _ = path.parts
        start = len(above) - above[::-1].index("Dataset") if "Dataset" in above else len(above) - 1
        self.common = {"subset": "/".join(above[start:]), "judge_model": model, "judge_prompt": prompt}

    def _judgments(self, line: Line) -> list[Judgment]:
        subset = self.common["subset"]
        entry, name = _ENTRY.model_validate(line.data), f"{subset}/{line.number - 1:04d}"
        responses, label = (entry.output_1, entry.output_2), _WINNERS[entry.label == 1]
        item = pairs.pair_of(name, entry.input, responses, (None, None), category=subset, label=label)
        rows = self._evaluations([stage for stage in entry.results if isinstance(stage, dict)])
        return [_judgment(_EVALUATION.model_validate({"item_id": name, **self.common, **row}), item) for row in rows]

    def _evaluations(self, stages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        prompt = self.common["judge_prompt"]
        for number, stage in enumerate(stages, start=1):
            which = {"stage": number, "final": number == len(stages)}
            if "score_1" in stage:
                yield which | _rating(_RATING.model_validate(stage))
                continue
            asked, games = prompt in _EXPLAINED or (prompt in _TWO_STAGE and number == 1), _STAGE.model_validate(stage)
            yield from (which | _game(getattr(games, order), order, asked) for order in pairs.ORDERS)


def _game(game: Any, order: GameOrder, asked: bool) -> dict[str, Any]:
    """A game as the fields of a row, with the winner of the stored order in the order shown."""
    text, *finish = game.completion
    matches = _SAID_BETTER.findall(text) if asked else []
    return {
        "order": order,
        "decision": None if game.winner is None else _WINNERS[(game.winner == "1") == (order == "AB")],
        "text_verdict": _WINNERS[matches[-1] == "a"] if matches else None,
        "judgment_text": text,
        "finish": finish[0] if finish else None,
        "has_explanation": asked and len(text.split()) >= 8,
    }


def _rating(rating: Any) -> dict[str, Any]:
    a, b = rating.score_1[0], rating.score_2[0]
    decision = None
    # Only whole numbers count as scores; anything else upstream turned into one win each.
    if _WHOLE.fullmatch(a) and _WHOLE.fullmatch(b):
        decision = "A=B" if int(a) == int(b) else _WINNERS[int(a) > int(b)]
    return {"order": "pointwise", "decision": decision, "score_a": a, "score_b": b}
