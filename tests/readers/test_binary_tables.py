"""Parquet and Arrow files, and datasets on disk."""

import gc
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments, typed_tables
from metajudge.readers.frames import from_arrow, to_arrow
from metajudge.readers.lines import Line, Source
from metajudge.readers.tables import Table
from metajudge.readers.typed_tables import ROWS as BATCH
from metajudge.readers.typed_tables import (
    arrow_table,
    dataset_folders,
    dataset_table,
    parquet_connection,
    parquet_table,
)
from tests.doubles.crowds import crowd
from tests.doubles.interop_cases import CASES, EXPLANATIONS, MODELS, OTHERS
from tests.readers.binary_tables import MAP, ROWS, parquet, pyarrow, write_dataset, write_parquet
from tests.readers.interop_files import INTEROP


def test_a_name_that_looks_like_a_pattern_is_a_name(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x[1]*.parquet", ROWS)
    write_parquet(tmp_path / "x1.parquet", ROWS)
    assert len(list(open_judgments([path], mapping=MAP))) == 2


def test_a_parquet_file_can_name_no_other_file_and_load_no_extension(tmp_path: Path) -> None:
    path, other = (write_parquet(tmp_path / name, ROWS) for name in ("x[1]*.parquet", "y.parquet"))
    with parquet_connection(Source(path, "x")) as connection:
        for query in (f"FROM '{other}'", f"FROM read_text('{other}')", f"COPY (SELECT 1) TO '{tmp_path / 'new'}'"):
            with pytest.raises(duckdb.PermissionException, match="disabled by configuration"):
                connection.execute(query)
        for setting in ("enable_external_access = true", f"allowed_paths = ['{other}']"):
            with pytest.raises(duckdb.Error):
                connection.execute(f"SET {setting}")
        settings = ("autoload_known_extensions", "autoinstall_known_extensions", "enable_external_access")
        known = [connection.execute(f"SELECT current_setting('{name}')").fetchone()[0] for name in settings]
    assert known == [False, False, False]


def test_a_row_group_that_does_not_fit_into_memory_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "x.parquet", [{"q": "long " * 400_000}] * 40, use_dictionary=False)
    monkeypatch.setattr(typed_tables, "_MEMORY", "20MB")
    (only,) = parquet_table(Source(path, "x")).rows()
    assert "takes more than 20MB of memory: write the file with smaller ones" in only.reason


def test_a_mapped_parquet_file_is_read_and_a_damaged_one_refused(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x.parquet", ROWS)
    assert [str(one.verdict) for one in open_judgments([path], mapping=MAP)] == ["A>B", "B>A"]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        open_judgments([path], mapping=MAP)


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


def write_arrow(path: Path, table, **options) -> Path:
    with pyarrow.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table, **options)
    return path


@pytest.mark.parametrize("kind", [arrow_table, parquet_table])
def test_rows_come_in_order_with_plain_values(tmp_path: Path, kind: Callable[[Source], Table]) -> None:
    write_arrow(tmp_path / "arrow_table", pyarrow.Table.from_pylist(ROWS))
    write_parquet(tmp_path / "parquet_table", ROWS)
    table = kind(Source(tmp_path / kind.__name__, "x"))
    assert table.columns() == ("q", "a", "b", "winner", "when", "x", "n")
    rows = [row for row in table.rows() if isinstance(row, Line)]
    assert [row.number for row in rows] == [1, 2]
    first, second = (row.data for row in rows)
    assert (first["when"], first["x"], first["n"]) == ("2026-01-02", [{"k": 1}], 1.5)
    # NaN marks a missing value in such files: it is null, not a number.
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
        arrow_table(Source(path, "x")).columns()


def test_a_large_batch_is_not_held_as_objects(tmp_path: Path) -> None:
    rows = [{"n": number, "text": f"t{number}", "in": {"k": number}} for number in range(3 * BATCH)]
    path = write_arrow(tmp_path / "x.arrow", pyarrow.Table.from_pylist(rows))
    read = arrow_table(Source(path, "x")).rows()
    first, held = next(read), sum(1 for one in gc.get_objects() if type(one) is dict and one.keys() == {"k"})
    assert held <= BATCH + len(rows)  # those of the list above among them
    assert [one.data for one in (first, *read)] == rows


def test_several_splits_are_read_each_with_ids_of_its_own(tmp_path: Path) -> None:
    write_dataset(tmp_path / "hf" / "train", ROWS)
    write_dataset(tmp_path / "hf" / "test", ROWS[:1])
    (tmp_path / "hf" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert [folder.name for folder in dataset_folders(tmp_path / "hf")] == ["test", "train"]
    source = open_judgments([tmp_path / "hf"], mapping=MAP)
    assert [one.id for one in source] == ["test:1", "train:1", "train:2"]
    assert source.rejects == 0


def test_a_dataset_file_cut_off_gives_a_reject_after_what_can_be_read(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "hf", [{"q": f"{n}"} for n in range(10)])
    file = folder / "data-00000-of-00001.arrow"
    file.write_bytes(file.read_bytes()[:-200])
    *_, last = dataset_table(Source(folder, "hf")).rows()
    assert "is damaged" in last.reason


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
    assert [row.data["n"] for row in parquet_table(Source(path, "x")).rows() if isinstance(row, Line)] == list(
        range(5_000)
    )
