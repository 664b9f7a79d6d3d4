"""What an export reads of a store's texts: what the filters let through, some at a time."""

import duckdb
import pytest

from metajudge.errors import InputError
from metajudge.exports import store_intake as tables
from metajudge.exports import workspace
from metajudge.exports.formats import Format
from metajudge.exports.workspace import ranges
from tests.exports.stored import exported_from, filled, vetted
from tests.exports.vetted import exported, judgment

MANY = 12


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Twelve items by two judges, in three categories and two runs, three of them with a policy's action."""
    path = tmp_path_factory.mktemp("s") / "s.db"
    said = [
        judgment(number, judge="owl" if number % 2 else "jay", category="abc"[number % 3]) for number in range(MANY)
    ]
    actions = ["APPROVE", "REJECT", "REVIEW", *[None] * MANY]
    filled(path, [(one, vetted(one, actions[at]), "early" if at < 7 else "late") for at, one in enumerate(said)])
    return path


@pytest.fixture
def texts(monkeypatch):
    """Table -> ids of the items whose texts were read."""
    read = {"items": set(), "judgments": set()}
    fill = tables.fill

    def watched(work, table, columns, pages, *query, **payload):
        def seen():
            for rows in pages:
                read.get(table, set()).update(row[columns.index("item_id")] for row in rows if table in read)
                yield rows

        fill(work, table, columns, seen(), *query, **payload)

    monkeypatch.setattr(tables, "fill", watched)
    return read


@pytest.mark.parametrize(
    ("filters", "items"),
    [
        ({}, range(MANY)),
        ({"judges": ["owl"]}, range(1, MANY, 2)),
        ({"categories": ["a", "c"]}, [number for number in range(MANY) if number % 3 != 1]),
        ({"runs": ["late"]}, range(7, MANY)),
        ({"decisions": ["APPROVE"]}, [0]),
        ({"judges": ["jay"], "categories": ["c"], "runs": ["late"]}, [8]),
    ],
)
def test_texts_are_read_of_what_the_filters_let_through_alone(store, tmp_path, texts, filters, items):
    _, rows = exported_from(store, tmp_path / "d", filters=filters)
    expected = {f"item-{number}" for number in items}
    assert texts == {"items": expected, "judgments": expected}
    assert rows.keys() == expected - {"item-1", "item-2"}  # one a policy rejected, one waits


@pytest.mark.parametrize(("filters", "items"), [({"judges": ["owl"]}, {0, 1}), ({"categories": ["a"]}, {0, 2})])
def test_texts_of_files_are_copied_of_what_the_filters_let_through_alone(tmp_path, monkeypatch, filters, items):
    copied = set()
    append = tables.append

    def watched(work, how, columns, rows, *query):
        if "judgment_no" in columns:
            copied.update(row[columns.index("item_id")] for row in rows if '"rationale":"' in row[-1])
        append(work, how, columns, rows, *query)

    monkeypatch.setattr(tables, "append", watched)
    said = [judgment(n, judge="jay" if n == 2 else "owl", category="b" if n == 1 else "a") for n in range(3)]
    exported(tmp_path / "d", said, kind="judgments", format="kto", filters=filters)
    assert copied == {f"item-{number}" for number in items}


def test_the_work_reads_and_writes_nothing_outside_its_folder(tmp_path):
    """Whatever a record or a request puts into a query: the database itself has no other files."""
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    place = workspace.Workspace(tmp_path / "d", "key")
    for query in (
        f"SELECT * FROM read_csv('{tmp_path}/secret.csv')",
        f"SELECT * FROM read_text('{place.folder}/../secret.csv')",
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/other.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ):
        with pytest.raises(duckdb.Error):
            place.database.execute(query)
    place.database.execute(f"COPY (SELECT 1) TO '{place.result}/out.csv'")
    place.database.close()


def test_filters_that_nothing_meets_read_no_text(store, tmp_path, texts):
    with pytest.raises(InputError, match="meets every filter"):
        exported_from(store, tmp_path / "d", filters={"since": "2100-01-01"})
    assert texts == {"items": set(), "judgments": set()}


@pytest.mark.parametrize(("kind", "layout"), [*(("responses", one) for one in Format), ("judgments", Format.KTO)])
def test_texts_that_are_taken_some_at_a_time_give_the_same_rows(store, tmp_path, monkeypatch, layout, kind):
    request = {"format": layout, "kind": kind, "ignore_decisions": True}
    _, whole = exported_from(store, tmp_path / "whole", **request)
    for module in ("workspace", "formats", "store_intake"):
        monkeypatch.setattr(f"metajudge.exports.{module}.PIECE", 500)
    for name, size in {"formats.LONG": 1_000, "store_intake._TEXTS": 5, "store_intake.PAGE": 5}.items():
        monkeypatch.setattr(f"metajudge.exports.{name}", size)
    _, pieces = exported_from(store, tmp_path / "pieces", **request)
    assert list(pieces.items()) == list(whole.items())
    if layout is Format.JSONL:
        (one, two) = (next((tmp_path / name / "data").iterdir()).read_bytes() for name in ("whole", "pieces"))
        assert one == two


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([9], [(0, 0)]),
        ([1, 1, 1], [(0, 2)]),
        ([4, 5, 6, 20, 1, 1], [(0, 1), (2, 2), (3, 5)]),
        ([10, 10], [(0, 0), (1, 1)]),
    ],
)
def test_pieces_follow_each_other_and_end_after_so_many_bytes(monkeypatch, sizes, expected):
    monkeypatch.setattr(workspace, "PIECE", 10)
    work = duckdb.connect()
    work.execute("CREATE TABLE t (place BIGINT, size BIGINT)")
    for place, size in reversed(list(enumerate(sizes))):
        work.execute("INSERT INTO t VALUES ($1, $2)", [place, size])
    assert ranges(work, "SELECT * FROM t") == expected


def test_pages_that_are_made_ahead_come_in_their_order_and_with_their_errors():
    found = workspace.ahead(6 // number for number in (3, 2, 0))
    assert [next(found), next(found)] == [2, 3]
    with pytest.raises(ZeroDivisionError):
        next(found)
    assert list(workspace.ahead(iter([[1], [2]]))) == [[1], [2]]


def test_rows_come_into_the_work_as_they_are():
    rows = [("a\x00b", 1, None, True), ('é"\\/☃', 2**60, 0.1, None), ("", -5, 1e300, False)]
    with duckdb.connect() as work:
        workspace.fill(work, "t", ("item_id", "item_no", "final_score", "accepted"), [rows[:2], rows[2:]])
        assert work.execute("SELECT * FROM t").fetchall() == rows


def test_a_reply_that_was_cut_is_found_in_a_store_whatever_else_its_meta_says(tmp_path):
    metas = [{"finish": "", "stop_reason": "length"}, {"response_finish": "length"}, {"finish": "stop"}]
    said = [judgment(number, meta=meta) for number, meta in enumerate(metas)]
    path = filled(tmp_path / "s.db", [(one, vetted(one)) for one in said])
    for kind, items in ("judgments", {"item-1", "item-2"}), ("responses", {"item-0", "item-1", "item-2"}):
        assert exported_from(path, tmp_path / kind, kind=kind, format="kto")[1].keys() == items
