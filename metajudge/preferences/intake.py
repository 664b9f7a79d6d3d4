"""Judgments and their assessments as tables: ``items``, ``judgments``, ``assessments``.

From a store they come by SQL over its payloads, which were validated when they were stored; from files through the
readers. Texts that the export does not need are left out.
"""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import orjson

from metajudge.errors import InputError
from metajudge.preferences.assessment_lines import read_assessments, write_assessments
from metajudge.preferences.decisions import no_people
from metajudge.preferences.filters import Filters, drop_unwanted, nothing_matches, prepare, require_known
from metajudge.preferences.judgment_lines import write_judgments
from metajudge.preferences.request import ExportRequest, Kind, Rule
from metajudge.preferences.store_intake import copy_from_store
from metajudge.preferences.verdicts import verdict_text
from metajudge.preferences.workspace import TYPES, only, quoted
from metajudge.readers import JudgmentSource
from metajudge.readers.people import PeopleCount
from metajudge.types import Assessment, Judgment, Label
from metajudge.types.label import combined, labels_in, settled
from metajudge.types.location import StoreLocation


def take_peoples_labels(work: duckdb.DuckDBPyConnection) -> None:
    """Sets ``label`` of items without one to what the people of all its records say together."""
    rows = work.execute("""
        SELECT i.item_no, j.people FROM judgments j JOIN items i USING (item_id)
        WHERE j.people IS NOT NULL AND i.label IS NULL ORDER BY 1, j.judgment_no""").fetchall()
    said: dict[int, tuple[Label, ...]] = {}
    for number, people in rows:
        said[number] = combined(said.get(number, ()), labels_in(orjson.loads(people)))
    for number, labels in said.items():
        work.execute("UPDATE items SET label = $2 WHERE item_no = $1", [number, verdict_text(settled(labels))])


CUT_SHORT: Final = ("length", "max_tokens", "max_output_tokens", "token_limit", "model_length", "MAX_TOKENS")
"""What providers call a reply that met its limit of tokens."""

_COLUMNS: Final = {
    "items": "item_no item_id question responses category label models scale question_id",
    "judgments": "judgment_no judgment_id judgment_digest item_id judge verdict shown labels rationale instruction "
    "finish response_finish people",
    "assessments": "line judgment_id judgment_digest item_id judge status accepted score probability calibration bar "
    "target delta approximate promise_judges promise_unit promise_questions marks strategy threshold rubric "
    "rubric_digest panel_digest agents version action policy",
}
"""The columns of tables from files; their types are those of :data:`~metajudge.preferences.workspace.TYPES`."""


@dataclass(frozen=True, slots=True)
class Vetted:
    """Where judgments and assessments come from: a store, or files and objects.

    Attributes:
        store_name: what messages call the store; None for where it is.
    """

    store: StoreLocation | None = None
    judgments: JudgmentSource | Iterable[Judgment] | None = None
    assessments: Path | Iterable[Assessment] | None = None
    store_name: str | None = None


def take_in(work: duckdb.DuckDBPyConnection, given: Vetted, request: ExportRequest, scratch: Path) -> dict[str, Any]:
    """Fills the tables ``assessments``, ``judgments``, ``items`` and ``people``.

    Returns:
        ``judgments``: how many there are that were vetted. What could not be used: ``unreadable_lines``, ``forgotten``
        (judgments), ``superseded`` (earlier assessments of the judgments taken), ``not_vetted``, ``by_people`` (scores
        that people gave of what no judge judged), ``filtered_out``, ``changed_since`` (the record differs from the one
        that was vetted, by its digest), ``conflicting_items`` and ``conflicting_judgments`` (one item id, two
        contents), and the first of these items by name, ``conflicting_item_ids``.

    Raises:
        InputError: no texts, ids that contradict each other, a bad line among the assessments, filters that nothing
            meets, a store without a vetted judgment.
    """
    if given.store is None:
        counts = _from_records(work, given, request, scratch)
    else:
        counts = copy_from_store(work, given.store, request, given.store_name or f"the store {given.store}")
    if request.by_label:
        take_peoples_labels(work)
    return counts | _checked(work, request)


def _from_records(
    work: duckdb.DuckDBPyConnection, given: Vetted, request: ExportRequest, scratch: Path
) -> dict[str, Any]:
    _refuse_filters_of_stores(request.filters)
    if given.judgments is None:
        raise InputError(
            "assessments contain no texts, and a preference dataset needs questions and responses: name the judgments "
            "they were vetted from with --judgments INPUT, or export from the store with --store PATH"
        )
    if given.assessments is None and request.selection.rule is not Rule.ALL:
        raise InputError(
            "there are judgments but no assessments, so nothing says which to keep: name a file of `metajudge vet "
            "--out` with --assessments, or a store, or keep everything with --all"
        )
    judging = request.kind is Kind.JUDGMENTS
    with tempfile.TemporaryDirectory(dir=scratch, prefix="lines-") as folder:
        judgments, items, assessments = (Path(folder) / name for name in ("judgments", "items", "assessments"))
        rejects = write_judgments(given.judgments, judgments, items, judging)
        vetted = given.assessments or ()
        write_assessments(read_assessments(vetted) if isinstance(vetted, Path) else vetted, assessments)
        for path in (judgments, items, assessments):
            _load(work, path.name, path)
    if given.assessments is None:
        work.execute("""
            INSERT INTO assessments BY NAME
            SELECT judgment_id, judgment_digest, item_id, judge, 'assessed' AS status FROM judgments""")
    _refuse_contradictions(work)
    (without,) = only(work, "SELECT count(*) FROM judgments ANTI JOIN assessments USING (judgment_id)")
    total, left = _filter_records(work, request.filters)
    work.execute("DELETE FROM judgments WHERE judgment_id NOT IN (SELECT judgment_id FROM assessments)")
    no_people(work)
    people = given.judgments.people if isinstance(given.judgments, JudgmentSource) else PeopleCount()
    return {
        "unreadable_lines": rejects,
        "forgotten": 0,
        "superseded": 0,
        "not_vetted": without,
        "by_people": people.count - people.matched,
        "judgments": total,
        "filtered_out": total - left,
        "conflicting_items": 0,
        "conflicting_judgments": 0,
        "conflicting_item_ids": [],
    }


