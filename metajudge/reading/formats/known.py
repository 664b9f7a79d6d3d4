"""The formats of known tools: what marks a record of each, and what reads it.

A format of another tool is one module and one entry here. Where a record needs those of another file, the entry says
what is missing where it lies alone. The modules are imported where a file is not our own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

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
        marks: keys of every record, for people, as :func:`~metajudge.reading.formats.specs.is_marked` reads them.
        completed: a mapping with the columns that it leaves open, where the format says them.
    """

    name: str
    recognises: Callable[[Record], bool] = lambda _: False
    reader: Callable[[Table, Values], Reader] | None = None
    part: Part | None = None
    by_columns: bool = False
    inside: Callable[[Source, Record, Values], Reader | None] | None = None
    marks: str = ""
    completed: Callable[[Sequence[str], FieldMap], FieldMap] | None = None


class FormatLine(NamedTuple):
    """A format in the list of formats: its name, what marks a record, and what else must be given."""

    name: str
    marks: str
    needs: str


OWN: Final = Format("judgments", JudgmentLines.recognises, marks="id item judge verdict")


def format_of(record: Record) -> Format | None:
    """The format of one record, by its keys; None where it is of none."""
    if OWN.recognises(record):
        return OWN
    return next((one for one in formats() if one.recognises(record)), None)


def object_reader(source: Source, data: Record, values: Values) -> Reader | None:
    """A reader for a file that is one object as another tool writes it; None for any other object."""
    wholes = (one.inside(source, data, values) for one in formats() if one.inside is not None)
    return next((one for one in wholes if one is not None), None)


def table_of_formats() -> list[FormatLine]:
    """The formats that are read without a mapping, our own first, then by name; one of several files says of which."""
    missing = {part: told.partition(": ")[2] for part, told in APART.items()}
    lines = [FormatLine(one.name, _shown(one.marks), missing[one.part] if one.part else "") for one in formats()]
    return [FormatLine("metajudge", _shown(OWN.marks), ""), *sorted(lines, key=lambda line: line.name.casefold())]


def names_of_formats() -> list[str]:
    """The names in :func:`table_of_formats`, each once."""
    return list(dict.fromkeys(line.name for line in table_of_formats()))


