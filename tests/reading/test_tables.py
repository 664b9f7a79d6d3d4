"""Tables: rows of CSV and JSON files, cells, and the records of our own in them."""

import gzip
import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.reading.containers import tables
from metajudge.reading.containers.cells import cell, key_of
from metajudge.reading.containers.lines import Line, Reject, Source
from metajudge.reading.containers.tables import csv_table, looks_like_csv, read_elements
from metajudge.types import Judgment

ITEM = {"id": "q1", "question": "?", "responses": {"A": "x", "B": "y"}}
OWN = {"version": 1, "item": ITEM, "judge": "g"}


def test_records_with_nulls_and_objects_as_text_are_those_of_the_lines(tmp_path: Path) -> None:
    records = [
        OWN | {"id": "a", "verdict": "A>B", "rationale": '{"not": "parsed"}'},
        OWN | {"id": "b", "verdict": None, "no_verdict": "late", "order": ["B", "A"]},
    ]
    names = dict.fromkeys(name for one in records for name in one)
    rows = [{name: one.get(name) for name in names} | {"item": json.dumps(ITEM)} for one in records]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "records.parquet")
    assert list(open_judgments([tmp_path / "records.parquet"])) == [Judgment.model_validate(one) for one in records]


def test_responses_that_only_some_records_have_are_no_responses_of_the_others(tmp_path: Path) -> None:
    items = [{**ITEM, "id": f"q{c}", "responses": {"A": "x", "B": "y", "C": c}} for c in (None, "z")]
    rows = {"id": ["a", "b"], "item": items, "judge": ["g", "g"], "verdict": ["A>B", '[["C"], ["A", "B"]]']}
    parquet.write_table(pyarrow.table({**rows, "version": [1, 1]}), tmp_path / "records.parquet")
    first, second = open_judgments([tmp_path / "records.parquet"])
    assert (list(first.item.responses), str(second.verdict)) == (["A", "B"], "C > A = B")


@pytest.mark.parametrize("name", ["own.jsonl", "own.json", "own.parquet"])
def test_an_infinite_verdict_of_our_own_records_is_a_reject_and_no_word(tmp_path: Path, name: str) -> None:
    item = {"id": "q1", "question": "?", "responses": {"A": "x"}}
    rows = [OWN | {"item": item, "id": f"{score}", "verdict": score} for score in (1.5, math.inf, -math.inf)]
    path = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_text(json.dumps(rows) if name == "own.json" else "".join(json.dumps(one) + "\n" for one in rows))
    good, *bad = open_judgments([path]).scan()
    assert isinstance(good, Judgment)
    assert ["nfinit" in one.reason for one in bad if isinstance(one, Reject)] == [True, True]


def test_rows_of_one_item_whose_responses_stand_in_another_order_do_not_share_it(tmp_path: Path) -> None:
    texts = pyarrow.map_(pyarrow.string(), pyarrow.string())
    kind = pyarrow.struct([("id", pyarrow.string()), ("question", pyarrow.string()), ("responses", texts)])
    answers = [("A", "x"), ("B", "y")]
    items = [{"id": "q1", "question": "?", "responses": given} for given in (answers, answers[::-1], answers[::-1])]
    rows = {"id": ["a", "b", "c"], "judge": ["g"] * 3, "verdict": ["A>B"] * 3}
    parquet.write_table(pyarrow.table({"item": pyarrow.array(items, kind), **rows}), tmp_path / "records.parquet")
    assert ["".join(one.order) for one in open_judgments([tmp_path / "records.parquet"])] == ["AB", "BA", "BA"]


def read(path: Path, content: str | bytes) -> tuple[tuple[str, ...], list[Any]]:
    """The columns, and each row as its number and cells, or what is wrong with it."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    table = csv_table(Source(path, path.name))
    rows = [str(row) if isinstance(row, Reject) else (row.number, *row.data.values()) for row in table.rows()]
    return table.columns(), rows


@pytest.mark.parametrize(
    ("name", "content", "columns", "rows"),
    [
        # Cells over several lines keep the line they begin on.
        ("x.csv", 'a,b\r\n1,"two\r\nlines, ""q"""\r\n\r\n3,4', "a b", [(2, "1", 'two\r\nlines, "q"'), (5, "3", "4")]),
        ("x.tsv", "\ufeffa\tb,c\n1\t2", "a b,c", [(2, "1", "2")]),
        ("y.csv", "a;b\n1,5;2", "a b", [(2, "1,5", "2")]),
        ("z.csv.gz", gzip.compress(b"a,b\n1,2", mtime=0), "a b", [(2, "1", "2")]),
        # A cell may be longer than the csv module's own limit.
        ("x.csv", "a,b\n1," + "y" * 300_000, "a b", [(2, "1", "y" * 300_000)]),
        (
            "x.csv",
            b'a,b\n1\n2,\xff\n"x"y,3\n4,5\n6,"open\n7,8\n',
            "a b",
            [
                "x.csv:2: the row has 1 cells, the header 2",
                "x.csv:3: not UTF-8: byte 0xff",
                "x.csv:4: not CSV: ',' expected after '\"'",
                (5, "4", "5"),
                "x.csv:6: a quote opens here and is not closed: the rest of the file would be read as its text",
            ],
        ),
    ],
)
def test_rows_of_csv(tmp_path: Path, name: str, content: str | bytes, columns: str, rows: list[Any]) -> None:
    assert read(tmp_path / name, content) == (tuple(columns.split()), rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "has no header"), ("a,b,a\n1,2,3", "several columns named 'a'"), ('a,"b\n', "header cannot be read")],
)
def test_a_header_that_names_no_columns_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path / "x.csv", content)


