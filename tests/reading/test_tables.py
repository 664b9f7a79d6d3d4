"""Tables: rows of CSV and JSON files, cells, and the records of our own in them."""

import gzip
import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
import pytest
import zstandard
from pyarrow import parquet

from metajudge.errors import InputError
from metajudge.reading import open_judgments, parse_map
from metajudge.reading.containers import tables
from metajudge.reading.containers.cells import cell, key_of
from metajudge.reading.containers.kinds import table_of, tables_in, wrapped_table
from metajudge.reading.containers.lines import Line, Reject, Source
from metajudge.reading.containers.sheets import csv_table, looks_like_csv
from metajudge.reading.containers.tables import read_elements
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


def read(path: Path, content: str | bytes) -> tuple[tuple[str, ...], list[Any], str]:
    """The columns, each row as its number and cells, or what is wrong with it, and what is told."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    table = table_of(source := Source(path, path.name))
    table = wrapped_table(table, lambda *_: False) or table
    rows = [str(row) if isinstance(row, Reject) else (row.number, *row.data.values()) for row in table.rows()]
    return table.columns(), rows, " ".join(source.notes)


THREE = "q1,A,x\nq2,B,y\nq3,A,z\n"
PEOPLE = "id,verdict,note\n1,A,café in Zürich\n2,B,“naïve” à point\n"
READ = [(2, "1", "A", "café in Zürich"), (3, "2", "B", "“naïve” à point")]
GROUPED = "item,,Judge A,,Judge B,\nid,text,verdict,score,verdict,score\nq1,Why?,A,3,B,4\nq2,How?,A,2,A,1\n"
FAULTS = [
    "x.csv:2: the row has 1 cells, the header 2",
    "x.csv:3: not UTF-8: byte 0xff",
    "x.csv:4: not CSV: ',' expected after '\"'",
    (5, "4", "5"),
    "x.csv:6: a quote opens here and is not closed: the rest of the file would be read as its text",
]


@pytest.mark.parametrize(
    ("name", "content", "columns", "rows", "told"),
    [
        # Cells over several lines keep the line they begin on.
        (
            "x.csv",
            'a,b\r\n1,"two\r\nlines, ""q"""\r\n\r\n3,4',
            "a b",
            [(2, "1", 'two\r\nlines, "q"'), (4, "3", "4")],
            "",
        ),
        ("x.tsv", "\ufeffa\tb,c\n1\t2", "a b,c", [(2, "1", "2")], ""),
        ("y.csv", "a;b\n1,5;2", "a b", [(2, "1,5", "2")], ""),
        ("y.txt", "sep=;\r\na;b\r\n1,5;2", "a b", [(2, "1,5", "2")], ""),
        ("z.csv.gz", gzip.compress(b"a,b\n1,2", mtime=0), "a b", [(2, "1", "2")], ""),
        (
            "z.csv.zst",
            zstandard.compress(b"a,b\n1,2") + zstandard.compress(b"\n3,4"),
            "a b",
            [(2, "1", "2"), (3, "3", "4")],
            "",
        ),
        # A cell may be longer than the csv module's own limit.
        ("x.csv", "a,b\n1," + "y" * 300_000, "a b", [(2, "1", "y" * 300_000)], ""),
        ("x.csv", b'a,b\n1\n2,\xff\n"x"y,3\n4,5\n6,"open\n7,8\n', "a b", FAULTS, ""),
        # Titles and notes above the header are told; a column of texts with commas has none.
        (
            "t.csv",
            f'"Judgments, 2026"\n\nid,verdict,text\n{THREE}',
            "id verdict text",
            [(4, "q1", "A", "x"), (5, "q2", "B", "y"), (6, "q3", "A", "z")],
            "line 1 stands above",
        ),
        (
            "t.csv",
            "May,,,\nBy:,Ann,,\na,b,c,d\n1,2,3,4\n1,2,3,5\n",
            "a b c d",
            [(4, *"1234"), (5, *"1235")],
            "line 2 stands above the header and is not read ('By:, Ann')",
        ),
        (
            "t.csv",
            "text\nHello, you, there\nYes, I, do\nOh, no, it\n",
            "text",
            [f"t.csv:{n}: the row has 3 cells, the header 1" for n in (2, 3, 4)],
            "",
        ),
        (
            "g.csv",
            GROUPED,
            "id text Judge-A.verdict Judge-A.score Judge-B.verdict Judge-B.score",
            [(3, "q1", "Why?", *"A3B4"), (4, "q2", "How?", *"A2A1")],
            "lines 1 and 2 name the columns together",
        ),
        (
            "i.csv",
            ",a,b,\n0,x,y,n\n1,z,w,\n",
            "a b",
            [(2, "x", "y"), (3, "z", "w")],
            "names column 4, which is not read",
        ),
        # Last cells that no row has are empty; a row with more of them, or cut by a line break, is a reject.
        (
            "s.csv",
            "a,b,c,d\n1,2\n000,0.0\n1,2,3,4,5\n",
            "a b c d",
            [(2, "1", "2", "", ""), (3, "000", "0.0", "", ""), "s.csv:4: the row has 5 cells, the header 4"],
            "",
        ),
        (
            "s.csv",
            "a,b,c,d\n1,cut\nhere,3,4\n1,2,3,4\n1,2,3,4\n",
            "a b c d",
            [
                *[
                    f"s.csv:{n}: the row has {c} cells, the header 4: a line break may divide lines 2 and 3"
                    for n, c in ((2, 2), (3, 2))
                ],
                (4, *"1234"),
                (5, *"1234"),
            ],
            "",
        ),
        # Older encodings are told, and not taken where letters would make no words.
        *(
            (f"{e}.csv", PEOPLE.encode(e), "id verdict note", READ, t)
            for e, t in (("utf-16", ""), ("cp1252", "Windows-1252 (for instance 'café')"), ("mac_roman", "Mac Roman"))
        ),
        ("m.csv", PEOPLE.replace("\n", "\r").encode("mac_roman"), "id verdict note", READ, "Mac Roman"),
        (
            "r.csv",
            b"a,b\n\xcf\xf0\xe8\xe2\xe5\xf2,A\nx,B\n",
            "a b",
            ["r.csv:2: not UTF-8: byte 0xcf", (3, "x", "B")],
            "",
        ),
        (
            "p.csv",
            "a,b\ngęśl,A\nłódź,B\n".encode("cp1250"),
            "a b",
            ["p.csv:2: not UTF-8: byte 0xea", "p.csv:3: not UTF-8: byte 0xb3"],
            "",
        ),
        ("m.jsonl", '{"a": "café"}\r{"a": 2}'.encode("cp1252"), "a", [(1, "café"), (2, 2)], "Windows-1252"),
        ("u.jsonl", '{"a": "é"}\n{"a": 2}'.encode("utf-16"), "a", [(1, "é"), (2, 2)], ""),
    ],
)
def test_rows_of_csv(tmp_path: Path, name: str, content: str | bytes, columns: str, rows: list[Any], told: str) -> None:
    found, *read_, notes = read(tmp_path / name, content)
    assert (found, read_) == (tuple(one.replace("-", " ") for one in columns.split()), [rows])
    assert told in notes if told else not notes


