"""One stream over all inputs: what is counted, repeated, filtered, refused and written."""

import io
import json
import os
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import JudgmentSource, Reject, open_judgments, parse_map
from tests.reading.conftest import Record, Write


def ids(source: JudgmentSource) -> list[str]:
    return [judgment.id for judgment in source]


def counts(source: JudgmentSource) -> tuple[int, int, int]:
    return source.judgments, source.rejects, source.duplicates


def test_a_source_can_be_read_again_also_at_the_same_time_and_counts_once(write: Write, record: Record) -> None:
    path = write("x", record("j1"), "bad", record("j1"), record("j2"))
    source, other = open_judgments([path]), open_judgments([path, path])
    assert list(source) == list(source) == list(other)
    assert ids(source) == ["j1", "j2"]
    both = open_judgments([path])
    assert all(left == right for left, right in zip(both.scan(), both.scan(), strict=True))
    assert counts(source) == counts(other) == counts(both) == (2, 1, 1)


def test_what_was_read_is_told_in_three_lines_and_an_example(write: Write, record: Record) -> None:
    path = write("x.csv", "qid,q,ans,judge,verdict,note", *(f"{n},Why {n}?,So,j,{n % 5},x" for n in range(10)), "short")
    mapping = parse_map(["item_id=qid,question=q,responses.A=ans,judge=judge,verdict=verdict"])
    source = open_judgments([path], mapping=mapping)
    assert source.summary().splitlines() == [
        "10 grades by j on 10 questions",
        "verdicts: 0 2, 1 2, 2 2, 3 2, 4 2; grades from 0 to 4; none without a verdict",
        "labels: none (in this file: --map label=COLUMN; in another one: --labels FILE)",
        "1 record cannot be read; not used: note",
        'for example x:2: j says 0: "Why 0?" | "So"',
    ]
    assert repr(source) == f"<JudgmentSource {path}: CSV, mapped; 10 judgments read; .summary() says what it holds>"
    tie, labelled = (
        record("t", verdict="A=B", order=["B", "A"]),
        record("l", judge="k", verdict=None, no_verdict="lost"),
    )
    labelled["item"] |= {"id": "other", "labels": [{"value": "A>B", "annotator": "ann"}]}
    pairs = open_judgments([write("y", record("j1"), tie, labelled)]).summary().splitlines()
    assert pairs[1] == "verdicts: A>>B 1, A=B 1; 1 tie; 1 of 1 in both orders; 1 without a verdict"
    assert pairs[2] == "labels: 2 on 2 of 2 items, by (label of the record) 1, ann 1"


def test_the_same_judgment_again_is_a_duplicate_even_in_another_spelling(write: Write, record: Record) -> None:
    spelled = dict(reversed(record("j1").items())) | {"order": ["A", "B"], "meta": {}}
    source = open_judgments([write("a", record("j1")), write("b", spelled)])
    assert (ids(source), counts(source)) == (["j1"], (1, 0, 1))


def test_one_id_for_two_judgments_is_a_reject_that_names_both_places(write: Write, record: Record) -> None:
    a = write("a", "", record("j1"), record("j1"))
    b = write("b", record("j1", verdict="B>A"), record("j2"))
    source = open_judgments([a, b])
    (reject,) = (entry for entry in source.scan() if isinstance(entry, Reject))
    assert str(reject) == (
        f"{b}:1: id 'j1' is already used for another judgment at {a}:2; --prefix-ids puts each file's name before its ids"
    )
    assert json.loads(reject.text)["verdict"] == "B>A"
    for _ in range(2):  # the first one stays, in every pass
        assert [str(judgment.verdict) for judgment in source] == ["A>>B", "A>>B"]
    assert counts(source) == (2, 1, 1)
    prefixed = open_judgments([a, b], prefix_ids=True)
    assert (ids(prefixed), counts(prefixed)) == ([f"{a}/j1", f"{b}/j1", f"{b}/j2"], (3, 0, 1))


