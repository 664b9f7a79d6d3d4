"""Tables: rows of CSV and JSON files, cells, and the records of our own in them."""

import gzip
import json
import math
import tracemalloc
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from metajudge.errors import InputError
from metajudge.readers import open_judgments, tables
from metajudge.readers.cells import cell, key_of
from metajudge.readers.lines import Line, Reject, Source
from metajudge.readers.tables import Table, csv_table, looks_like_csv, read_elements
from metajudge.types import Judgment


def test_records_with_nulls_and_objects_as_text_are_those_of_the_lines(tmp_path: Path) -> None:
    item = {"id": "q1", "question": "?", "responses": {"A": "x", "B": "y"}}
    records = [
        {"version": 1, "id": "a", "item": item, "judge": "g", "verdict": "A>B", "rationale": '{"not": "parsed"}'},
        {
            "version": 1,
            "id": "b",
            "item": item,
            "judge": "g",
            "verdict": None,
            "no_verdict": "late",
            "order": ["B", "A"],
        },
    ]
    rows = [{**one, "item": json.dumps(item), "meta": None} for one in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pyarrow.table({name: [row.get(name) for row in rows] for name in names if name != "meta"})
    parquet.write_table(table, tmp_path / "records.parquet")
    found = list(open_judgments([tmp_path / "records.parquet"]))
    assert found == [Judgment.model_validate(one) for one in records]


def test_responses_that_only_some_records_have_are_no_responses_of_the_others(tmp_path: Path) -> None:
    items = [{"id": "q1", "question": "?", "responses": {"A": "x", "B": "y", "C": None}}]
    items += [{"id": "q2", "question": "?", "responses": {"A": "x", "B": "y", "C": "z"}}]
    rows = {"id": ["a", "b"], "item": items, "judge": ["g", "g"], "verdict": ["A>B", '[["C"], ["A", "B"]]']}
    parquet.write_table(pyarrow.table({**rows, "version": [1, 1]}), tmp_path / "records.parquet")
    first, second = open_judgments([tmp_path / "records.parquet"])
    assert (list(first.item.responses), str(second.verdict)) == (["A", "B"], "C > A = B")


@pytest.mark.parametrize("name", ["own.jsonl", "own.json", "own.parquet"])
def test_an_infinite_verdict_of_our_own_records_is_a_reject_and_no_word(tmp_path: Path, name: str) -> None:
    item = {"id": "q1", "question": "?", "responses": {"A": "x"}}
    rows = [
        {"version": 1, "id": f"j{number}", "item": item, "judge": "g", "verdict": score}
        for number, score in enumerate((1.5, math.inf, -math.inf))
    ]
    path = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_text(json.dumps(rows) if name == "own.json" else "".join(json.dumps(one) + "\n" for one in rows))
    found = list(open_judgments([path]).scan())
    assert [type(one) for one in found] == [Judgment, Reject, Reject]
    assert all("nfinit" in one.reason for one in found if isinstance(one, Reject))


def test_rows_of_one_item_whose_responses_stand_in_another_order_do_not_share_it(tmp_path: Path) -> None:
    texts = pyarrow.map_(pyarrow.string(), pyarrow.string())
    kind = pyarrow.struct([("id", pyarrow.string()), ("question", pyarrow.string()), ("responses", texts)])
    answers = [("A", "x"), ("B", "y")]
    items = [{"id": "q1", "question": "?", "responses": given} for given in (answers, answers[::-1], answers[::-1])]
    rows = {"id": ["a", "b", "c"], "judge": ["g"] * 3, "verdict": ["A>B"] * 3}
    parquet.write_table(pyarrow.table({"item": pyarrow.array(items, kind), **rows}), tmp_path / "records.parquet")
    assert [one.order for one in open_judgments([tmp_path / "records.parquet"])] == [("A", "B"), ("B", "A"), ("B", "A")]


def table(path: Path, content: str | bytes) -> Table:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return csv_table(Source(path, path.name))


def test_cells_over_several_lines_keep_the_line_they_begin_on(tmp_path: Path) -> None:
    rows = list(table(tmp_path / "x.csv", 'a,b\r\n1,"two\r\nlines, ""q"""\r\n\r\n3,4').rows())
    assert [(row.number, row.data) for row in rows if isinstance(row, Line)] == [
        (2, {"a": "1", "b": 'two\r\nlines, "q"'}),
        (5, {"a": "3", "b": "4"}),
    ]


def test_tabs_semicolons_byte_order_marks_and_gzip(tmp_path: Path) -> None:
    assert table(tmp_path / "x.tsv", "\ufeffa\tb,c\n1\t2").columns() == ("a", "b,c")
    assert [row.data for row in table(tmp_path / "y.csv", "a;b\n1,5;2").rows() if isinstance(row, Line)] == [
        {"a": "1,5", "b": "2"}
    ]
    assert table(tmp_path / "z.csv.gz", gzip.compress(b"a,b\n1,2")).columns() == ("a", "b")


def test_bad_rows_are_reported_with_line_and_reason_and_the_rest_is_read(tmp_path: Path) -> None:
    found = list(table(tmp_path / "x.csv", b'a,b\n1\n2,\xff\n"x"y,3\n4,5\n6,"open\n7,8\n').rows())
    assert [str(row) for row in found if isinstance(row, Reject)] == [
        "x.csv:2: the row has 1 cells, the header 2",
        "x.csv:3: not UTF-8: byte 0xff",
        "x.csv:4: not CSV: ',' expected after '\"'",
        "x.csv:6: a quote opens here and is not closed: the rest of the file would be read as its text",
    ]
    assert [row.data for row in found if isinstance(row, Line)] == [{"a": "4", "b": "5"}]


def test_a_cell_longer_than_the_csv_modules_own_limit_is_read(tmp_path: Path) -> None:
    (row,) = table(tmp_path / "x.csv", "a,b\n1," + "y" * 300_000).rows()
    assert len(row.data["b"]) == 300_000


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "has no header"), ("a,b,a\n1,2,3", "several columns named 'a'"), ('a,"b\n', "header cannot be read")],
)
def test_a_header_that_names_no_columns_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        table(tmp_path / "x.csv", content).columns()


