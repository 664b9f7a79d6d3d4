from pathlib import Path

import pytest

from metajudge.readers import open_judgments
from metajudge.readers.dataset_table import DatasetTable, dataset_folders
from metajudge.readers.lines import Reject, Source
from tests.doubles.interop_cases import CASES, EXPLANATIONS, MODELS, OTHERS
from tests.readers.binary_tables import MAP, ROWS, write_dataset
from tests.readers.interop_files import INTEROP


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
    *_, last = DatasetTable(Source(folder, "hf")).rows()
    assert isinstance(last, Reject)
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