def test_a_large_file_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "".join(f"{number},{'y' * 10_000}\n" for number in range(3_000)))
    tracemalloc.start()
    try:
        count = sum(1 for _ in csv_table(Source(path, "x")).rows())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 3_000
    assert peak < 2_000_000 < path.stat().st_size


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("x.csv", b"a", True),
        ("x.csv.gz", b"a,b", True),
        ("x.csv", b'{"id": 1}', False),
        ("x.jsonl", b"a,b\n1,2", False),
        ("x", b"a,b\n1,2", True),
        ("x", b"garbage", False),
        ("x", b"Hello, this is a sentence that goes on for quite a long while, and then ends.", False),
    ],
)
def test_csv_is_told_by_name_or_by_a_header(name: str, head: bytes, expected: bool) -> None:
    assert looks_like_csv(Path(name), head) is expected


@pytest.fixture
def elements(tmp_path: Path) -> Any:
    """The entries of a JSON list: each one's number and data, or what is wrong with it."""

    def read(text: str | bytes) -> list[Any]:
        path = tmp_path / "x.json"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        found = read_elements(Source(path, "x.json"))
        return [(one.number, one.data) if isinstance(one, Line) else str(one) for one in found]

    return read


@pytest.mark.parametrize("chunk", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("options", [{}, {"indent": 1}, {"ensure_ascii": False}])
def test_elements_are_the_same_wherever_the_file_is_cut(
    elements: Any, monkeypatch: pytest.MonkeyPatch, chunk: int, options: dict[str, Any]
) -> None:
    data = [{"a": 'x"],[{\\' * 3, "b": [1, {"c": 2}], "t": 'é,["' * n} for n in range(12)]
    monkeypatch.setattr(tables, "_CHUNK", chunk)
    assert elements(json.dumps(data, **options)) == list(enumerate(data, start=1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" [ ] ", []),
        (gzip.compress(b'[{"a": 1}]', mtime=0), [(1, {"a": 1})]),
        (
            '\ufeff[{"a": 1}, 7, {"b": }, {"c": 1, "c": 2}, {"d": 4}]',
            [
                (1, {"a": 1}),
                "x.json:2: the entry contains a number, not an object",
                "x.json:3: not JSON: expecting value at character 7",
                "x.json:4: the key 'c' is given twice",
                (5, {"d": 4}),
            ],
        ),
    ],
)
def test_a_bad_entry_does_not_take_the_others_with_it(elements: Any, text: str | bytes, expected: list[Any]) -> None:
    assert elements(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"a": 1},', "the list does not end"),
        ('[{"a": 1}] x', "text follows the list"),
        ('[{"a": "1}', "does not end"),
    ],
)
def test_a_list_that_ends_early_gives_what_it_has_and_says_so(elements: Any, text: str, reason: str) -> None:
    assert reason in elements(text)[-1]


def test_an_entry_that_is_too_long_is_rejected_without_the_rest(elements: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(tables, "_CHUNK", 64)
    *long, last = elements(json.dumps([{"a": "y" * 5000}, {"b": ["z"] * 3000}, {"c": 1}]))
    assert [type(one) for one in long] == [str, str]
    assert last == (3, {"c": 1})


ROW = {"a": {"b": [10, {"c": 7}]}, "a.b": "first", "n": None, "l": [[1, 2]]}
AT = {"a.b": "first", "a.b.0": 10, "a.b.1.c": 7, "l.0.1": 2}
NOWHERE = ("l.1", "l.-1", "l.x", "a.x", "a.x.y", "n", "none", "l.99999999999999", "l.²")


@pytest.mark.parametrize(("column", "value"), [*AT.items(), *((one, None) for one in NOWHERE)])
def test_a_name_goes_first_and_then_the_dotted_path(column: str, value: Any) -> None:
    assert cell(ROW, column) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (False, "false"), (1.0, "1"), (1.5, "1.5"), (1, "1"), (" x ", "x"), ("True", "True")],
)
def test_values_are_looked_up_as_they_print(value: Any, text: str) -> None:
    assert key_of(value) == text
