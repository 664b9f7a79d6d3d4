"""Parquet files and datasets on disk."""

from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from tests.readers.binary_tables import MAP, ROWS, write_dataset, write_parquet


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


def test_what_is_missing_or_reordered_in_a_saved_dataset_is_refused(tmp_path: Path) -> None:
    indirect = write_dataset(tmp_path / "indices", ROWS, _indices_files=[{"filename": "i.arrow"}])
    with pytest.raises(InputError, match="flatten_indices"):
        open_judgments([indirect], mapping=MAP)
    missing = write_dataset(tmp_path / "missing", ROWS)
    (missing / "data-00000-of-00001.arrow").unlink()
    with pytest.raises(InputError, match=r"files are missing: data-00000-of-00001\.arrow"):
        open_judgments([missing], mapping=MAP)


def test_a_dataset_that_the_datasets_package_saved(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="pip install 'metajudge-vet[inputs]'")
    datasets.disable_progress_bars()
    made = datasets.Dataset.from_list([{key: row[key] for key in ("q", "a", "b", "winner")} for row in ROWS])
    made.select([1, 0]).save_to_disk(tmp_path / "hf")
    datasets.DatasetDict({"train": made}).save_to_disk(tmp_path / "dict")
    assert [one.item.question for one in open_judgments([tmp_path / "hf"], mapping=MAP)] == ["3+3?", "2+2?"]
    assert [one.id for one in open_judgments([tmp_path / "dict"], mapping=MAP)] == ["train:1", "train:2"]