FRAME = {"question": ["Q?", "R?", "S?"], "verdict": ["A", "B", "A"], "n": [1, None, 3]}
ROWS = [{name: cells[at] for name, cells in FRAME.items()} for at in range(3)]
BARE = [{"score": 1, "by": "g"}, {"score": 2, "by": "g"}]
SPLIT = {"columns": [*FRAME], "data": [[*row.values()] for row in ROWS]}


@pytest.mark.parametrize(
    ("data", "name", "keys", "rows"),
    [
        (dict(zip("xyz", ROWS, strict=True)), "id", "xyz", ROWS),
        ({"results": dict(zip("xy", BARE, strict=True)), "n": 2}, "item_id", "xy", BARE),
        (
            {f"k{n}": {"id": n, "question": "?", "verdict": "A"} for n in (7, 8)},
            "",
            "",
            [{"id": n, "question": "?", "verdict": "A"} for n in (7, 8)],
        ),
        ({name: dict(zip("012", cells, strict=True)) for name, cells in FRAME.items()}, "id", "012", ROWS),
        ({name: dict(zip("xyz", cells, strict=True)) for name, cells in FRAME.items()}, "id", "xyz", ROWS),
        (FRAME, "", "", ROWS),
        (SPLIT, "", "", ROWS),
        (SPLIT | {"index": [0, 1, 2]}, "", "", ROWS),
        ({"table": SPLIT | {"index": ["x", "y", "z"]}}, "id", "xyz", ROWS),
        ({"schema": {"fields": [{"name": one, "type": "string"} for one in "abcdef"]}, "data": ROWS}, "", "", ROWS),
        ({"a": {"results": ROWS}, "failed": [{"error": "late"}]}, "", "", ROWS),
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_one_object_around_rows_or_by_their_ids(
    tmp_path: Path, data: Any, name: str, keys: str, rows: list[Any], indent: int | None
) -> None:
    columns, found, _ = read(tmp_path / "x.json", json.dumps(data, indent=indent))
    keyed = [{name: key} | row for key, row in zip(keys, rows, strict=True)] if name else rows
    assert found == [(number, *row.values()) for number, row in enumerate(keyed, start=1)]
    assert columns == tuple(keyed[0])


def test_a_record_of_objects_is_one_row(tmp_path: Path) -> None:
    record = {"prompt": {"text": "?", "by": "u"}, "response": {"text": "!", "by": "m"}}
    assert read(tmp_path / "x.jsonl", json.dumps(record))[1] == [(1, *record.values())]


def test_the_files_of_a_folder_are_records(tmp_path: Path) -> None:
    for number, row in enumerate(ROWS):
        (tmp_path / f"r{number}.json").write_text(json.dumps(row, indent=number or None))
    (table,) = tables_in(Source(tmp_path, "f"))
    assert [row.data for row in table.rows() if isinstance(row, Line)] == [{"id": f"r{n}"} | ROWS[n] for n in range(3)]
    (tmp_path / "r2.json").write_text('{"question": "?", "question": "!", "verdict": "A", "n": 1}')
    mapping = parse_map(["question=question,verdict=verdict,item_id=id,judge:=g,responses.A:=x"])
    source = open_judgments([tmp_path], mapping=mapping)
    assert [one.item.id for one in source] == ["r0", "r1"]
    (tmp_path / "r1.json").write_text('{"other": 1}')
    assert tables_in(Source(tmp_path, "f")) == []


def test_the_sheet_that_is_a_table_is_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["These are the judgments"])
    legend, data = book.create_sheet("Legend"), book.create_sheet("Data")
    for sheet, rows in ((legend, [["Column", "Meaning"], ["id", "the id"]]), (data, [["May"], [], ["id", "v", "n"]])):
        for row in [*rows, *([[0, 0, 0], ["q2", "B"], ["q3", "A", 1.5]] if sheet is data else [])]:
            sheet.append(row)
    book.save(path := tmp_path / "x.xlsx")
    columns, rows, told = read(path, path.read_bytes())
    assert (columns, rows) == (("id", "v", "n"), [(4, 0, 0, 0), (5, "q2", "B", ""), (6, "q3", "A", 1.5)])
    assert "the sheet 'Data' is read, and not 'Sheet', 'Legend'" in told
    assert "line 1 stands above the header" in told


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "", "has no header"),
        ("x.csv", "a,b,a\n1,2,3", "several columns named 'a'"),
        ("x.csv", 'a,"b\n', "header cannot be read"),
        (
            "x.csv",
            "item,,Judge A,,\nid,text,verdict,reason,note\nq1,Why?,A,x,l\n",
            "x.csv: lines 1 and 2 may both name",
        ),
        (
            "x.json",
            json.dumps({"g": ROWS, "h": ROWS[:2]}),
            r"2 lists of records with the same fields: 'g' \(3\), 'h' \(2\)",
        ),
        (
            "x.json",
            '{"x": {"verdict": "A", "n": 1}, "x": {"verdict": "B", "n": 1}, "y": {"verdict": "B", "n": 1}}',
            "'x' is given twice",
        ),
        ("x.jsonl.zst", zstandard.compress(b"{}" * 99)[:-3], "is damaged or ends early"),
    ],
)
def test_what_may_be_read_in_two_ways_or_in_none_is_refused(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path / name, content)


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
