import pyarrow.parquet as pq

from metajudge.distributed.folder import Earlier, ResultsFolder
from metajudge.distributed.work_list import write_work
from metajudge.errors import FailureKind
from metajudge.types import Judgment, Status
from tests.doubles.judgments import judgment
from tests.doubles.result_rows import row


def key(one):
    return f"{int(one.id):032x}"


def judgments(count):
    return [judgment(id=str(number)) for number in range(count)]


def written(folder):
    return [row for part in sorted(folder.iterdir()) for row in pq.read_table(part).to_pylist()]


def test_what_is_done_is_left_out_and_what_failed_is_marked(tmp_path):
    results = ResultsFolder(tmp_path / "out")
    results.write_part("a", [row(0), row(1, "unscored", failure=FailureKind.TIMEOUT.value)])
    known = []
    count = write_work(
        judgments(4),
        tmp_path / "work",
        key=key,
        earlier=results.earlier(),
        keep_failures=False,
        known=lambda one, earlier: known.append((one.id, earlier)),
    )
    rows = written(tmp_path / "work")
    assert count == 3
    assert [(r["index"], r["retry"]) for r in rows] == [(1, True), (2, False), (3, False)]
    assert known == [("0", Earlier(Status.ASSESSED, True, False, None))]
    assert [Judgment.model_validate_json(r["judgment"]) for r in rows] == judgments(4)[1:]


def test_failures_are_left_so_where_that_is_asked(tmp_path):
    results = ResultsFolder(tmp_path / "out")
    results.write_part("a", [row(1, "failed", failure="timeout")])
    count = write_work(
        judgments(2),
        tmp_path / "work",
        key=key,
        earlier=results.earlier(),
        keep_failures=True,
        known=lambda *_: None,
    )
    assert (count, [r["index"] for r in written(tmp_path / "work")]) == (1, [0])


def test_many_judgments_are_spread_over_files(tmp_path, monkeypatch):
    monkeypatch.setattr("metajudge.distributed.work_list.ROWS_A_FILE", 2)
    earlier = ResultsFolder(tmp_path / "out").earlier()
    count = write_work(
        judgments(5), tmp_path / "work", key=key, earlier=earlier, keep_failures=False, known=lambda *_: None
    )
    assert (count, len(list((tmp_path / "work").iterdir()))) == (5, 3)
    assert [r["index"] for r in written(tmp_path / "work")] == list(range(5))
