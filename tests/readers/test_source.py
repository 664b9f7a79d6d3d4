import io
import json
import os
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.readers import Reject, open_judgments
from tests.readers.conftest import Record, Write


def test_a_source_can_be_read_again_and_counts_once(write: Write, record: Record) -> None:
    source = open_judgments([write("x", record("j1"), "bad", record("j1"), record("j2"))])
    first, second = list(source), list(source)
    assert first == second
    assert [judgment.id for judgment in first] == ["j1", "j2"]
    assert (source.judgments, source.rejects, source.duplicates) == (2, 1, 1)


def test_passes_can_run_at_the_same_time(write: Write, record: Record) -> None:
    source = open_judgments([write("x", record("j1"), "bad", record("j2"), record("j1"))])
    for left, right in zip(source.scan(), source.scan(), strict=True):
        assert left == right
    assert (source.judgments, source.rejects, source.duplicates) == (2, 1, 1)


def test_the_same_judgment_again_is_a_duplicate_even_in_another_spelling(write: Write, record: Record) -> None:
    spelled = dict(reversed(record("j1").items())) | {"order": ["A", "B"], "meta": {}}
    source = open_judgments([write("a", record("j1")), write("b", spelled)])
    assert [judgment.id for judgment in source] == ["j1"]
    assert (source.duplicates, source.rejects) == (1, 0)


def test_one_id_for_two_judgments_is_a_reject_that_names_both_places(write: Write, record: Record) -> None:
    a, b = write("a", "", record("j1")), write("b", record("j1", verdict="B>A"), record("j2"))
    source = open_judgments([a, b])
    found = list(source.scan())
    (reject,) = (entry for entry in found if isinstance(entry, Reject))
    assert str(reject) == (
        f"{b}:1: id 'j1' is already used for another judgment at {a}:2; --prefix-ids puts each file's name before its ids"
    )
    assert json.loads(reject.text)["verdict"] == "B>A"
    # The first one stays, in every pass.
    assert [str(judgment.verdict) for judgment in source] == ["A>>B", "A>>B"]
    assert [str(judgment.verdict) for judgment in source] == ["A>>B", "A>>B"]
    assert source.rejects == 1


def test_a_repeated_judgment_is_found_among_ids_with_their_files_before_them(write: Write, record: Record) -> None:
    a, b = write("a", record("j1"), record("j1"), record("j2")), write("b", record("j1", verdict="B>A"))
    source = open_judgments([a, b], prefix_ids=True)
    assert [judgment.id for judgment in source] == [f"{a}/j1", f"{a}/j2", f"{b}/j1"]
    assert (source.duplicates, source.rejects) == (1, 0)


def test_filters_apply_to_what_is_given_and_not_to_all(write: Write, record: Record) -> None:
    rows = [record(f"j{i}", judge="a" if i % 2 else "b") for i in range(10)]
    source = open_judgments([write("x", *rows, "bad")], judges=["a"], limit=2)
    assert [judgment.id for judgment in source] == ["j1", "j3"]
    assert [judgment.id for judgment in source.all()] == [f"j{i}" for i in range(10)]
    assert source.judgments == 10
    assert source.rejects == 1


def test_a_judge_that_is_not_there_is_an_error_that_lists_those_who_are(write: Write, record: Record) -> None:
    source = open_judgments([write("x", record("j1", judge="gpt-4"), record("j2", judge="o1"))], judges=["gpt4"])
    with pytest.raises(InputError, match="no judgment by 'gpt4'; the judges here are gpt-4, o1"):
        list(source)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(write: Write, record: Record, limit: int) -> None:
    with pytest.raises(InputError, match="limit must be at least 1"):
        open_judgments([write("x", record())], limit=limit)


def test_strict_stops_at_the_first_bad_line_and_at_a_contradiction(write: Write, record: Record) -> None:
    path = write("x", record("j1"), "bad", record("j2"))
    given = iter(open_judgments([path], strict=True))
    assert next(given).id == "j1"
    with pytest.raises(InputError, match=r"x:2: not JSON"):
        next(given)
    clash = write("y", record("j1"), record("j1", judge="z"))
    with pytest.raises(InputError, match=r"y:2: id 'j1' is already used for another judgment at .*y:1"):
        list(open_judgments([clash], strict=True))
    with pytest.raises(InputError, match=r"z:1: not JSON"):
        open_judgments([write("z", "bad", record("j1"))], strict=True)


