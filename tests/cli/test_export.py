"""What ``metajudge export`` refuses, and lines that it cannot read."""

import json

import pytest

from metajudge.cli.app import app
from metajudge.errors import MetajudgeError
from metajudge.readers import write_jsonl
from tests.doubles.crowds import crowd


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--store", "none.duckdb"], "none.duckdb: no such store"),
        (["--assessments", "a.jsonl"], "assessments contain no texts"),
        (["--assessments", "a.jsonl", "--judgments", "j.jsonl", "--store", "s"], "exclude each other"),
        (["--accepted", "--all"], "--accepted and --all exclude each other"),
        (["--guarantee", "0.9"], "--guarantee takes a precision and a probability"),
        (["--guarantee", "high,low"], "--guarantee takes numbers with commas"),
        (["--min-probability", "2"], "min_probability must be a probability"),
        (["--format", "arrow"], "--format: input should be 'trl'"),
        (["--split", "0.9,0.2"], "must sum to 1"),
        (["--kind", "judgments", "--all"], "none is discarded"),
        (["--judgments", "nowhere.jsonl", "--all"], "cannot read nowhere.jsonl"),
        (
            ["--decontaminate", "bench.jsonl", "--judgments", "j.jsonl", "--all"],
            "cannot read the benchmark bench.jsonl",
        ),
        (["--judgments", "j.jsonl"], "nothing says which to keep"),
        (["--judgments", "j.jsonl", "--all", "--judge", "nobody"], "the input has no judge 'nobody'"),
        (["--judgments", "j.jsonl", "--all", "--run", "r"], "in which run a judgment was vetted"),
        (["--since", "yesterday"], "--since: no date such as 2026-11-01"),
        (["--since", "2026-11-02", "--until", "2026-11-01"], "no judgment can match"),
        (["--decision", "MAYBE"], "--decision: input should be 'APPROVE'"),
        (["--panel", "p"], "--panel: string should have at least 8 characters"),
        (["--conflicts", "ignore"], "--conflicts: input should be 'leave_out'"),
    ],
)
def test_a_users_mistake_is_told_in_a_line_and_leaves_nothing(tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    write_jsonl("j.jsonl", crowd(2))
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(MetajudgeError) as raised:
        app(["export", "preferences", "--out", "d", *arguments], standalone_mode=False)
    assert said in str(raised.value)
    assert not (tmp_path / "d").exists()


@pytest.mark.slow
def test_unreadable_lines_are_counted_and_end_with_1_under_strict(metajudge):
    write_jsonl(metajudge.folder / "j.jsonl", crowd(12))
    with (metajudge.folder / "j.jsonl").open("a") as stream:
        stream.write("{half\n")
    done = metajudge("export", "preferences", "--judgments", "j.jsonl", "--all", "--out", "d")
    assert done.returncode == 0
    strict = metajudge("export", "preferences", "--judgments", "j.jsonl", "--all", "--out", "e", "--strict")
    assert strict.returncode == 1
    assert "1 input lines could not be read" in done.stderr
    stats = json.loads((metajudge.folder / "d" / "stats.json").read_text())
    assert stats["read"]["unreadable_lines"] == 1
