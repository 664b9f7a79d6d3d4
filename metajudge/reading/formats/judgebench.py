"""JudgeBench (Tan et al., "JudgeBench", ICLR 2025): the runner's output files, and the folder layout.

An output file contains one pair a line with its ``judgments``: one game, or two of which the second shows the
responses swapped. Each game becomes a judgment. Decisions are recorded in the order shown and turned back here.

The judge is the model; a prompt other than the benchmark's standard one (``arena_hard``) is part of the judge's
name (``gpt-4o/vanilla``), because the same model under another prompt is another judge. Ids are
``pair/judge/order``.
"""

from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from metajudge.reading.containers.lines import BadLine, Line, Source
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats import pairs
from metajudge.reading.reader import LineReader
from metajudge.types import Item, Judgment

FORMAT = "JudgeBench output"
STANDARD_PROMPT = "arena_hard"

_CATEGORIES = {
    "mmlu-pro": "Knowledge",
    "livebench-reasoning": "Reasoning",
    "livebench-math": "Math",
    "livecodebench": "Coding",
}

_LABELS = {"vanilla": ("a", "b"), "panda_lm": ("1", "2"), "judge_lm": ("1", "2"), "auto_j": ("1", "2")}
"""What a prompt calls the responses, where it is not A and B."""


class GameRow(pairs.JudgmentRow):
    """A line of the folder's judgments file; label, decision and verdict are in the order shown."""

    judge_prompt: str = STANDARD_PROMPT
    order: Literal["AB", "BA"]
    verdict: str | None = None
    dataset: str | None = None
    source_repo: str | None = None


def games(items: list[Source], judgments: Source) -> pairs.FolderReader:
    """A reader of the folder layout."""
    return pairs.paired("JudgeBench folder", items, judgments, GameRow, _from_game)


def _from_game(row: GameRow, item: Item) -> Judgment:
    pairs.check_label(row.label, row.order, item)
    kept = ("dataset", "subset", "source_repo", "judge_prompt", "has_explanation")
    meta = {name: value for name in kept if (value := getattr(row, name)) is not None}
    text, asked = row.judgment_text or "", (row.judge_model, row.judge_prompt, row.order)
    outcome = pairs.game_verdict(row.decision, row.verdict, text, row.order)
    return _judgment(item, asked, outcome, row.verdict, text, meta)


class _Answer(BaseModel):
    judge_model: str
    response: str | None = None
    scores: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None


class _Game(BaseModel):
    judgment: _Answer
    decision: str | None


class OutputRow(pairs.BenchmarkLine):
    """A line of an output file: a pair and its games; a game is null where the runner failed to ask."""

    pair_id: str
    source: str | None = None
    question: str
    response_model: str | None = None
    response_A: str  # noqa: N815 - the file's own name
    response_B: str  # noqa: N815
    label: str | None = None
    judge_name: str = STANDARD_PROMPT
    judgments: list[_Game | None] = Field(min_length=1, max_length=2)

    @property
    def judge(self) -> str | None:
        """The judge's model, by the first game that was played."""
        return next((game.judgment.judge_model for game in self.judgments if game is not None), None)

    def item(self) -> Item:
        responses, models = (self.response_A, self.response_B), (self.response_model, self.response_model)
        named = (name for prefix, name in _CATEGORIES.items() if (self.source or "").startswith(prefix))
        category = next(named, None)
        return pairs.pair_of(self.pair_id, self.question, responses, category=category, label=self.label, models=models)


def judgebench_output(table: Table) -> LineReader:
    """Reads an output file of the benchmark's runner."""
    return LineReader(FORMAT, table.source, table.rows, lambda line: _from_output(line, table))


def _judge_of_file(table: Table) -> str | None:
    """The judge in the name the runner gives its files: ``...,judge_name=NAME,judge_model=MODEL.jsonl``.

    The runner writes the ``/`` of a model's id as ``_``; where the name has one, a line of the file has to confirm it.
    """
    stem = table.source.path.name.removesuffix(".gz").removesuffix(".jsonl")
    _, found, name = stem.rpartition("judge_model=")
    if not found or not name or "," in name:
        return None
    if "_" not in name:
        return name
    for line in table.rows():
        with suppress(ValidationError):
            model = OutputRow.model_validate(line.data).judge if isinstance(line, Line) else None
            if model is not None and model.replace("/", "_") == name:
                return model
    return None


def _from_output(line: Line, table: Table) -> list[Judgment]:
    row = OutputRow.model_validate(line.data)
    judge_model = row.judge or _judge_of_file(table)
    if judge_model is None:
        raise BadLine("every game in 'judgments' is null: the runner failed, and nothing names the judge")
    item = row.item()
    games = zip(row.judgments, pairs.ORDERS, strict=False)
    return [_from_output_game(row, item, judge_model, game, order) for game, order in games]


def _from_output_game(
    row: OutputRow, item: Item, judge_model: str, game: _Game | None, order: pairs.GameOrder
) -> Judgment:
    meta: dict[str, Any] = {"dataset": "judgebench", "judge_prompt": row.judge_name}
    meta |= {} if row.source is None else {"subset": row.source}
    asked, text, mark, outcome = (judge_model, row.judge_name, order), "", None, pairs.NOT_PLAYED
    if game is not None:
        if game.judgment.scores is not None:
            meta["scores"] = dict(zip(pairs.shown_order(order), game.judgment.scores, strict=True))
        text = game.judgment.response or ""
        marks = pairs.stated_marks(text)
        mark = marks[0] if len(marks) == 1 else None
        outcome = pairs.game_verdict(game.decision, mark, text, order)
    return _judgment(item, asked, outcome, mark, text, meta)


def _judgment(
    item: Item,
    asked: tuple[str, str, pairs.GameOrder],
    outcome: pairs.Outcome,
    mark: str | None,
    text: str,
    meta: dict[str, Any],
) -> Judgment:
    """A game as a judgment.

    Args:
        asked: the judge's model and prompt, and the order shown.
        mark: the verdict that the judge wrote, as shown.
    """
    model, prompt, order = asked
    judge = model if prompt == STANDARD_PROMPT else f"{model}/{prompt}"
    if prompt != STANDARD_PROMPT:
        meta = {**meta, "judge_model": model}  # two prompts of one model count as one judge in the evidence
    stated, verdict = pairs.turned_back(mark, order), outcome[0]
    if stated is not None and verdict is not None and stated.winner != verdict.winner:
        # The decision governs; what the judge wrote is kept for inspection.
        meta = {**meta, "stated_verdict": str(stated)}
    return pairs.game_of(item, judge, order, outcome, rationale=text, labels=_LABELS.get(prompt), meta=meta)
