import gzip
import tracemalloc
from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.readers.lines import Line, Reject, Source
from metajudge.readers.tables import CsvTable, looks_like_csv


def table(path: Path, content: str | bytes) -> CsvTable:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return CsvTable(Source(path, path.name))


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
    assert isinstance(row, Line)
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
        count = sum(1 for _ in CsvTable(Source(path, "x")).rows())
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
