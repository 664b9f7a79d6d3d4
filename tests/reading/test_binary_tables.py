"""Parquet and Arrow files, and datasets on disk."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.reading.containers import typed_tables
from metajudge.reading.containers.lines import Line, Source
from metajudge.reading.containers.tables import Table
from metajudge.reading.containers.typed_tables import ROWS as BATCH
from metajudge.reading.containers.typed_tables import (
    arrow_table,
    dataset_folders,
    dataset_table,
    parquet_connection,
    parquet_table,
)
from metajudge.reading.frames import from_arrow
from metajudge.runs.frames import to_arrow
from tests.doubles.crowds import crowd
from tests.doubles.interop_cases import CASES, EXPLANATIONS, MODELS, OTHERS
from tests.reading.binary_tables import MAP, ROWS, parquet, pyarrow, write_dataset, write_parquet
from tests.reading.interop_files import INTEROP


def data(table: Table) -> list[dict[str, Any]]:
    return [row.data for row in table.rows() if isinstance(row, Line)]


def write_arrow(path: Path, table: Any, **options: Any) -> Path:
    with pyarrow.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table, **options)
    return path


def test_a_parquet_file_can_name_no_other_file_and_load_no_extension(tmp_path: Path) -> None:
    path, other = (write_parquet(tmp_path / name, ROWS) for name in ("x[1]*.parquet", "x1.parquet"))
    assert len(list(open_judgments([path], mapping=MAP))) == 2  # what looks like a pattern is a name
    with parquet_connection(Source(path, "x")) as connection:
        for query in (f"FROM '{other}'", f"FROM read_text('{other}')", f"COPY (SELECT 1) TO '{tmp_path / 'new'}'"):
            with pytest.raises(duckdb.PermissionException, match="disabled by configuration"):
                connection.execute(query)
        for setting in ("enable_external_access = true", f"allowed_paths = ['{other}']"):
            with pytest.raises(duckdb.Error):
                connection.execute(f"SET {setting}")
        for name in ("autoload_known_extensions", "autoinstall_known_extensions", "enable_external_access"):
            assert connection.execute(f"SELECT current_setting('{name}')").fetchone() == (False,)


def test_a_row_group_that_does_not_fit_into_memory_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "x.parquet", [{"q": "long " * 400_000}] * 40, use_dictionary=False)
    monkeypatch.setattr(typed_tables, "_MEMORY", "20MB")
    (only,) = parquet_table(Source(path, "x")).rows()
    assert "takes more than 20MB of memory: write the file with smaller ones" in only.reason


def test_damaged_files_are_refused_or_read_up_to_the_damage(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x.parquet", ROWS)
    assert [str(one.verdict) for one in open_judgments([path], mapping=MAP)] == ["A>B", "B>A"]
    arrow = write_arrow(tmp_path / "x.arrow", pyarrow.Table.from_pylist([{"n": at} for at in range(10)]))
    for file, message in ((path, "cannot be read as Parquet"), (arrow, "cannot be read as Arrow")):
        file.write_bytes(file.read_bytes()[:-20])
        with pytest.raises(InputError, match=message):
            (parquet_table if file is path else arrow_table)(Source(file, "x")).columns()
    folder = write_dataset(tmp_path / "hf", [{"q": f"{n}"} for n in range(10)])
    file = folder / "data-00000-of-00001.arrow"
    file.write_bytes(file.read_bytes()[:-200])
    *_, last = dataset_table(Source(folder, "hf")).rows()
    assert "data-00000-of-00001.arrow is damaged; the rest of it cannot be read" in last.reason
    file.unlink()
    with pytest.raises(InputError, match=r"files are missing: data-00000-of-00001\.arrow"):
        open_judgments([folder], mapping=MAP)
    indirect = write_dataset(tmp_path / "indices", ROWS, _indices_files=[{"filename": "i.arrow"}])
    with pytest.raises(InputError, match="flatten_indices"):
        open_judgments([indirect], mapping=MAP)


def test_a_dataset_that_the_datasets_package_saved(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="pip install 'metajudge-vet[inputs]'")
    datasets.disable_progress_bars()
    made = datasets.Dataset.from_list([{key: row[key] for key in ("q", "a", "b", "winner")} for row in ROWS])
    made.select([1, 0]).save_to_disk(tmp_path / "hf")
    datasets.DatasetDict({"train": made, "test": made.select([0])}).save_to_disk(tmp_path / "dict")
    assert [one.item.question for one in open_judgments([tmp_path / "hf"], mapping=MAP)] == ["3+3?", "2+2?"]
    # Several splits are read each with ids of its own.
    assert [folder.name for folder in dataset_folders(tmp_path / "dict")] == ["test", "train"]
    source = open_judgments([tmp_path / "dict"], mapping=MAP)
    assert ([one.id for one in source], source.rejects) == (["test:1", "train:1", "train:2"], 0)


@pytest.mark.parametrize("kind", [arrow_table, parquet_table])
def test_rows_come_in_order_with_plain_values(tmp_path: Path, kind: Callable[[Source], Table]) -> None:
    write_arrow(tmp_path / "arrow_table", pyarrow.Table.from_pylist(ROWS))
    write_parquet(tmp_path / "parquet_table", ROWS)
    table = kind(Source(tmp_path / kind.__name__, "x"))
    assert table.columns() == ("q", "a", "b", "winner", "when", "x", "n")
    assert [row.number for row in table.rows() if isinstance(row, Line)] == [1, 2]
    # NaN marks a missing value in such files: it is null, not a number.
    plain = [(one["when"], one["x"], one["n"]) for one in data(table)]
    assert plain == [("2026-01-02", [{"k": 1}], 1.5), (None, [], None)]


@pytest.mark.parametrize("name", ["x.arrow", "x.feather", "x.parquet"])
def test_judgments_come_back_equal_from_a_file_of_any_name(tmp_path: Path, name: str) -> None:
    records = crowd(4)
    table = to_arrow(records)
    if name.endswith("parquet"):
        parquet.write_table(table, tmp_path / name)
    else:
        write_arrow(tmp_path / name, table, max_chunksize=5)
    assert list(open_judgments([tmp_path / name]).all()) == from_arrow(table) == records


def test_a_large_batch_is_not_held_as_objects(tmp_path: Path) -> None:
    rows = [{"n": number, "text": f"t{number}", "in": {"k": number}} for number in range(3 * BATCH)]
    path = write_arrow(tmp_path / "x.arrow", pyarrow.Table.from_pylist(rows))
    read = arrow_table(Source(path, "x")).rows()
    first, held = next(read), sum(1 for one in gc.get_objects() if type(one) is dict and one.keys() == {"k"})
    assert held <= BATCH + len(rows)  # those of the list above among them
    assert [one.data for one in (first, *read)] == rows


@pytest.mark.parametrize("name", ["datasets", "datasets.parquet", "datasets.jsonl", "datasets-records.parquet"])
def test_what_datasets_wrote_is_read_without_flags(name: str) -> None:
    source = open_judgments([INTEROP / "datasets" / name])
    found = {one.item.question: one for one in source}
    assert (source.rejects, len(found)) == (0, len(CASES))
    for number, case in enumerate(CASES):
        one = found[case.question]
        assert one.item.responses == {"A": case.answer, "B": OTHERS[number]}
        assert one.item.models == dict(zip("AB", MODELS, strict=True))
        assert str(one.verdict or "") == ("" if case.judge is None else "A>B" if case.judge else "B>A")
        assert one.rationale == EXPLANATIONS[case.judge]
        assert {label.annotator for label in one.item.labels} == case.people.keys()
        assert one.meta["time"].startswith("2026-11-01T10:00:00")


def test_parquet_keeps_the_order_over_many_row_groups(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x.parquet", [{"n": number} for number in range(5_000)], row_group_size=100)
    assert [one["n"] for one in data(parquet_table(Source(path, "x")))] == list(range(5_000))