def test_a_large_file_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    with path.open("w") as stream:
        stream.write("a,b\n")
        for number in range(3_000):
            stream.write(f"{number},{'y' * 10_000}\n")
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


def elements(path: Path) -> list[Line | Reject]:
    return list(read_elements(Source(path, "x.json")))


@pytest.mark.parametrize("chunk", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("options", [{}, {"indent": 1}, {"ensure_ascii": False}])
def test_elements_are_the_same_wherever_the_file_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, options: dict[str, object]
) -> None:
    data = [{"a": 'x"],[{\\' * 3, "b": [1, {"c": 2}], "t": 'é,["' * n} for n in range(12)]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data, **options), encoding="utf-8")
    monkeypatch.setattr(tables, "_CHUNK", chunk)
    assert [entry.data for entry in elements(path) if isinstance(entry, Line)] == data


def test_a_bad_entry_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('\ufeff[{"a": 1}, 7, {"b": }, {"c": 1, "c": 2}, {"d": 4}]')
    found = elements(path)
    assert [str(entry) for entry in found if isinstance(entry, Reject)] == [
        "x.json:2: the entry contains a number, not an object",
        "x.json:3: not JSON: expecting value at character 7",
        "x.json:4: the key 'c' is given twice",
    ]
    assert [(entry.number, entry.data) for entry in found if isinstance(entry, Line)] == [(1, {"a": 1}), (5, {"d": 4})]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"a": 1},', "the list does not end"),
        ('[{"a": 1}] x', "text follows the list"),
        ('[{"a": "1}', "does not end"),
    ],
)
def test_a_list_that_ends_early_gives_what_it_has_and_says_so(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    *_, last = elements(path)
    assert reason in last.reason


def test_an_entry_that_is_too_long_is_rejected_without_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(tables, "_CHUNK", 64)
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"a": "y" * 5000}, {"b": ["z"] * 3000}, {"c": 1}]))
    found = elements(path)
    assert [type(entry) for entry in found] == [Reject, Reject, Line]
    assert isinstance(found[2], Line)
    assert found[2].data == {"c": 1}


def test_an_empty_list_and_a_packed_one(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(" [ ] ")
    assert elements(path) == []
    path.write_bytes(gzip.compress(b'[{"a": 1}]'))
    assert [entry.data for entry in elements(path) if isinstance(entry, Line)] == [{"a": 1}]


ROW = {"a": {"b": [10, {"c": 7}]}, "a.b": "first", "n": None, "l": [[1, 2]]}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("a.b", "first"),
        ("a.b.0", 10),
        ("a.b.1.c", 7),
        ("l.0.1", 2),
        ("l.1", None),
        ("l.-1", None),
        ("l.x", None),
        ("a.x", None),
        ("a.x.y", None),
        ("n", None),
        ("none", None),
        ("l.99999999999999", None),
        ("l.²", None),
    ],
)
def test_a_name_goes_first_and_then_the_dotted_path(column, value):
    assert cell(ROW, column) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (False, "false"), (1.0, "1"), (1.5, "1.5"), (1, "1"), (" x ", "x"), ("True", "True")],
)
def test_values_are_looked_up_as_they_print(value, text):
    assert key_of(value) == text
