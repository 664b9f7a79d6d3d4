import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metajudge.distributed.folder import SCHEMA, Earlier, ResultsFolder
from metajudge.distributed.work_list import Range
from metajudge.errors import ConfigurationError, FailureKind
from metajudge.panels.building import build_vetter
from metajudge.panels.config import PanelConfig
from metajudge.providers.stack import Resources
from metajudge.strategies.outcome import Outcome
from metajudge.types import Status
from tests.doubles.judgments import judgment
from tests.doubles.result_rows import row


@pytest.fixture
def folder(tmp_path):
    return ResultsFolder(tmp_path / "out")


def test_what_was_assessed_stands_and_what_failed_is_tried_again(folder):
    folder.write_part("a", [row(1), row(2, "failed", failure="timeout"), row(3, "failed", failure="no_verdict")])
    earlier = folder.earlier()
    assert len(earlier) == 3
    assert earlier.find(f"{1:032x}") == Earlier(Status.ASSESSED, True, "above 4.5 by the score", False, None)
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
    assert [part["id"].to_pylist() for part in parts(folder)] == [["j1"], ["j2"]]
    assert folder.supersede() == 0


def test_a_later_failure_never_replaces_an_assessment(folder):
    folder.write_part("a", [row(1, at=1.0)])
    folder.write_part("b", [row(1, "failed", failure="timeout", at=2.0)])
    assert folder.supersede() == 1
    assert folder.earlier().find(f"{1:032x}").status is Status.ASSESSED
    assert len(parts(folder)) == 1, "a part without rows is removed"


def test_of_two_equal_results_one_stays(folder):
    folder.write_part("a", [row(1)])
    folder.write_part("b", [row(1)])
    assert folder.supersede() == 1
    assert sum(part.num_rows for part in parts(folder)) == 1


def test_the_newest_result_of_a_judgment_says_what_became_of_it(folder):
    silent, failed = row(2, "failed", failure="no_verdict"), row(3, "failed", failure="timeout")
    folder.write_part("a", [{**row(1), "guaranteed": True}, silent, failed, row(4, accepted=False)])
    folder.write_part("b", [row(4, at=2.0), {**row(5, "unscored", failure="timeout")}])
    kept = "kept_without_guarantee"
    fates = {"j1": "kept_under_guarantee", "j2": "asked", "j3": "failed", "j4": kept, "j5": "asked"}
    assert folder.fates() == fates


def test_an_empty_folder_has_nothing(folder):
    assert len(folder.earlier()) == 0
    assert folder.earlier().find("0" * 32) is None
    assert folder.fates() == {}
    assert folder.supersede() == 0


def test_results_of_another_panel_are_not_mixed_in(folder):
    folder.claim("one")
    folder.claim("one")
    with pytest.raises(ConfigurationError, match="another panel"):
        folder.claim("two")


def test_a_folder_of_other_parquet_files_is_refused(folder):
    pq.write_table(pa.table({"x": [1]}), folder.place.path / "mine.parquet")
    with pytest.raises(ConfigurationError, match=r"mine\.parquet"):
        folder.claim("one")


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigurationError, match="--out"):
        ResultsFolder(tmp_path / "out")


def test_of_free_evidence_the_newest_result_stands_though_it_decides_nothing(folder):
    before = {**row(1, at=1.0), "strategy": "signals"}
    now = {**row(1, "unscored", failure="no_evidence", at=2.0), "strategy": "signals"}
    folder.write_part("a", [before])
    folder.write_part("b", [now])
    assert folder.supersede() == 1
    assert folder.earlier().find(f"{1:032x}").status is Status.UNSCORED


def test_a_part_of_an_earlier_version_is_read_without_the_newer_columns(folder):
    older = pa.Table.from_pylist([row(1)], schema=SCHEMA).drop_columns(["question", "strategy", "guaranteed", "hash"])
    pq.write_table(older, folder.place.path / "part-old.parquet")
    assert folder.fates() == {"j1": "kept_without_guarantee"}
    assert len(folder.earlier()) == 1


def test_the_panel_s_own_result_is_found_beside_what_a_policy_made_of_it(folder):
    own = assessed()
    whole = own.model_copy(update={"probability": 0.5, "calibrated": True})
    texts = {"assessment": whole.model_dump_json(), "panel_assessment": own.model_dump_json()}
    folder.write_part("a", [{**row(1), "hash": 5, **texts}, {**row(2), "hash": 9, "assessment": own.model_dump_json()}])
    assert folder.panel_assessments(Range(0, 6).filter()) == {f"{1:032x}": own}
    assert set(folder.panel_assessments(Range(0, 10).filter())) == {f"{1:032x}", f"{2:032x}"}


def assessed():
    given = judgment()
    vetter = build_vetter(PanelConfig(strategy="signals"), Resources(), early_exit=False)
    return vetter.assessment(vetter.default, given, Outcome(Status.ASSESSED, final_score=5.0, accepted=True))


def parts(folder):
    return [folder.place.read(pattern=name, schema=SCHEMA) for name in folder.place.names_of("part-*.parquet")]
