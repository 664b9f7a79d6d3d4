"""What a record is, by its keys: of which tool's format, or what part of one."""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any

from metajudge.readers.jsonl import JudgmentLines


class Shape(Enum):
    """What a file's records are."""

    JUDGMENTS = "judgments"
    OUTPUT = "JudgeBench output"
    ARENA_HARD = "Arena-Hard judgments"
    ALPACA_EVAL = "AlpacaEval annotations"
    PROMPTFOO = "promptfoo results"
    FEEDBACK = "LangSmith feedback without its runs"
    RUNS = "LangSmith runs"
    SCORES = "Langfuse scores without their traces"
    TRACES = "Langfuse traces"
    ANNOTATIONS = "Phoenix annotations without their spans"
    SPANS = "Phoenix spans"
    ASSESSED = "runs with what was said of them"
    PAIRS = "pairs without judgments"
    GAMES = "judgments without their pairs (JudgeBench)"
    EVALUATIONS = "judgments without their pairs (LLMBar)"
    MTBENCH_ITEMS = "items without judgments (MT-Bench)"
    MTBENCH_VERDICTS = "judgments without their items (MT-Bench)"
    DETECTIONS = "ReaLMistake detections"
    PASSES = "RewardBench 2 passes"
    OBJECT = "one JSON object"
    TABLE = "a table"
    EMPTY = "nothing"
    UNKNOWN = "something else"


APART = {
    Shape.GAMES: "contains judgments that name pairs by item_id, but not the pairs: give the folder with both files",
    Shape.PAIRS: "contains pairs, but no judgments: give the folder with both files",
    Shape.FEEDBACK: "contains LangSmith feedback, but not the runs it is about: give the folder with both (runs "
    "have id, inputs, outputs)",
    Shape.RUNS: "contains LangSmith runs, but no feedback: give the folder with both (feedback has run_id, key, score)",
    Shape.SCORES: "contains Langfuse scores, but not the traces they are about: give the folder with scores/ and "
    "traces/ or observations_v2/",
    Shape.TRACES: "contains Langfuse traces, but no scores: give the folder with both",
    Shape.ANNOTATIONS: "contains Phoenix annotations, but not the spans they are about: give the folder with both",
    Shape.SPANS: "contains Phoenix spans, but no annotations: give the folder with both",
}
"""Parts of a format whose records lie in several files, and what is missing where one lies alone."""
APART[Shape.EVALUATIONS] = APART[Shape.GAMES]
APART[Shape.MTBENCH_ITEMS] = "contains MT-Bench items, but no judgments: give the folder with both files"
APART[Shape.MTBENCH_VERDICTS] = "contains MT-Bench judgments, but not the items: give the folder with both files"


def shape_of(record: Mapping[str, Any]) -> Shape:
    """What one record is, by its keys."""
    data = dict(record)
    if JudgmentLines.recognises(data):
        return Shape.JUDGMENTS
    return next((shape for shape, recognises in _other_formats().items() if recognises(data)), Shape.UNKNOWN)


@cache
def _other_formats() -> dict[Shape, Callable[[dict[str, Any]], bool]]:
    """What recognises a record of another tool's format; their modules are imported where a file is not our own."""
    from metajudge.readers import (
        alpaca_eval,
        arena_hard,
        judgebench,
        langfuse,
        langsmith,
        llmbar,
        mtbench,
        phoenix,
        promptfoo,
        realmistake,
        rewardbench2,
    )
    from metajudge.readers.assessed_formats import format_of
    from metajudge.readers.pairs import is_pair

    return {
        Shape.OUTPUT: judgebench.is_output,
        Shape.ARENA_HARD: arena_hard.is_arena_hard,
        Shape.ALPACA_EVAL: alpaca_eval.is_annotation,
        Shape.PROMPTFOO: promptfoo.is_promptfoo_result,
        Shape.EVALUATIONS: llmbar.is_evaluation,
        Shape.GAMES: judgebench.is_game,
        Shape.PAIRS: is_pair,
        Shape.ASSESSED: lambda record: format_of(record) is not None,
        Shape.ANNOTATIONS: phoenix.is_annotation,
        Shape.SPANS: phoenix.is_span,
        Shape.MTBENCH_VERDICTS: mtbench.is_verdict,
        Shape.MTBENCH_ITEMS: mtbench.is_item,
        Shape.DETECTIONS: realmistake.is_detection,
        Shape.PASSES: rewardbench2.is_pass,
        Shape.FEEDBACK: langsmith.is_feedback,
        Shape.SCORES: langfuse.is_score,
        Shape.RUNS: langsmith.is_run,
        Shape.TRACES: langfuse.is_run,
    }