def _refuse_filters_of_stores(filters: Filters) -> None:
    given = {"run": filters.runs, "since": filters.since, "until": filters.until}
    named = [name for name, value in given.items() if value]
    if named:
        raise InputError(
            f"files do not say when or in which run a judgment was vetted, so {' and '.join(named)} cannot be applied: "
            "export from the store, or leave the filter out"
        )


def _filter_records(work: duckdb.DuckDBPyConnection, filters: Filters) -> tuple[int, int]:
    """Takes out what the filters leave out; returns how many assessments there were and are."""
    prepare(work, filters)
    sources = {
        "judge": "SELECT judge FROM assessments",
        "panel": "SELECT panel_digest FROM assessments",
        "category": "SELECT category FROM items",
    }
    require_known(work, filters, sources, "the input")
    (before,) = only(work, "SELECT count(*) FROM assessments")
    drop_unwanted(work, filters, panels=True)
    if filters.categories:
        work.execute("""
            DELETE FROM assessments WHERE item_id NOT IN (
                SELECT item_id FROM items WHERE category IN (SELECT value FROM wanted WHERE kind = 'category'))""")
    (after,) = only(work, "SELECT count(*) FROM assessments")
    if before and not after:
        raise nothing_matches(filters, "the input", before)
    return before, after


def _refuse_contradictions(work: duckdb.DuckDBPyConnection) -> None:
    """One judgment, one assessment; every assessment its judgment, of the same item and judge."""
    columns = ", ".join(name for name in _COLUMNS["assessments"].split() if name not in ("line", "judgment_id"))
    twice = work.execute(f"""
        SELECT judgment_id, count(DISTINCT hash({columns})) AS contents, max(line), count(*) OVER ()
        FROM assessments GROUP BY judgment_id HAVING count(*) > 1 ORDER BY contents DESC, judgment_id LIMIT 1
    """).fetchall()
    if twice and twice[0][1] > 1:
        raise InputError(
            f"{twice[0][3]} judgments have several different assessments, the first {twice[0][0]!r}: give the "
            "assessments of one run only"
        )
    if twice:
        work.execute(
            "DELETE FROM assessments WHERE line NOT IN (SELECT min(line) FROM assessments GROUP BY judgment_id)"
        )
    missing, first = only(
        work, "SELECT count(*), min(judgment_id) FROM assessments ANTI JOIN judgments USING (judgment_id)"
    )
    if missing:
        raise InputError(
            f"{missing} assessments have no judgment in the input, the first {first!r}: their texts are needed; name "
            "with --judgments all that they were vetted from"
        )
    other = work.execute("""
        SELECT a.judgment_id, a.item_id, a.judge, j.item_id, j.judge FROM assessments a JOIN judgments j
        USING (judgment_id) WHERE a.item_id <> j.item_id OR a.judge <> j.judge ORDER BY 1 LIMIT 1""").fetchall()
    if other:
        name, item, judge, its_item, its_judge = other[0]
        raise InputError(
            f"judgment {name!r} is of item {item!r} by {judge!r} in the assessments, and of item {its_item!r} by "
            f"{its_judge!r} in the judgments: the ids contradict each other; give the files that belong together"
        )


def _checked(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> dict[str, int]:
    (changed,) = only(
        work,
        "SELECT count(*) FROM assessments a JOIN judgments j USING (judgment_id) "
        "WHERE a.judgment_digest <> j.judgment_digest",
    )
    (several,) = only(work, "SELECT count(*) FROM (SELECT judgment_id FROM judgments GROUP BY 1 HAVING count(*) > 1)")
    if several:
        raise InputError(f"{several} judgment ids are used for two different judgments: export one run (--run RUN_ID)")
    return {"changed_since": changed}


def _load(work: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    columns = {name: TYPES.get(name, "VARCHAR") for name in _COLUMNS[table].split()}
    if not path.stat().st_size:
        listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        work.execute(f"CREATE OR REPLACE TABLE {table} ({listed})")
        return
    described = ", ".join(f"{name}: {quoted(kind)}" for name, kind in columns.items())
    work.execute(f"""
        CREATE OR REPLACE TABLE {table} AS SELECT * FROM
        read_json({quoted(path)}, format = 'newline_delimited', columns = {{{described}}},
            maximum_object_size = 67108864)""")
