"""JudgeBench (Tan et al., "JudgeBench", ICLR 2025): the runner's output files, and the folder layout.

An output file contains one pair a line with its ``judgments``: one game, or two of which the second shows the
responses swapped; a game is null where the runner failed to ask. Decisions are in the order shown and turned back here.
The judge is the model; a prompt other than the benchmark's standard one (``arena_hard``) is part of the judge's
name (``gpt-4o/vanilla``), because the same model under another prompt is another judge. Ids are ``pair/judge/order``.
"""

from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from metajudge.reading.containers.lines import BadLine, Line, Source
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats import pairs
from metajudge.reading.formats.pairs import GameOrder, known_only, shape
from metajudge.reading.reader import LineReader, each
from metajudge.types import Item, Judgment

FORMAT = "JudgeBench output"
STANDARD_PROMPT = "arena_hard"

_CATEGORIES: Final = {
    "mmlu-pro": "Knowledge",
    "livebench-reasoning": "Reasoning",
    "livebench-math": "Math",
    "livecodebench": "Coding",
}
_LABELS: Final = {"vanilla": ("a", "b"), "panda_lm": ("1", "2"), "judge_lm": ("1", "2"), "auto_j": ("1", "2")}
"""What a prompt calls the responses, where it is not A and B."""

_PROMPT: Final = (str, STANDARD_PROMPT)
_GAME = shape(
    f"{pairs.GAME} judge_prompt order verdict~ dataset~ source_repo~",
    has_explanation=bool,
    judge_prompt=_PROMPT,
    order=Literal["AB", "BA"],
)
_ANSWER = shape("judge_model response~ scores~", scores=Annotated[list[float], Field(min_length=2, max_length=2)])
_PLAYED = shape("judgment decision?", judgment=_ANSWER)
_OUTPUT = shape(
    "pair_id source~ question response_model~ response_A response_B label~ judge_name judgments",
    judge_name=_PROMPT,
    judgments=(pairs.list_of(_PLAYED | None), Field(min_length=1, max_length=2)),
)
_Asked: TypeAlias = tuple[str, str, GameOrder]
"""The judge's model and prompt, and the order shown."""
_KEPT: Final = ("dataset", "subset", "source_repo", "judge_prompt", "has_explanation")


def games(items: list[Source], judgments: Source) -> pairs.FolderReader:
    """A reader of the folder layout."""
    return pairs.paired("JudgeBench folder", items, judgments, _GAME, _from_game)


def _from_game(row: Any, item: Item) -> Judgment:
    pairs.check_label(row.label, row.order, item)
    meta = known_only({name: getattr(row, name) for name in _KEPT})
    asked, text = (row.judge_model, row.judge_prompt, row.order), row.judgment_text or ""
    outcome = pairs.game_verdict(row.decision, row.verdict, text, row.order)
    return _judgment(item, asked, outcome, row.verdict, text, meta)


def judgebench_output(table: Table) -> LineReader:
    """Reads an output file of the benchmark's runner."""
    return LineReader(FORMAT, table.source, table.rows, partial(_from_output, table))


def _from_output(table: Table, line: Line) -> list[Judgment]:
    row = _OUTPUT.model_validate(line.data)
    judge = _judge_in(row) or _judge_of_file(table)
    if judge is None:
        raise BadLine("every game in 'judgments' is null: the runner failed, and nothing names the judge")
    responses, models = (row.response_A, row.response_B), (row.response_model, row.response_model)
    category = next((name for prefix, name in _CATEGORIES.items() if (row.source or "").startswith(prefix)), None)
    item = pairs.pair_of(row.pair_id, row.question, responses, models, category=category, label=row.label)
    meta = known_only({"dataset": "judgebench", "judge_prompt": row.judge_name, "subset": row.source})
    played = zip(row.judgments, pairs.ORDERS, strict=False)
    return [_from_played(item, (judge, row.judge_name, order), game, meta) for game, order in played]


def _judge_in(row: Any) -> str | None:
    """The judge's model, by the first game that was played."""
    return next((game.judgment.judge_model for game in row.judgments if game is not None), None)


def _judge_of_file(table: Table) -> str | None:
    """The judge in the name the runner gives its files: ``...,judge_name=NAME,judge_model=MODEL.jsonl``.

    The runner writes the ``/`` of a model's id as ``_``; where the name has one, a line of the file has to confirm it.
    """
    stem = table.source.path.name.removesuffix(".gz").removesuffix(".jsonl")
    _, found, name = stem.rpartition("judge_model=")
    if not found or "," in name:
        return None
    if "_" not in name:
        return name or None
    judges = each(table.source, table.rows(), lambda line: _judge_in(_OUTPUT.model_validate(line.data)))
    return next((one for one in judges if isinstance(one, str) and one.replace("/", "_") == name), None)


def _from_played(item: Item, asked: _Asked, game: Any, meta: dict[str, Any]) -> Judgment:
    if game is None:
        return _judgment(item, asked, pairs.NOT_PLAYED, None, "", meta)
    text, order, marks = game.judgment.response or "", asked[2], pairs.stated_marks(game.judgment.response or "")
    if game.judgment.scores is not None:
        meta = {**meta, "scores": dict(zip(pairs.shown_order(order), game.judgment.scores, strict=True))}
    mark = marks[0] if len(marks) == 1 else None
    return _judgment(item, asked, pairs.game_verdict(game.decision, mark, text, order), mark, text, meta)


def _judgment(
    item: Item, asked: _Asked, outcome: pairs.Outcome, mark: str | None, text: str, meta: dict[str, Any]
) -> Judgment:
    judge, prompt, order = asked
    if prompt != STANDARD_PROMPT:  # two prompts of one model count as one judge in the evidence
        judge, meta = f"{judge}/{prompt}", {**meta, "judge_model": judge}
    stated, verdict = pairs.turned_back(mark, order), outcome[0]
    if stated is not None and verdict is not None and stated.winner != verdict.winner:
        # The decision governs; what the judge wrote is kept for inspection.
        meta = {**meta, "stated_verdict": str(stated)}
    return pairs.game_of(item, judge, order, outcome, rationale=text, labels=_LABELS.get(prompt), meta=meta)
