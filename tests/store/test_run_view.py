"""SQL over a run's results: what it finds, and all that it must not do."""

import sqlite3

import orjson
import pytest
from typer.testing import CliRunner

from metajudge.cli.app import app
from metajudge.errors import InputError, StoreError
from metajudge.store import RunRecord
from metajudge.store.run_view import COLUMNS, query_run
from metajudge.types.location import store_location

KEPT = "SELECT judgment_id, verdict, label, category, kept, score, probability FROM results ORDER BY judgment_id"


@pytest.fixture
async def filled(store, records, location):
    """Two runs: the second decides the first judgment again."""
    for name in ("first", "it's"):
        await store.start_run(RunRecord(name, "vet", 1.0, "running", {}))
    for n, run in enumerate(["first", "first", "first", "it's", "first"]):
        one = records.judgment(n % 3)
        own = records.assessment(one, final_score=1.0 + n)
        decided = own.model_copy(update={"probability": 0.25, "calibrated": True, "accepted": True})
        await store.save_assessment(f"k{n}", one, decided if n == 4 else own, run, own)
    return store_location(location)


async def test_a_run_has_a_row_for_each_judgment_and_panel_with_its_newest_version(filled) -> None:
    found = query_run(filled, "first", KEPT)
    assert found.columns == ["judgment_id", "verdict", "label", "category", "kept", "score", "probability"]
    assert [tuple(row) for row in found.rows] == [
        ("judgment-0", "A>>B", "A>B", "math", False, 1.0, None),
        ("judgment-1", "A>>B", "A>B", "math", True, 5.0, 0.25),
        ("judgment-2", "A>>B", "A>B", "math", False, 3.0, None),
    ]
    assert query_run(filled, "it's", "SELECT judgment_id, score FROM results;").rows == [("judgment-0", 4.0)]
    assert query_run(filled, "first", "SELECT * FROM results LIMIT 1").columns == list(COLUMNS)
    own = "WITH sure AS (SELECT * FROM results WHERE kept) SELECT count(*) AS n FROM sure -- all\n"
    assert query_run(filled, "first", own).rows == [(1,)]


async def test_texts_that_were_forgotten_are_null(filled, store) -> None:
    await store.forget("item-1")
    assert query_run(filled, "first", KEPT).rows[1][1:3] == (None, None)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "nonsense",
        "DELETE FROM items",
        "WITH gone AS (DELETE FROM items RETURNING 1) SELECT * FROM gone",
        "SELECT 1; DELETE FROM items",
        "SELECT 1) AS x; COMMIT; DELETE FROM items; SELECT * FROM (SELECT 1",
        "INSERT INTO runs VALUES ('x', 'y', 1, '', NULL)",
        "CREATE TABLE mine (x INT)",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT LO_IMPORT ('/etc/passwd')",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT readfile('/etc/passwd')",
        "COPY items TO '/tmp/items'",
        "ATTACH 'other.db' AS other",
        "PRAGMA journal_mode = DELETE",
        "SELECT load_extension('x')",
        "VACUUM",
    ],
)
async def test_nothing_but_one_selection_is_accepted_and_nothing_changes(filled, store, query) -> None:
    before = await store.run_assessments("first")
    with pytest.raises(InputError, match=r"--sql: .* It takes one SELECT over the view results, .* judgment_id, item"):
        query_run(filled, "first", query)
    assert await store.run_assessments("first") == before


@pytest.mark.parametrize("location", ["sqlite"], indirect=True)
@pytest.mark.parametrize("table", ["calls", "service_secrets", "sqlite_master", "pragma_table_info('items')"])
async def test_a_file_gives_no_other_table(filled, table) -> None:
    with pytest.raises(InputError, match=r"prohibited|not authorized"):
        query_run(filled, "first", f"SELECT * FROM {table}")


@pytest.mark.parametrize("location", ["sqlite"], indirect=True)
async def test_a_file_is_opened_read_only(filled, monkeypatch) -> None:
    opened = []
    connect = sqlite3.connect
    monkeypatch.setattr("sqlite3.connect", lambda where, **how: opened.append(where) or connect(where, **how))
    query_run(filled, "first", "SELECT 1")
    assert [where.endswith("?mode=ro") for where in opened] == [True]


@pytest.mark.parametrize("location", ["sqlite"], indirect=True)
def test_the_command_prints_a_table_or_json_and_refuses_what_is_no_run(filled) -> None:
    def run(*words: str):
        return CliRunner().invoke(app, ["show", *words, "--store", str(filled)])

    counted = run("first", "--sql", "SELECT kept, count(*) AS n FROM results GROUP BY kept ORDER BY kept")
    assert counted.output.splitlines() == ["first: 2 rows", "  kept   n", "  False  2", "  True   1"]
    asked = run("first", "--sql", "SELECT judgment_id FROM results WHERE kept", "--json")
    assert orjson.loads(asked.output) == {"version": 1, "columns": ["judgment_id"], "rows": [["judgment-1"]]}
    for words, said in {
        ("judgment-0", "--sql", "SELECT 1"): "--sql is about a run, and 'judgment-0' is none",
        ("first", "--sql", "SELECT 1", "--report", "x.html"): "give --sql or --report, not both",
    }.items():
        assert said in str(run(*words).exception)


@pytest.mark.parametrize("location", ["sqlite"], indirect=True)
async def test_a_damaged_text_is_said(filled) -> None:
    with sqlite3.connect(filled) as connection:
        connection.execute("UPDATE judgments SET payload = x'ff02ff'")
    with pytest.raises(StoreError, match="a stored text is damaged"):
        query_run(filled, "first", KEPT)
    assert query_run(filled, "first", "SELECT count(*) FROM results").rows == [(3,)]  # which reads no text


@pytest.mark.parametrize("location", ["sqlite"], indirect=True)
async def test_a_damaged_file_is_no_fault_of_the_query(filled, tmp_path) -> None:
    copy = tmp_path / "damaged.db"
    with sqlite3.connect(filled) as connection, sqlite3.connect(copy) as other:
        connection.backup(other)
    copy.write_bytes(copy.read_bytes()[:8192] + b"A" * copy.stat().st_size)
    with pytest.raises(StoreError, match="is damaged"):
        query_run(copy, "first", KEPT)