def test_rejects_are_written_with_file_line_reason_and_text(write: Write, record: Record, tmp_path: Path) -> None:
    path = write("x", record("j1"), "bad \u2028 ünï", b"\xff", record("j1", judge="k"))
    source = open_judgments([path])
    target = tmp_path / "out.rejects.jsonl"
    assert source.write_rejects(target) == 3
    rows = [json.loads(line) for line in target.read_text(encoding="utf-8").split("\n")[:-1]]
    assert [set(row) for row in rows] == [{"file", "line", "reason", "text"}] * 3
    assert [(row["file"], row["line"]) for row in rows] == [(str(path), 2), (str(path), 3), (str(path), 4)]
    assert rows[0]["text"] == "bad \u2028 ünï"
    assert rows[1]["text"] == "\ufffd"


def test_without_rejects_there_is_no_file_and_a_stale_one_goes(write: Write, record: Record, tmp_path: Path) -> None:
    source = open_judgments([write("x", record())])
    target = tmp_path / "out.rejects.jsonl"
    target.write_text("of an earlier run")
    assert source.write_rejects(target) == 0
    assert not target.exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_where_rejects_cannot_be_written_it_is_said(write: Write, record: Record, tmp_path: Path) -> None:
    source = open_judgments([write("x", record(), "bad")])
    with pytest.raises(InputError, match="cannot write"):
        source.write_rejects(tmp_path / "missing" / "r.jsonl")


def test_rejects_met_in_a_pass_are_written_without_another_one(write: Write, record: Record, tmp_path: Path) -> None:
    path = write("x", record("j1"), "bad", record("j2"), "worse")
    source, target = open_judgments([path]), tmp_path / "r.jsonl"
    assert len(list(source)) == 2
    path.unlink()
    assert source.write_rejects(target) == 2
    assert [json.loads(line)["line"] for line in target.read_text().splitlines()] == [2, 4]


def test_a_pass_that_stopped_early_writes_the_rejects_it_counted(write: Write, record: Record, tmp_path: Path) -> None:
    source = open_judgments([write("x", "bad", record("j1"), "worse", record("j2"))], limit=1)
    assert [judgment.id for judgment in source] == ["j1"]
    assert source.write_rejects(tmp_path / "r.jsonl") == source.rejects == 2


def test_more_rejects_than_are_held_are_read_again(
    write: Write, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metajudge.readers.passes.KEPT_REJECTS", 100)
    source = open_judgments([write("x", record("j1"), *["bad"] * 9)])
    list(source)
    assert source.write_rejects(tmp_path / "r.jsonl") == 9
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 9


@pytest.mark.slow
def test_a_hundred_thousand_judgments_are_not_held(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "big.jsonl"
    text = "why " * 500
    n = 20_000
    with path.open("w") as stream:
        for i in range(n):
            stream.write(json.dumps(record(f"j{i}", rationale=f"{i} {text}")) + "\n")
    source = open_judgments([path])
    tracemalloc.start()
    try:
        count = sum(1 for _ in source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == n
    # Held, they would take 40 MB; what is kept is some 200 bytes an id.
    assert path.stat().st_size > 40_000_000
    assert peak < 400 * n


def test_standard_input_is_spooled_and_can_be_read_twice(
    monkeypatch: pytest.MonkeyPatch, record: Record, tmp_path: Path
) -> None:
    raw = (json.dumps(record()) + "\nbad\n").encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = open_judgments(["-"])
    assert [len(list(source)), len(list(source))] == [1, 1]
    (reject,) = (entry for entry in source.scan() if isinstance(entry, Reject))
    assert reject.file == "<stdin>"
    assert source.formats == {"<stdin>": "metajudge JSONL"}
    del source
    assert list(tmp_path.iterdir()) == []


def test_an_empty_standard_input_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InputError, match="<stdin> is empty"):
        open_judgments(["-"])
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_spooled_too(tmp_path: Path, record: Record) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(json.dumps(record()) + "\n"))
    writer.start()
    source = open_judgments([pipe])
    writer.join()
    assert [len(list(source)), len(list(source))] == [1, 1]


def test_the_same_path_twice_is_read_once(write: Write, record: Record) -> None:
    path = write("x", record())
    source = open_judgments([path, path])
    assert len(list(source)) == 1
    assert source.duplicates == 0
