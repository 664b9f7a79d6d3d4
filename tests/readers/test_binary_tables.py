"""Parquet files and datasets on disk."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments, parse_map
from metajudge.readers.dataset_table import DatasetTable, dataset_folders
from metajudge.readers.lines import Line, Reject, Source
from metajudge.readers.parquet_table import ParquetTable

pyarrow = pytest.importorskip("pyarrow", reason="the writer of the test files; pip install 'metajudge-vet[inputs]'")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS: list[dict[str, Any]] = [
    {"q": "2+2?", "a": "4", "b": "5", "winner": "a", "when": datetime.date(2026, 1, 2), "x": [{"k": 1}], "n": 1.5},
    {"q": "3+3?", "a": "7", "b": "6", "winner": "b", "when": None, "x": [], "n": float("nan")},
]
MAP = parse_map(["verdict=winner,question=q,responses.A=a,responses.B=b,judge:=gpt"])


def write_parquet(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, **options)
    return path


def write_dataset(folder: Path, rows: list[dict[str, Any]], **state: Any) -> Path:
    """A folder as ``Dataset.save_to_disk`` writes it."""
    folder.mkdir(parents=True)
    data = pyarrow.Table.from_pylist(rows)
    with pyarrow.ipc.new_stream(str(folder / "data-00000-of-00001.arrow"), data.schema) as stream:
        stream.write_table(data)
    files = [{"filename": "data-00000-of-00001.arrow"}]
    (folder / "state.json").write_text(json.dumps({"_data_files": files, "_fingerprint": "f", "_split": None} | state))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def test_parquet_gives_rows_in_order_with_plain_values(tmp_path: Path) -> None:
    table = ParquetTable(Source(write_parquet(tmp_path / "x.parquet", ROWS), "x"))
    assert table.columns() == ("q", "a", "b", "winner", "when", "x", "n")
    rows = list(table.rows())
    assert all(isinstance(row, Line) for row in rows)
    assert [row.number for row in rows if isinstance(row, Line)] == [1, 2]
    first, second = (row.data for row in rows if isinstance(row, Line))
    assert (first["when"], first["x"], first["n"]) == ("2026-01-02", [{"k": 1}], 1.5)
    # NaN stands for a missing value in such files: it is null, not a number.
    assert (second["when"], second["x"], second["n"]) == (None, [], None)


def test_parquet_keeps_the_order_over_many_row_groups(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x.parquet", [{"n": number} for number in range(5_000)], row_group_size=100)
    assert [row.data["n"] for row in ParquetTable(Source(path, "x")).rows() if isinstance(row, Line)] == list(
        range(5_000)
    )


def test_a_name_that_looks_like_a_pattern_is_a_name(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x[1]*.parquet", ROWS)
    write_parquet(tmp_path / "x1.parquet", ROWS)
    assert len(list(open_judgments([path], mapping=MAP))) == 2


def test_a_mapped_parquet_file_is_read_and_a_damaged_one_refused(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x.parquet", ROWS)
    assert [str(one.verdict) for one in open_judgments([path], mapping=MAP)] == ["A>B", "B>A"]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        open_judgments([path], mapping=MAP)


def test_a_saved_dataset_is_read_by_mapping(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "hf", ROWS)
    source = open_judgments([folder], mapping=MAP)
    assert source.formats == {str(folder): "Hugging Face dataset on disk, mapped"}
    assert [one.item.question for one in source] == ["2+2?", "3+3?"]


def test_several_splits_are_read_each_with_ids_of_its_own(tmp_path: Path) -> None:
    write_dataset(tmp_path / "hf" / "train", ROWS)
    write_dataset(tmp_path / "hf" / "test", ROWS[:1])
    (tmp_path / "hf" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert [folder.name for folder in dataset_folders(tmp_path / "hf")] == ["test", "train"]
    source = open_judgments([tmp_path / "hf"], mapping=MAP)
    assert [one.id for one in source] == ["test:1", "train:1", "train:2"]
    assert source.rejects == 0


def test_what_is_missing_or_reordered_in_a_saved_dataset_is_refused(tmp_path: Path) -> None:
    indirect = write_dataset(tmp_path / "indices", ROWS, _indices_files=[{"filename": "i.arrow"}])
    with pytest.raises(InputError, match="flatten_indices"):
        open_judgments([indirect], mapping=MAP)
    missing = write_dataset(tmp_path / "missing", ROWS)
    (missing / "data-00000-of-00001.arrow").unlink()
    with pytest.raises(InputError, match=r"files are missing: data-00000-of-00001\.arrow"):
        open_judgments([missing], mapping=MAP)


def test_a_dataset_file_cut_off_gives_a_reject_after_what_can_be_read(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "hf", [{"q": f"{n}"} for n in range(10)])
    file = folder / "data-00000-of-00001.arrow"
    file.write_bytes(file.read_bytes()[:-200])
    *_, last = DatasetTable(Source(folder, "hf")).rows()
    assert isinstance(last, Reject)
    assert "is damaged" in last.reason


def test_a_dataset_that_the_datasets_package_saved(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="pip install 'metajudge-vet[inputs]'")
    datasets.disable_progress_bars()
    made = datasets.Dataset.from_list([{key: row[key] for key in ("q", "a", "b", "winner")} for row in ROWS])
    made.select([1, 0]).save_to_disk(tmp_path / "hf")
    datasets.DatasetDict({"train": made}).save_to_disk(tmp_path / "dict")
    assert [one.item.question for one in open_judgments([tmp_path / "hf"], mapping=MAP)] == ["3+3?", "2+2?"]
    assert [one.id for one in open_judgments([tmp_path / "dict"], mapping=MAP)] == ["train:1", "train:2"]
