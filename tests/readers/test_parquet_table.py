from pathlib import Path

from metajudge.readers.lines import Line, Source
from metajudge.readers.parquet_table import ParquetTable
from tests.readers.binary_tables import ROWS, write_parquet


def test_parquet_gives_rows_in_order_with_plain_values(tmp_path: Path) -> None:
    table = ParquetTable(Source(write_parquet(tmp_path / "x.parquet", ROWS), "x"))
    assert table.columns() == ("q", "a", "b", "winner", "when", "x", "n")
    rows = list(table.rows())
    assert all(isinstance(row, Line) for row in rows)
    assert [row.number for row in rows if isinstance(row, Line)] == [1, 2]
    first, second = (row.data for row in rows if isinstance(row, Line))
    assert (first["when"], first["x"], first["n"]) == ("2026-01-02", [{"k": 1}], 1.5)
    # NaN marks a missing value in such files: it is null, not a number.
    assert (second["when"], second["x"], second["n"]) == (None, [], None)


def test_parquet_keeps_the_order_over_many_row_groups(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x.parquet", [{"n": number} for number in range(5_000)], row_group_size=100)
    assert [row.data["n"] for row in ParquetTable(Source(path, "x")).rows() if isinstance(row, Line)] == list(
        range(5_000)
    )
