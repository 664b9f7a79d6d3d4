"""The formats of known tools: what marks a record of each, and what reads it; the first that recognises it is meant.

A format of another tool is one module and one entry here. Where a record needs those of another file, the entry says
what is missing where it lies alone. The modules are imported where a file is not our own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final, Literal, TypeAlias

from metajudge.reading.containers.lines import Line, Source
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats.records import Records
from metajudge.reading.formats.scored_runs import AssessedRun
from metajudge.reading.formats.specs import Spec, is_marked
from metajudge.reading.jsonl import JudgmentLines
from metajudge.reading.mapping import FieldMap
from metajudge.reading.reader import LineReader, Reader
from metajudge.types import Judgment

Record = Mapping[str, Any]
Values = Mapping[str, str]
Test: TypeAlias = Callable[[Record], bool]

Part: TypeAlias = Literal[
    "pairs", "games", "evaluations", "items", "verdicts", "spans", "annotations", "runs", "feedback", "traces", "scores"
]
"""Records of a format that need those of another file."""

_NO_PAIRS: Final = "judgments that name pairs by item_id, but not the pairs: give the folder with both files"
_LLMBAR, _MT_BENCH, _PHOENIX = "JudgeBench or LLMBar folder", "MT-Bench folder", "Phoenix annotations"
_LANGSMITH, _LANGFUSE = "LangSmith feedback", "Langfuse scores"
_PARTS: Final[Mapping[Part, tuple[str, str, str]]] = {
    "spans": (_PHOENIX, "", "Phoenix spans, but no annotations: give the folder with both"),
    "evaluations": (_LLMBAR, "item_id judge_model judge_prompt stage order decision", _NO_PAIRS),
    "games": (_LLMBAR, "item_id judge_model order decision judgment_text", _NO_PAIRS),
    "pairs": (
        _LLMBAR,
        "item_id question response_a response_b !judge !verdict !winner",
        "pairs, but no judgments: give the folder with both files",
    ),
    "annotations": (
        _PHOENIX,
        "name|annotation_name annotator_kind span_id !input !output",
        "Phoenix annotations, but not the spans they are about: give the folder with both",
    ),
    "verdicts": (
        _MT_BENCH,
        "judge_id template contexts verdict sample",
        "MT-Bench judgments, but not the items: give the folder with both files",
    ),
    "items": (
        _MT_BENCH,
        "item_id question_id turn answer_a answer_b votes voters",
        "MT-Bench items, but no judgments: give the folder with both files",
    ),
    "feedback": (
        _LANGSMITH,
        "run_id key score",
        "LangSmith feedback, but not the runs it is about: give the folder with both (runs have id, inputs, outputs)",
    ),
    "scores": (
        _LANGFUSE,
        "name value source trace_id|traceId|subject",
        "Langfuse scores, but not the traces they are about: give the folder with scores/ and traces/ or "
        "observations_v2/",
    ),
    "runs": (
        _LANGSMITH,
        "id inputs outputs",
        "LangSmith runs, but no feedback: give the folder with both (feedback has run_id, key, score)",
    ),
    "traces": (
        _LANGFUSE,
        "id input output project_id|projectId|trace_id|traceId|timestamp",
        "Langfuse traces, but no scores: give the folder with both",
    ),
}
"""Of a part its format, what marks its records, and what a file of it contains and lacks where it lies alone."""
APART: Final = {part: told for part, (_, _, told) in _PARTS.items()}
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
        completed: a mapping with the columns that it leaves open, where the format says them.
    """

    name: str
    recognises: Test = lambda _: False
    reader: Callable[[Table, Values], Reader] | None = None
    part: Part | None = None
    by_columns: bool = False
    inside: Callable[[Source, Record, Values], Reader | None] | None = None
    completed: Callable[[Sequence[str], FieldMap], FieldMap] | None = None


OWN: Final = Format("judgments", JudgmentLines.recognises)


def format_of(record: Record) -> Format | None:
    """The format of one record, by its keys; None where it is of none."""
    return next((one for one in (OWN, *formats()) if one.recognises(record)), None)


def object_reader(source: Source, data: Record, values: Values) -> Reader | None:
    """A reader for a file that is one object as another tool writes it; None for any other object."""
    wholes = (one.inside(source, data, values) for one in formats() if one.inside is not None)
    return next((one for one in wholes if one is not None), None)