def _shown(marks: str) -> str:
    return ", ".join(one.replace("|", " or ") for one in marks.split() if not one.startswith("!"))


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
        helm,
        helpsteer,
        inspect_log,
        judgebench,
        label_studio,
        langfuse,
        langsmith,
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

    folder, pairs = "JudgeBench or LLMBar folder", "item_id question response_a response_b !judge !verdict !winner"
    return (
        _rows(
            judgebench.FORMAT,
            "pair_id question response_A response_B judgments",
            lambda table, _: judgebench.judgebench_output(table),
        ),
        _lines(arena_hard.FORMAT, "judge games", lambda: arena_hard.judgments, arena_hard.is_arena_hard),
        replace(
            _lines(
                alpaca_eval.FORMAT, "instruction output_1 output_2 preference annotator", lambda: alpaca_eval.judgments
            ),
            by_columns=True,
        ),
        _rows(
            promptfoo.FORMAT,
            promptfoo.RESULT_MARKS,
            lambda table, _: promptfoo.promptfoo_results(table.source, lines=True),
        ),
        _part(folder, "evaluations", "item_id judge_model judge_prompt stage order decision"),
        _part(folder, "games", "item_id judge_model order decision judgment_text"),
        _part(folder, "pairs", pairs),
        _spec(
            Spec(
                name=rewardbench2.RESULTS,
                shown="id subset results model scores",
                inside=rewardbench2.rows_in,
                read=rewardbench2.run_of,
            )
        ),
        _spec(
            Spec(
                name=rewardbench2.PAIRED_RESULTS,
                shown="id subset results scores_chosen scores_rejected",
                inside=partial(rewardbench2.rows_in, paired=True),
                read=rewardbench2.pair_of,
            )
        ),
        *map(_spec, (mlflow.SPEC, argilla.SPEC, openai_evals.SPEC)),
        _rows(openai_evals.EVENTS.name, openai_evals.EVENTS.marks, openai_evals.log_reader),
        *map(_spec, (label_studio.SPEC, label_studio.TABLE, lm_eval.SPEC)),
        _assessed(fastchat.PAIRS, "question_id model_1 model_2 g1_winner g2_winner judge", fastchat.pair_of),
        _assessed(fastchat.GRADES, "question_id model judge user_prompt judgment score", fastchat.grade_of),
        *map(_spec, (ragas.ANNOTATIONS, ragas.SPEC, helm.SPEC, mlflow.TABLE)),
        replace(_spec(turk.SPEC), completed=turk.completed),
        _part(phoenix.FORMAT, "annotations", phoenix.MARKS),
        _part(phoenix.FORMAT, "spans", "context|context.span_id", phoenix.is_span),
        _part("MT-Bench folder", "verdicts", "judge_id template contexts verdict sample"),
        _part("MT-Bench folder", "items", "item_id question_id turn answer_a answer_b votes voters"),
        _lines(
            realmistake.FORMAT,
            "prediction label judge prompt_name metadata",
            lambda: realmistake.judgments,
            realmistake.is_detection,
        ),
        _lines(
            rewardbench2.FORMAT,
            "subset row judge ordering permutation parsed_letter",
            lambda: rewardbench2.Passes().judgments,
        ),
        *map(
            _records, (arena_battles.FORMAT, chosen.CHATS, chosen.REWARDBENCH, helpsteer.PREFERENCES, helpsteer.RATINGS)
        ),
        *map(_records, (numbered_pairs.ALPACA_FARM, numbered_pairs.AUTO_J, numbered_pairs.PANDALM, prometheus.BIGGEN)),
        *map(_records, (prometheus.FEEDBACK, prometheus.PREFERENCES, ultrafeedback.FORMAT, wildbench.SCORES)),
        _part(langsmith.FORMAT, "feedback", "run_id key score"),
        _part(langfuse.SPEC.name, "scores", langfuse.SCORE_MARKS),
        _part(langsmith.FORMAT, "runs", "id inputs outputs"),
        _part(langfuse.SPEC.name, "traces", langfuse.RUN_MARKS),
        _whole(inspect_log.FORMAT, "eval samples|status", inspect_log.is_inspect_log, inspect_log.inspect_log),
        _whole(promptfoo.FORMAT, "results", promptfoo.is_output, promptfoo.promptfoo_results),
        Format(langfuse.FORMAT, inside=langfuse.trace_in, marks="id input output scores"),
        _whole(deepeval.FORMAT, deepeval.MARKS, deepeval.is_test_run, deepeval.deepeval_run),
    )


Test: TypeAlias = Callable[[Record], bool]


def _records(one: Records) -> Format:
    return Format(one.name, one.recognises, one.reader, by_columns=True, marks=one.marks.replace(",", ""))


def _rows(name: str, marks: str, reader: Callable[[Table, Values], Reader] | None, test: Test | None = None) -> Format:
    """A format of records that are recognised by their keys."""
    return Format(name, lambda row: is_marked(row, marks) and (test is None or test(row)), reader, marks=marks)


def _lines(
    name: str, marks: str, judgments: Callable[[], Callable[[Line], list[Judgment]]], test: Test | None = None
) -> Format:
    """A format of which each row is some judgments; ``judgments`` makes what reads the rows of one file."""
    return _rows(name, marks, lambda table, _: LineReader(name, table.source, table.rows, judgments()), test)


def _part(name: str, part: Part, marks: str, test: Test | None = None) -> Format:
    return replace(_rows(name, marks, None, test), part=part)


def _spec(spec: Spec) -> Format:
    """A format of which each row is a run with what was said of it."""
    inside = spec.reader_inside
    return Format(spec.name, spec.recognises, spec.reader, None, True, inside, spec.shown or spec.marks)


def _assessed(
    name: str,
    marks: str | None,
    run_of: Callable[[Record], AssessedRun],
    records_in: Callable[[Record], list[Any] | None] | None = None,
) -> Format:
    """Such a format that is read by a function; without marks records are only found inside an object."""
    return _spec(Spec(name=name, marks=marks or "", read=run_of, inside=records_in))


def _whole(name: str, marks: str, recognises: Test, reader: Callable[[Source], Reader]) -> Format:
    """A format of files that are one object."""
    return Format(name, inside=lambda source, data, _: reader(source) if recognises(data) else None, marks=marks)
