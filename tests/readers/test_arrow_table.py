"""Arrow files as tables of rows."""

import gc
from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.readers.arrow_table import ROWS as BATCH
from metajudge.readers.arrow_table import ArrowTable
from metajudge.readers.frames import from_arrow, to_arrow
from metajudge.readers.lines import Line, Source
from tests.doubles.crowds import crowd
from tests.readers.binary_tables import ROWS, parquet, pyarrow


def write_arrow(path: Path, table, **options) -> Path:
    with pyarrow.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table, **options)
    return path


def test_arrow_gives_rows_in_order_with_plain_values(tmp_path: Path) -> None:
    table = ArrowTable(Source(write_arrow(tmp_path / "x.arrow", pyarrow.Table.from_pylist(ROWS)), "x"))
    assert table.columns() == ("q", "a", "b", "winner", "when", "x", "n")
    first, second = (row.data for row in table.rows() if isinstance(row, Line))
    assert (first["when"], first["x"], first["n"]) == ("2026-01-02", [{"k": 1}], 1.5)
    assert (second["when"], second["x"], second["n"]) == (None, [], None)


@pytest.mark.parametrize("name", ["x.arrow", "x.feather", "x.parquet"])
def test_judgments_come_back_equal_from_a_file_of_any_name(tmp_path: Path, name: str) -> None:
    records = crowd(4)
    table = to_arrow(records)
    if name.endswith("parquet"):
        parquet.write_table(table, tmp_path / name)
    else:
        write_arrow(tmp_path / name, table, max_chunksize=5)
    assert list(open_judgments([tmp_path / name]).all()) == records
    assert from_arrow(table) == records


def test_a_cut_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = write_arrow(tmp_path / "x.arrow", pyarrow.Table.from_pylist([{"n": at} for at in range(10)]))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="x cannot be read as an Arrow file"):
        ArrowTable(Source(path, "x")).columns()


def test_a_large_batch_is_not_held_as_objects(tmp_path: Path) -> None:
    rows = [{"n": number, "text": f"t{number}", "in": {"k": number}} for number in range(3 * BATCH)]
    path = write_arrow(tmp_path / "x.arrow", pyarrow.Table.from_pylist(rows))
    read = ArrowTable(Source(path, "x")).rows()
    first, held = next(read), sum(1 for one in gc.get_objects() if type(one) is dict and one.keys() == {"k"})
    assert held <= BATCH + len(rows)  # those of the list above among them
    assert [one.data for one in (first, *read)] == rows
