"""What an export over HTTP reads: the same rows as the store's, and no text that the filters leave out."""

import asyncio

import duckdb
import pytest

from metajudge.preferences import ExportRequest, workspace
from metajudge.preferences.export import export_vetted
from metajudge.preferences.filters import Filters
from metajudge.preferences.formats import Format
from metajudge.preferences.intake import Vetted
from metajudge.preferences.store_intake import Snapshot
from metajudge.preferences.workspace import ranges
from metajudge.store import open_store
from tests.preferences.stored import exported_from, filled, vetted
from tests.preferences.vetted import judgment, rows_of

MANY = 12


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Twelve items by two judges, in three categories and two runs, three of them with a policy's action."""
    path = tmp_path_factory.mktemp("s") / "s.duckdb"
    said = [
        judgment(number, judge="owl" if number % 2 else "jay", category="abc"[number % 3]) for number in range(MANY)
    ]
    actions = ["APPROVE", "REJECT", "REVIEW", *[None] * MANY]
    filled(path, [(one, vetted(one, actions[at]), "early" if at < 7 else "late") for at, one in enumerate(said)])
    return path


def snapshot(path, folder, **filters):
    folder.mkdir()
    found = Snapshot(folder, Filters(**filters))

    async def write():
        store = await open_store(path)
        await store.ask(found.write)
        await store.close()

    asyncio.run(write())
    return found


def texts(found):
    work = duckdb.connect()
    found.attach(work)
    return {
        table: {
            row[0] for row in work.execute(f"SELECT item_id FROM kept.{table} WHERE payload IS NOT NULL").fetchall()
        }
        for table in ("items", "judgments")
    }


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
def test_what_the_filters_let_through_is_there_and_its_texts_alone(store, tmp_path, filters, items):
    found = snapshot(store, tmp_path / "snapshot", **filters)
    request = ExportRequest(filters=Filters(**filters))
    given = Vetted(store=found)
    export_vetted(tmp_path / "one", request, given, input_state=[], sources=["s.duckdb (store)"])
    _, rows = exported_from(store, tmp_path / "two", filters=request.filters)
    assert {row["item_id"]: row for row in rows_of(tmp_path / "one")} == rows
    assert texts(found)["items"] == {f"item-{number}" for number in items}
    assert rows.keys() <= texts(found)["items"] <= texts(found)["judgments"]


def test_filters_that_nothing_meets_copy_no_text(store, tmp_path):
    assert texts(snapshot(store, tmp_path / "s", since="2100-01-01")) == {"items": set(), "judgments": set()}


@pytest.mark.parametrize(("kind", "layout"), [*(("responses", one) for one in Format), ("judgments", Format.KTO)])
def test_texts_that_are_taken_some_at_a_time_give_the_same_rows(store, tmp_path, monkeypatch, layout, kind):
    request = {"format": layout, "kind": kind, "ignore_decisions": True}
    _, whole = exported_from(store, tmp_path / "whole", **request)
    for module in ("workspace", "formats"):
        monkeypatch.setattr(f"metajudge.preferences.{module}.PIECE", 500)
    monkeypatch.setattr("metajudge.preferences.formats.LONG", 1_000)
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
