import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metajudge.distributed.folder import Earlier, ResultsFolder, write_table
from metajudge.errors import ConfigurationError, FailureKind, StoreError
from metajudge.types import Status
from tests.doubles.result_rows import row


@pytest.fixture
def folder(tmp_path):
    return ResultsFolder(tmp_path / "out")


def test_what_was_assessed_stands_and_what_failed_is_tried_again(folder):
    folder.write_part("a", [row(1), row(2, "failed", failure="timeout"), row(3, "failed", failure="no_verdict")])
    earlier = folder.earlier()
    assert len(earlier) == 3
    assert earlier.find(f"{1:032x}") == Earlier(Status.ASSESSED, True, False, None)
    assert earlier.find(f"{2:032x}").failure is FailureKind.TIMEOUT
    assert [earlier.find(f"{key:032x}").stands for key in (1, 2, 3)] == [True, False, True]
    assert earlier.find(f"{4:032x}") is None


def test_keys_that_agree_in_their_first_half_are_told_apart(folder):
    base = 7 << 64
    folder.write_part("a", [row(base + 1), row(base + 2, accepted=False)])
    earlier = folder.earlier()
    assert earlier.find(f"{base + 1:032x}").accepted is True
    assert earlier.find(f"{base + 2:032x}").accepted is False
    assert earlier.find(f"{base + 3:032x}") is None


def test_a_newer_result_replaces_a_failure_and_no_judgment_is_there_twice(folder):
    folder.write_part("a", [row(1), row(2, "failed", failure="timeout")])
    folder.write_part("b", [row(2, at=2.0)])
    assert folder.supersede() == 1
    assert [pq.read_table(part)["id"].to_pylist() for part in folder.parts()] == [["j1"], ["j2"]]
    assert folder.supersede() == 0


def test_a_later_failure_never_replaces_an_assessment(folder):
    folder.write_part("a", [row(1, at=1.0)])
    folder.write_part("b", [row(1, "failed", failure="timeout", at=2.0)])
    assert folder.supersede() == 1
    assert folder.earlier().find(f"{1:032x}").status is Status.ASSESSED
    assert len(folder.parts()) == 1, "a part without rows is removed"


def test_of_two_equal_results_one_stays(folder):
    folder.write_part("a", [row(1)])
    folder.write_part("b", [row(1)])
    assert folder.supersede() == 1
    assert sum(pq.read_table(part).num_rows for part in folder.parts()) == 1


def test_labels_are_told_of_what_was_decided(folder):
    first = {**row(1), "item_id": "i1"}
    folder.write_part("a", [first, row(2, "failed", failure="timeout"), {**row(3), "correct": None}])
    assert folder.labels().to_pylist() == [{"id": "j1", "item_id": "i1", "accepted": True, "correct": True}]


def test_an_empty_folder_has_nothing(folder):
    assert len(folder.earlier()) == 0
    assert folder.earlier().find("0" * 32) is None
    assert folder.labels().num_rows == 0
    assert folder.supersede() == 0


def test_results_of_another_panel_are_not_mixed_in(folder):
    folder.claim("one")
    folder.claim("one")
    with pytest.raises(ConfigurationError, match="another panel"):
        folder.claim("two")


def test_a_folder_of_other_parquet_files_is_refused(folder):
    pq.write_table(pa.table({"x": [1]}), folder.path / "mine.parquet")
    with pytest.raises(ConfigurationError, match=r"mine\.parquet"):
        folder.claim("one")


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigurationError, match="--out"):
        ResultsFolder(tmp_path / "out")


def test_a_part_that_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(StoreError, match="No space left"):
        write_table(tmp_path / "part.parquet", pa.table({"x": [1]}))
    assert list(tmp_path.iterdir()) == []
