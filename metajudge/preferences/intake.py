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
from metajudge.preferences.assessment_lines import writing_assessments
from metajudge.preferences.decisions import no_people
from metajudge.preferences.filters import Filters, drop_unwanted, nothing_matches, prepare, require_known
from metajudge.preferences.judgment_lines import JudgmentLinesWritten, write_halves, write_judgments
from metajudge.preferences.request import ExportRequest, Kind, Rule
from metajudge.preferences.store_intake import Snapshot, copy_from_store
from metajudge.preferences.verdicts import verdict_text
from metajudge.preferences.workspace import only, quoted
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

_ITEMS: Final = {
    "item_no": "BIGINT",
    "item_id": "VARCHAR",
    "question": "VARCHAR",
    "responses": "VARCHAR",
    "category": "VARCHAR",
    "label": "VARCHAR",
    "models": "VARCHAR",
    "scale": "VARCHAR",
    "question_id": "VARCHAR",
}
_ITEMS_READ: Final = {**_ITEMS, "content": "VARCHAR"}
"""With the digest of the content, as records of one item are compared."""
_JUDGMENTS: Final = {
    "judgment_no": "BIGINT",
    "judgment_id": "VARCHAR",
    "judgment_digest": "VARCHAR",
    "item_id": "VARCHAR",
    "judge": "VARCHAR",
    "verdict": "VARCHAR",
    "shown": "VARCHAR[]",
    "labels": "VARCHAR[]",
    "rationale": "VARCHAR",
    "instruction": "VARCHAR",
    "finish": "VARCHAR",
    "response_finish": "VARCHAR",
    "people": "VARCHAR",
}
_ASSESSMENTS: Final = {
    "line": "BIGINT",
    "judgment_id": "VARCHAR",
    "judgment_digest": "VARCHAR",
    "item_id": "VARCHAR",
    "judge": "VARCHAR",
    "status": "VARCHAR",
    "accepted": "BOOLEAN",
    "score": "DOUBLE",
    "probability": "DOUBLE",
    "calibration": "VARCHAR",
    "bar": "DOUBLE",
    "target": "DOUBLE",
    "delta": "DOUBLE",
    "approximate": "BOOLEAN",
    "promise_judges": "VARCHAR",
    "promise_unit": "VARCHAR",
    "promise_questions": "BIGINT",
    "marks": "VARCHAR",
    "strategy": "VARCHAR",
    "threshold": "DOUBLE",
    "rubric": "VARCHAR",
    "rubric_digest": "VARCHAR",
    "panel_digest": "VARCHAR",
    "agents": "VARCHAR",
    "version": "VARCHAR",
    "action": "VARCHAR",
    "policy": "VARCHAR",
}


@dataclass(frozen=True, slots=True)
class Vetted:
    """Where judgments and assessments come from: a store, a snapshot of one, or files and objects."""

    store: StoreLocation | Snapshot | None = None
    judgments: JudgmentSource | Iterable[Judgment] | None = None
    assessments: Path | Iterable[Assessment] | None = None


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
        counts = copy_from_store(work, request, _called(given.store))
    if request.by_label:
        take_peoples_labels(work)
    return counts | _checked(work, request)


def _called(store: StoreLocation | Snapshot) -> str:
    return "the store" if isinstance(store, Snapshot) else f"the store {store}"


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
        assessments = Path(folder) / "assessments"
        with writing_assessments(given.assessments, assessments):
            rejects = _take_judgments(work, given.judgments, Path(folder), judging)
        _load(work, "assessments", assessments, _ASSESSMENTS)
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
    for kind, values, there in (
        ("judge", filters.judges, "SELECT judge FROM assessments"),
        ("panel", filters.panels, "SELECT panel_digest FROM assessments"),
        ("category", filters.categories, "SELECT category FROM items"),
    ):
        if values:
            require_known(work, kind, f"SELECT DISTINCT * FROM ({there})", "the input")
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


def _take_judgments(
    work: duckdb.DuckDBPyConnection, given: JudgmentSource | Iterable[Judgment], folder: Path, judging: bool
) -> int:
    """Fills ``judgments`` and ``items``; returns the number of rejects."""
    rejects = _load_halves(work, given, folder, judging)
    if rejects is None:
        whole = write_judgments(given, folder, judging)
        _load_lines(work, whole)
        rejects = whole.rejects
    work.execute("ALTER TABLE items DROP content")
    return rejects


def _load_halves(
    work: duckdb.DuckDBPyConnection, given: JudgmentSource | Iterable[Judgment], folder: Path, judging: bool
) -> int | None:
    """The same with the halves of a large file; None where it has to be read as a whole."""
    halves = write_halves(given, folder, judging)
    if halves is None:
        return None
    first, second = halves
    _load_lines(work, first)
    return first.rejects + second.rejects if _belong_together(work, second) else None


def _load_lines(work: duckdb.DuckDBPyConnection, lines: JudgmentLinesWritten) -> None:
    _load(work, "judgments", lines.judgments, _JUDGMENTS)
    _load(work, "items", lines.items, _ITEMS_READ)


def _belong_together(work: duckdb.DuckDBPyConnection, second: JudgmentLinesWritten) -> bool:
    """Adds the second half of a file to the first, unless an id means different things in the two.

    A pass over the whole file finds which judgment came first, and where a contradiction is.
    """
    (offset,) = only(work, "SELECT count(*) FROM judgments")
    try:
        for table, path, columns in (("judgments", second.judgments, _JUDGMENTS), ("items", second.items, _ITEMS_READ)):
            _load(work, f"second_{table}", path, columns)
        repeated, different = only(
            work,
            """SELECT (SELECT count(*) FROM second_judgments SEMI JOIN judgments USING (judgment_id)),
                (SELECT count(*) FROM second_items s JOIN items i USING (item_id) WHERE s.content <> i.content)""",
        )
        if repeated or different:
            return False
        work.execute(
            f"INSERT INTO judgments SELECT * REPLACE (judgment_no + {offset} AS judgment_no) "
            "FROM second_judgments ORDER BY judgment_no"
        )
        work.execute(
            f"INSERT INTO items SELECT * REPLACE (item_no + {offset} AS item_no) "
            "FROM second_items ANTI JOIN items USING (item_id) ORDER BY item_no"
        )
    finally:
        work.execute("DROP TABLE IF EXISTS second_judgments")
        work.execute("DROP TABLE IF EXISTS second_items")
    return True


def _refuse_contradictions(work: duckdb.DuckDBPyConnection) -> None:
    """One judgment, one assessment; every assessment its judgment, of the same item and judge."""
    columns = ", ".join(name for name in _ASSESSMENTS if name not in ("line", "judgment_id"))
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


def _load(work: duckdb.DuckDBPyConnection, table: str, path: Path, columns: dict[str, str]) -> None:
    if not path.exists() or not path.stat().st_size:
        listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        work.execute(f"CREATE OR REPLACE TABLE {table} ({listed})")
        return
    described = ", ".join(f"{name}: {quoted(kind)}" for name, kind in columns.items())
    work.execute(f"""
        CREATE OR REPLACE TABLE {table} AS SELECT * FROM
        read_json({quoted(path)}, format = 'newline_delimited', columns = {{{described}}},
            maximum_object_size = 67108864)""")
