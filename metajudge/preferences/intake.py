"""Judgments and their assessments as tables: ``items``, ``judgments``, ``assessments``.

From a store they come by SQL over its payloads, which were validated when they were stored; from files through the
readers. Texts that the export does not need are left out.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb

from metajudge.errors import InputError, StoreError
from metajudge.preferences.assessment_lines import writing_assessments
from metajudge.preferences.judgment_lines import JudgmentLinesWritten, write_halves, write_judgments
from metajudge.preferences.request import ExportRequest, Kind, Rule
from metajudge.preferences.workspace import quoted
from metajudge.readers import JudgmentSource
from metajudge.store import open_store
from metajudge.store.copying import copy_store
from metajudge.types import Assessment, Judgment
from metajudge.types.location import PostgresUrl, StoreLocation

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
}
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
    "strategy": "VARCHAR",
    "threshold": "DOUBLE",
    "rubric": "VARCHAR",
    "rubric_digest": "VARCHAR",
    "panel_digest": "VARCHAR",
    "agents": "VARCHAR",
    "version": "VARCHAR",
}


@dataclass(frozen=True, slots=True)
class Vetted:
    """Where judgments and assessments come from: a store (perhaps one run of it), or files and objects."""

    store: StoreLocation | None = None
    run: str | None = None
    judgments: JudgmentSource | Iterable[Judgment] | None = None
    assessments: Path | Iterable[Assessment] | None = None


def take_in(work: duckdb.DuckDBPyConnection, given: Vetted, request: ExportRequest, scratch: Path) -> dict[str, int]:
    """Fills the three tables.

    Returns:
        Counts of what could not be used: ``unreadable_lines``, ``forgotten``, ``superseded``, ``not_vetted``,
        ``changed_since`` (the record differs from the one that was vetted, by its digest).

    Raises:
        InputError: no texts, ids that contradict each other, a bad line among the assessments.
        StoreError: the store is missing, locked or holds no assessment.
    """
    counts = (
        _copy_store(work, given.store, given.run, request)
        if given.store is not None
        else _from_records(work, given, request, scratch)
    )
    return counts | _checked(work, request)


@contextlib.contextmanager
def attached(work: duckdb.DuckDBPyConnection, path: StoreLocation | None) -> Iterator[None]:
    """Has the store's tables at hand under the name ``kept``, for reading; a PostgreSQL store's as a copy in a file.

    Raises:
        StoreError: the store is missing or in use.
    """
    if path is None:
        yield
        return
    if isinstance(path, PostgresUrl):
        with tempfile.TemporaryDirectory(prefix="metajudge-export-") as folder:
            copy = Path(folder) / "copy.duckdb"
            copy_store(path, copy, only=frozenset({"items", "judgments", "assessments"}))
            with attached(work, copy):
                yield
        return
    if not path.exists():
        raise StoreError(f"{path}: no such store; name it with --store, or make one with `metajudge vet`")
    _settle(path)
    work.execute(f"ATTACH {quoted(path)} AS kept (READ_ONLY)")
    try:
        yield
    finally:
        work.execute("DETACH kept")


def _settle(path: Path) -> None:
    """Opens and closes the store, which brings what a killed process left behind into its tables."""

    async def settle() -> None:
        store = await open_store(path)
        await store.close()

    # In a thread of its own, so that it also works where an event loop runs already (a notebook, the service).
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, settle()).result()


def _copy_store(
    work: duckdb.DuckDBPyConnection, path: StoreLocation, run: str | None, request: ExportRequest
) -> dict[str, int]:
    wanted = "NOT redacted" + (f" AND run_id = {quoted(run)}" if run else "")
    needs_probability = request.selection.rule in (Rule.MIN_PROBABILITY, Rule.GUARANTEE)
    paths = ["probability", "calibration", "guarantee.threshold", "guarantee.target", "guarantee.delta"]
    paths += ["guarantee.approximate", "threshold", "rubric", "rubric_digest", "metajudge_version"]
    listed = ", ".join(quoted(f"$.{name}") for name in paths)
    probable = "json_extract(payload, '$.probability') IS NOT NULL AND payload->>'$.probability' IS NOT NULL"
    work.execute(f"""
        CREATE OR REPLACE TABLE assessments AS
        WITH newest AS (
            SELECT judgment_id, max(assessment_id) AS assessment_id FROM kept.assessments
            WHERE {wanted} {f"AND {probable}" if needs_probability else ""} GROUP BY judgment_id
        ), read AS (
            SELECT a.*, json_extract_string(payload, [{listed}]) AS v, payload->>'$.agents[*].agent' AS names,
                payload->>'$.agents[*].model' AS agent_models
            FROM kept.assessments a SEMI JOIN newest USING (assessment_id)
        )
        SELECT judgment_id, judgment_digest, item_id, judge, status, accepted, final_score AS score,
            v[1]::DOUBLE AS probability, v[2] AS calibration, v[3]::DOUBLE AS bar, v[4]::DOUBLE AS target,
            v[5]::DOUBLE AS delta, v[6]::BOOLEAN AS approximate, strategy, v[7]::DOUBLE AS threshold, v[8] AS rubric,
            v[9] AS rubric_digest, panel_digest,
            array_to_string(list_transform(list_zip(names, agent_models), lambda x: x[1] || ' (' || x[2] || ')'), ', ')
                AS agents,
            v[10] AS version
        FROM read""")
    total, forgotten = only(
        work, f"SELECT count(*) FILTER ({wanted}), count(*) FILTER (redacted) FROM kept.assessments"
    )
    (taken,) = only(work, "SELECT count(*) FROM assessments")
    if not taken:
        why = f" of run {run!r}" if run else ""
        lacking = " with a probability (vet with --calibration)" if total and needs_probability else ""
        raise StoreError(f"the store {path} holds no assessment{why}{lacking}: vet judgments into it first")
    judging = request.kind is Kind.JUDGMENTS
    texts = "payload->>'$.rationale', payload->>'$.instruction'" if judging else "NULL, NULL"
    work.execute(f"""
        CREATE OR REPLACE TABLE judgments AS
        SELECT judgment_no, judgment_id, judgment_digest, item_id, judge, v[1] AS verdict,
             from_json(v[2], '["VARCHAR"]') AS shown,
            from_json(v[3], '["VARCHAR"]') AS labels,
            rationale, instruction, coalesce(v[4], v[5], v[6]) AS finish, v[7] AS response_finish, item_digest
        FROM (
            SELECT j.rowid, j.judgment_id, j.judgment_digest, j.item_id, j.judge, j.item_digest, {texts},
                json_extract_string(payload, ['$.verdict', '$.order', '$.labels', '$.meta.finish',
                    '$.meta.finish_reason', '$.meta.stop_reason', '$.meta.response_finish']) AS v
            FROM kept.judgments j SEMI JOIN assessments a
                ON j.judgment_digest = a.judgment_digest AND j.judgment_id = a.judgment_id
            WHERE NOT redacted
        ) t(judgment_no, judgment_id, judgment_digest, item_id, judge, item_digest, rationale, instruction, v)""")
    work.execute("""
        CREATE OR REPLACE TABLE items AS
        SELECT item_no, item_id, v[1] AS question, v[2] AS responses, category,
            v[3] AS label, v[4] AS models, item_digest
        FROM (
            SELECT i.rowid AS item_no, item_id, category, item_digest,
                json_extract_string(payload, ['$.question', '$.responses', '$.label', '$.models']) AS v
            FROM kept.items i SEMI JOIN judgments USING (item_digest) WHERE NOT redacted
        )""")
    _refuse_two_contents(work)
    work.execute("ALTER TABLE judgments DROP item_digest")
    work.execute("ALTER TABLE items DROP item_digest")
    return {"unreadable_lines": 0, "forgotten": forgotten, "superseded": total - taken, "not_vetted": 0}


def _refuse_two_contents(work: duckdb.DuckDBPyConnection) -> None:
    """One item id, one content; where only category, label or models changed, the newest record counts."""
    twice = work.execute("""
        SELECT item_id, count(DISTINCT hash(question, responses)) FROM items
        WHERE item_id IN (SELECT item_id FROM items GROUP BY item_id HAVING count(*) > 1)
        GROUP BY item_id""").fetchall()
    if not twice:
        return
    different = sorted(row[0] for row in twice if row[1] > 1)
    if different:
        raise InputError(
            f"{len(different)} item ids stand for two different contents, the first {different[0]!r}: export one run "
            "alone with --run RUN_ID, or give each content its own item id"
        )
    work.execute("""
        DELETE FROM items WHERE item_no NOT IN (SELECT max(item_no) FROM items GROUP BY item_id)""")


def _from_records(
    work: duckdb.DuckDBPyConnection, given: Vetted, request: ExportRequest, scratch: Path
) -> dict[str, int]:
    if given.judgments is None:
        raise InputError(
            "assessments hold no texts, and a preference dataset needs questions and responses: name the judgments "
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
    work.execute("DELETE FROM judgments WHERE judgment_id NOT IN (SELECT judgment_id FROM assessments)")
    return {"unreadable_lines": rejects, "forgotten": 0, "superseded": 0, "not_vetted": without}


def _take_judgments(
    work: duckdb.DuckDBPyConnection, given: JudgmentSource | Iterable[Judgment], folder: Path, judging: bool
) -> int:
    """Fills ``judgments`` and ``items``; returns the number of rejects."""
    halves = write_halves(given, folder, judging)
    if halves is not None:
        first, second = halves
        _load_lines(work, first)
        if _belong_together(work, second):
            return first.rejects + second.rejects
    whole = write_judgments(given, folder, judging)
    _load_lines(work, whole)
    return whole.rejects


def _load_lines(work: duckdb.DuckDBPyConnection, lines: JudgmentLinesWritten) -> None:
    _load(work, "judgments", lines.judgments, _JUDGMENTS)
    _load(work, "items", lines.items, _ITEMS)


def _belong_together(work: duckdb.DuckDBPyConnection, second: JudgmentLinesWritten) -> bool:
    """Adds the second half of a file to the first, unless an id of one stands in the other for something else.

    Which judgment came first, and where a contradiction stands, is for one pass over the whole file to say.
    """
    (offset,) = only(work, "SELECT count(*) FROM judgments")
    try:
        for table, path, columns in (("judgments", second.judgments, _JUDGMENTS), ("items", second.items, _ITEMS)):
            _load(work, f"second_{table}", path, columns)
        repeated, different = only(
            work,
            """SELECT (SELECT count(*) FROM second_judgments SEMI JOIN judgments USING (judgment_id)),
                (SELECT count(*) FROM second_items s JOIN items i USING (item_id)
                    WHERE s.question <> i.question OR s.responses <> i.responses)""",
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
        raise InputError(f"{several} judgment ids stand for two different judgments: export one run with --run RUN_ID")
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


def only(work: duckdb.DuckDBPyConnection, query: str, values: list[Any] | None = None) -> tuple[Any, ...]:
    """The row of a query that has exactly one."""
    (row,) = work.execute(query, values or []).fetchall()
    found: tuple[Any, ...] = row
    return found