def test_filters_apply_to_what_is_given_and_not_to_all(write: Write, record: Record) -> None:
    path = write("x", *(record(f"j{i}", judge="a" if i % 2 else "b") for i in range(10)), "bad")
    source = open_judgments([path], judges=["a"], limit=2)
    assert ids(source) == ["j1", "j3"]
    assert [judgment.id for judgment in source.all()] == [f"j{i}" for i in range(10)]
    assert counts(source) == (10, 1, 0)
    with pytest.raises(InputError, match="no judgment by 'gpt4'; the judges here are a, b"):
        list(open_judgments([path], judges=["gpt4"]))
    for limit in (0, -1):
        with pytest.raises(InputError, match="limit must be at least 1"):
            open_judgments([path], limit=limit)


def test_strict_stops_at_the_first_bad_line_and_at_a_contradiction(write: Write, record: Record) -> None:
    given = iter(open_judgments([write("x", record("j1"), "bad", record("j2"))], strict=True))
    assert next(given).id == "j1"
    with pytest.raises(InputError, match=r"x:2: not JSON"):
        next(given)
    clash = open_judgments([write("y", record("j1"), record("j1", judge="z"))], strict=True)
    with pytest.raises(InputError, match=r"y:2: id 'j1' is already used for another judgment at .*y:1"):
        list(clash)
    with pytest.raises(InputError, match=r"z:1: not JSON"):
        open_judgments([write("z", "bad", record("j1"))], strict=True)


def test_rejects_are_written_with_file_line_reason_and_text(write: Write, record: Record, tmp_path: Path) -> None:
    path, target = write("x", record("j1"), "bad \u2028 ünï", b"\xff", record("j1", judge="k")), tmp_path / "r.jsonl"
    assert open_judgments([path]).write_rejects(target) == 3
    rows = [json.loads(line) for line in target.read_text(encoding="utf-8").split("\n")[:-1]]
    assert [set(row) for row in rows] == [{"file", "line", "reason", "text"}] * 3
    assert [(row["file"], row["line"]) for row in rows] == [(str(path), line) for line in (2, 3, 4)]
    assert [row["text"] for row in rows[:2]] == ["bad \u2028 ünï", "\ufffd"]
    with pytest.raises(InputError, match="cannot write"):
        open_judgments([path]).write_rejects(tmp_path / "missing" / "r.jsonl")
    # Without rejects there is no file, and a stale one goes.
    assert open_judgments([write("y", record())]).write_rejects(target) == 0
    assert not target.exists()


@pytest.mark.parametrize(
    ("lines", "options", "held", "written"),
    [
        (["j1", "bad", "j2", "worse"], {}, 1 << 20, [2, 4]),  # met in a pass: written without another one
        (["bad", "j1", "worse", "j2"], {"limit": 1}, 1 << 20, [1, 3]),  # of a pass that stopped early: those it counted
        (["j1", *["bad"] * 9], {}, 100, list(range(2, 11))),  # more than are held: read again
    ],
)
def test_rejects_are_those_of_the_pass(
    write: Write, record: Record, tmp_path: Path, monkeypatch: Any, lines: Any, options: Any, held: int, written: Any
) -> None:
    monkeypatch.setattr("metajudge.reading.passes.KEPT_REJECTS", held)
    path = write("x", *(record(line) if line.startswith("j") else line for line in lines))
    source = open_judgments([path], **options)
    list(source)
    if held > 100:
        path.unlink()
    assert source.write_rejects(tmp_path / "r") == source.rejects == len(written)
    assert [json.loads(line)["line"] for line in (tmp_path / "r").read_text().splitlines()] == written


@pytest.mark.slow
def test_a_hundred_thousand_judgments_are_not_held(write: Write, record: Record) -> None:
    text, n = "why " * 500, 20_000
    path = write("big.jsonl", *(record(f"j{i}", rationale=f"{i} {text}") for i in range(n)))
    source = open_judgments([path])
    tracemalloc.start()
    try:
        count = sum(1 for _ in source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == n
    # Held, they would take 40 MB; what is kept is some 200 bytes an id.
    assert peak < 400 * n < 40_000_000 < path.stat().st_size


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return lambda raw: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_standard_input_is_spooled_and_can_be_read_twice(stdin: Any, record: Record, tmp_path: Path) -> None:
    stdin((json.dumps(record()) + "\nbad\n").encode())
    source = open_judgments(["-"])
    assert [len(list(source)), len(list(source))] == [1, 1]
    assert [entry.file for entry in source.scan() if isinstance(entry, Reject)] == ["<stdin>"]
    assert source.formats == {"<stdin>": "metajudge JSONL"}
    del source
    stdin(b"")
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
