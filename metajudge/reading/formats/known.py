"""The formats of known tools: what marks a record of each, and what reads it.

A format of another tool is one module and one entry here: a function that recognises a record by its keys, and one that
reads it. Where a record needs those of another file, the entry says what is missing where it lies alone. The modules
are imported where a file is not our own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final, Literal, TypeAlias

from metajudge.reading.containers.kinds import entries_of
from metajudge.reading.containers.lines import BadLine, Line, Source
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats.records import Records
from metajudge.reading.formats.scored_runs import AssessedRun, AssessedRuns
from metajudge.reading.jsonl import JudgmentLines
from metajudge.reading.reader import LineReader, Reader
from metajudge.types import Judgment

Record = Mapping[str, Any]
Values = Mapping[str, str]


Part: TypeAlias = Literal[
    "pairs", "games", "evaluations", "items", "verdicts", "spans", "annotations", "runs", "feedback", "traces", "scores"
]
"""Records of a format that need those of another file."""

_NO_PAIRS: Final = "judgments that name pairs by item_id, but not the pairs: give the folder with both files"
APART: Final[Mapping[Part, str]] = {
    "pairs": "pairs, but no judgments: give the folder with both files",
    "games": _NO_PAIRS,
    "evaluations": _NO_PAIRS,
    "items": "MT-Bench items, but no judgments: give the folder with both files",
    "verdicts": "MT-Bench judgments, but not the items: give the folder with both files",
    "spans": "Phoenix spans, but no annotations: give the folder with both",
    "annotations": "Phoenix annotations, but not the spans they are about: give the folder with both",
    "runs": "LangSmith runs, but no feedback: give the folder with both (feedback has run_id, key, score)",
    "feedback": "LangSmith feedback, but not the runs it is about: give the folder with both (runs have id, inputs, "
    "outputs)",
    "traces": "Langfuse traces, but no scores: give the folder with both",
    "scores": "Langfuse scores, but not the traces they are about: give the folder with scores/ and traces/ or "
    "observations_v2/",
}
"""What a file of a part contains, and what is missing where it lies alone."""


@dataclass(frozen=True, slots=True)
class Format:
    """What one kind of record is.

    Attributes:
        name: for people.
        recognises: whether a record is one, by its keys; never, where records are only found inside an object.
        reader: makes a reader of a table of such records, with what values mean; None for a part of a format.
        part: which part of a format it is.
        by_columns: whether the records may be rows of any table, so that a mapping kept for the file goes before.
        inside: a reader for a file that is one object; None where the object is of another format.
    """

    name: str
    recognises: Callable[[Record], bool] = lambda _: False
    reader: Callable[[Table, Values], Reader] | None = None
    part: Part | None = None
    by_columns: bool = False
    inside: Callable[[Source, Record, Values], Reader | None] | None = None


OWN: Final = Format("judgments", JudgmentLines.recognises)


def format_of(record: Record) -> Format | None:
    """The format of one record, by its keys; None where it is of none."""
    if OWN.recognises(record):
        return OWN
    return next((one for one in formats() if one.recognises(record)), None)


def object_reader(source: Source, data: Record, values: Values) -> Reader | None:
    """A reader for a file that is one object as another tool writes it; None for any other object."""
    wholes = (one.inside(source, data, values) for one in formats() if one.inside is not None)
    return next((one for one in wholes if one is not None), None)


@cache
def formats() -> tuple[Format, ...]:
    """All formats of other tools; the first one that recognises a record is meant."""
    from metajudge.reading.formats import (
        alpaca_eval,
        arena_battles,
        arena_hard,
        argilla,
        chosen,
        deepeval,
        fastchat,
        helpsteer,
        inspect_log,
        judgebench,
        label_studio,
        langfuse,
        lm_eval,
        mlflow,
        numbered_pairs,
        openai_evals,
        phoenix,
        prometheus,
        promptfoo,
        ragas,
        realmistake,
        rewardbench2,
        ultrafeedback,
        wildbench,
    )

    pair = _has("item_id question response_a response_b")
    return (
        Format(
            judgebench.FORMAT,
            _has("pair_id question response_A response_B judgments"),
            lambda table, _: judgebench.judgebench_output(table),
        ),
        _by_line(arena_hard.FORMAT, arena_hard.is_arena_hard, lambda: arena_hard.judgments),
        _by_line(
            alpaca_eval.FORMAT,
            _has("instruction output_1 output_2 preference annotator"),
            lambda: alpaca_eval.judgments,
            by_columns=True,
        ),
        Format(
            promptfoo.FORMAT,
            promptfoo.is_result,
            lambda table, _: promptfoo.promptfoo_results(table.source, lines=True),
        ),
        _part("evaluations", _has("item_id judge_model judge_prompt stage order decision")),
        _part("games", _has("item_id judge_model order decision judgment_text")),
        _part("pairs", lambda row: pair(row) and not {"judge", "verdict", "winner"} & row.keys()),
        _assessed(rewardbench2.RESULTS, None, rewardbench2.run_of, rewardbench2.rows_in),
        _assessed(rewardbench2.PAIRED_RESULTS, None, rewardbench2.pair_of, partial(rewardbench2.rows_in, paired=True)),
        _assessed(mlflow.FORMAT, mlflow.is_trace, mlflow.trace_of),
        _assessed(argilla.FORMAT, argilla.is_record, argilla.record_of),
        _assessed(openai_evals.FORMAT, openai_evals.is_output_item, openai_evals.run_of, openai_evals.page_of),
        _assessed(label_studio.FORMAT, label_studio.is_task, label_studio.run_of),
        _assessed(lm_eval.FORMAT, _has("doc_id doc target resps filtered_resps"), lm_eval.run_of),
        _assessed(fastchat.PAIRS, _has("question_id model_1 model_2 g1_winner g2_winner judge"), fastchat.pair_of),
        _assessed(fastchat.GRADES, _has("question_id model judge user_prompt judgment score"), fastchat.grade_of),
        _assessed(ragas.ANNOTATIONS, ragas.is_annotation, ragas.annotation_of, ragas.annotations_in),
        _assessed(ragas.FORMAT, ragas.is_row, ragas.row_of),
        _part("annotations", phoenix.is_annotation),
        _part("spans", phoenix.is_span),
        _part("verdicts", _has("judge_id template contexts verdict sample")),
        _part("items", _has("item_id question_id turn answer_a answer_b votes voters")),
        _by_line(realmistake.FORMAT, realmistake.is_detection, lambda: realmistake.judgments),
        _by_line(
            rewardbench2.FORMAT,
            _has("subset row judge ordering permutation parsed_letter"),
            lambda: rewardbench2.Passes().judgments,
        ),
        _part("feedback", _has("run_id key score")),
        _part("scores", langfuse.is_score),
        _part("runs", _has("id inputs outputs")),
        _part("traces", langfuse.is_run),
        *map(
            _records, (arena_battles.FORMAT, chosen.CHATS, chosen.REWARDBENCH, helpsteer.PREFERENCES, helpsteer.RATINGS)
        ),
        *map(_records, (numbered_pairs.ALPACA_FARM, numbered_pairs.AUTO_J, numbered_pairs.PANDALM, prometheus.BIGGEN)),
        *map(_records, (prometheus.FEEDBACK, prometheus.PREFERENCES, ultrafeedback.FORMAT, wildbench.SCORES)),
        _whole(inspect_log.FORMAT, inspect_log.is_inspect_log, lambda source, *_: inspect_log.inspect_log(source)),
        _whole(promptfoo.FORMAT, promptfoo.is_output, lambda source, *_: promptfoo.promptfoo_results(source)),
        _whole(langfuse.FORMAT, langfuse.is_trace, langfuse.langfuse_trace),
        _whole(deepeval.FORMAT, deepeval.is_test_run, lambda source, *_: deepeval.deepeval_run(source)),
    )


def _records(one: Records) -> Format:
    return Format(one.name, one.recognises, one.reader, by_columns=True)


def _part(part: Part, recognises: Callable[[Record], bool]) -> Format:
    return Format(part, recognises, part=part)


def _has(keys: str) -> Callable[[Record], bool]:
    """Recognises records by keys that all of them have."""
    wanted = frozenset(keys.split())
    return lambda record: record.keys() >= wanted


def _by_line(
    name: str,
    recognises: Callable[[Record], bool],
    judgments: Callable[[], Callable[[Line], list[Judgment]]],
    *,
    by_columns: bool = False,
) -> Format:
    """A format of which each row is some judgments; ``judgments`` makes what reads the rows of one file."""

    def reader(table: Table, _: Values) -> Reader:
        return LineReader(name, table.source, table.rows, judgments())

    return Format(name, recognises, reader, by_columns=by_columns)


def _assessed(
    name: str,
    recognises: Callable[[Record], bool] | None,
    run_of: Callable[[Record], AssessedRun],
    records_in: Callable[[Record], list[Any] | None] | None = None,
) -> Format:
    """A format of which each row is a run with what was said of it.

    Args:
        recognises: None where records are only found inside an object.
        records_in: the records in a file that is one object; None where the object is of another format. Without it
            such a file contains one record.
    """

    def read(line: Line) -> AssessedRun:
        if recognises is not None and not recognises(line.data):
            raise BadLine(f"no record of {name}: its fields are {', '.join(map(str, list(line.data)[:8]))}")
        return run_of(line.data)

    def reader(table: Table, values: Values) -> Reader:
        return AssessedRuns(name, table.source, table.rows, read, values)

    def inside(source: Source, data: Record, values: Values) -> Reader | None:
        records = None if records_in is None else records_in(data)
        if records is None and recognises is not None and recognises(data):
            records = [data]
        return None if records is None else AssessedRuns(name, source, partial(entries_of, records), read, values)

    made = Format(name, reader=reader, by_columns=True, inside=inside)
    return made if recognises is None else replace(made, recognises=recognises)


def _whole(
    name: str, recognises: Callable[[Record], bool], reader: Callable[[Source, Record, Values], Reader]
) -> Format:
    """A format of files that are one object."""
    return Format(name, inside=lambda source, data, values: reader(source, data, values) if recognises(data) else None)