@cache
def formats() -> tuple[Format, ...]:
    """All formats of other tools."""
    from metajudge.reading.formats import (
        alpaca_eval,
        arena_battles,
        arena_hard,
        argilla,
        chosen,
        deepeval,
        fastchat,
        helm,
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
        turk,
        ultrafeedback,
        wildbench,
    )

    return (
        Format(
            judgebench.FORMAT,
            _marked("pair_id question response_A response_B judgments"),
            lambda table, _: judgebench.judgebench_output(table),
        ),
        _lines(arena_hard.FORMAT, arena_hard.is_arena_hard, arena_hard.judgments),
        Format(
            alpaca_eval.FORMAT,
            _marked("instruction output_1 output_2 preference annotator"),
            lambda table, _: LineReader(alpaca_eval.FORMAT, table.source, table.rows, alpaca_eval.judgments),
            by_columns=True,
        ),
        Format(promptfoo.FORMAT, promptfoo.is_result, lambda table, _: promptfoo.results(table.source, lines=True)),
        _read(rewardbench2.RESULTS, rewardbench2.run_of, inside=rewardbench2.rows_in),
        _read(rewardbench2.PAIRED_RESULTS, rewardbench2.pair_of, inside=partial(rewardbench2.rows_in, paired=True)),
        *map(_spec, (mlflow.SPEC, argilla.SPEC, openai_evals.SPEC)),
        Format(openai_evals.EVENTS.name, openai_evals.EVENTS.recognises, openai_evals.log_reader),
        *map(_spec, (label_studio.SPEC, label_studio.TABLE, lm_eval.SPEC)),
        _read(fastchat.PAIRS, fastchat.pair_of, "question_id model_1 model_2 g1_winner g2_winner judge"),
        _read(fastchat.GRADES, fastchat.grade_of, "question_id model judge user_prompt judgment score"),
        *map(_spec, (ragas.ANNOTATIONS, ragas.SPEC, helm.SPEC, mlflow.TABLE)),
        replace(_spec(turk.SPEC), completed=turk.completed),
        _lines(realmistake.FORMAT, realmistake.is_detection, realmistake.judgments),
        Format(
            rewardbench2.FORMAT,
            _marked("subset row judge ordering permutation parsed_letter"),
            lambda table, _: LineReader(rewardbench2.FORMAT, table.source, table.rows, rewardbench2.Passes().judgments),
        ),
        *map(_records, (arena_battles.FORMAT, chosen.CHATS, chosen.REWARDBENCH, helpsteer.PREFERENCES)),
        *map(_records, (helpsteer.RATINGS, numbered_pairs.ALPACA_FARM, numbered_pairs.AUTO_J, numbered_pairs.PANDALM)),
        *map(_records, (prometheus.BIGGEN, prometheus.FEEDBACK, prometheus.PREFERENCES)),
        *map(_records, (ultrafeedback.FORMAT, wildbench.SCORES)),
        *(
            Format(name, _marked(marks) if marks else phoenix.is_span, part=part)
            for part, (name, marks, _) in _PARTS.items()
        ),
        _whole(inspect_log.FORMAT, inspect_log.is_inspect_log, inspect_log.inspect_log),
        _whole(promptfoo.FORMAT, promptfoo.is_output, promptfoo.results),
        Format(langfuse.FORMAT, inside=langfuse.trace_in),
        _whole(deepeval.FORMAT, deepeval.is_test_run, deepeval.deepeval_run),
    )


def _marked(marks: str) -> Test:
    return partial(is_marked, marks=marks)


def _records(one: Records) -> Format:
    return Format(one.name, one.recognises, one.reader, by_columns=True)


def _lines(name: str, recognises: Test, judgments: Callable[[Line], list[Judgment]]) -> Format:
    """A format of which each row is some judgments."""
    return Format(name, recognises, lambda table, _: LineReader(name, table.source, table.rows, judgments))


def _spec(spec: Spec) -> Format:
    """A format of which each row is a run with what was said of it."""
    return Format(spec.name, spec.recognises, spec.reader, by_columns=True, inside=spec.reader_inside)


def _read(name: str, read: Callable[[Record], AssessedRun], marks: str = "", inside: Any = None) -> Format:
    """Such a format that is read by a function; without marks records are only found inside an object."""
    return _spec(Spec(name=name, marks=marks, read=read, inside=inside))


def _whole(name: str, recognises: Test, reader: Callable[[Source], Reader]) -> Format:
    """A format of files that are one object."""
    return Format(name, inside=lambda source, data, _: reader(source) if recognises(data) else None)
