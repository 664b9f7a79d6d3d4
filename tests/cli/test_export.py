"""``metajudge export`` as a user runs it."""

import json

import pytest

from metajudge.cli.app import app
from metajudge.errors import MetajudgeError
from metajudge.readers import write_jsonl
from tests.doubles.crowds import crowd
from tests.preferences.stored import filled, vetted
from tests.preferences.vetted import judgment


@pytest.fixture
def fresh(metajudge):
    write_jsonl(metajudge.folder / "labelled.jsonl", crowd(60))
    write_jsonl(metajudge.folder / "fresh.jsonl", crowd(20, seed=9, prefix="new", labelled=False))
    steps = [
        ("calibrate", "fit", "--data", "labelled.jsonl", "--signals", "order,strength,peers", "--out", "cal.json"),
        ("calibrate", "threshold", "--calibration", "cal.json", "--data", "labelled.jsonl", "--target", "0.7"),
        ("vet", "fresh.jsonl", "--calibration", "cal.json", "--out", "a.jsonl"),
    ]
    for step in steps:
        done = metajudge(*step)
        assert done.returncode == 0, done.stdout + done.stderr
    return metajudge


@pytest.mark.slow
def test_from_verdicts_to_a_checked_dataset(fresh):
    done = fresh(
        "export", "preferences", "--guarantee", "0.7,0.1", "--split", "0.7,0.3", "--out", "pairs", "--licence", "CC0"
    )
    assert done.returncode == 0, done.stderr
    assert "pairs: train " in done.stdout
    assert done.stdout.count("with 90 % confidence at least 70 % of all") == 1, "one promise, not one a judge"
    assert "taken together and not each judge alone" in done.stdout
    checked, code = fresh.json("export", "check", "pairs")
    assert (code, checked["ok"], checked["faults"]) == (0, True, [])
    assert "`sk" not in (fresh.folder / "pairs" / "README.md").read_text()

    by_files, code = fresh.json(
        "export", "preferences", "--assessments", "a.jsonl", "--judgments", "fresh.jsonl", "--guarantee", "0.7,0.1",
        "--split", "0.7,0.3", "--out", "again",
    )  # fmt: skip
    assert code == 0
    assert by_files["rows"] == checked["rows"]
    assert (fresh.folder / "again" / "data" / "train-00000-of-00001.parquet").read_bytes() == (
        fresh.folder / "pairs" / "data" / "train-00000-of-00001.parquet"
    ).read_bytes()

    done = fresh("export", "preferences", "--guarantee", "0.95,0.05", "--out", "more")
    assert done.returncode == 2
    assert "stored: 0.7 with delta 0.1" in done.stderr
    assert "labelled questions" in done.stderr

    (fresh.folder / "pairs" / "data" / "train-00000-of-00001.parquet").write_bytes(b"PAR1")
    done = fresh("export", "check", "pairs")
    assert done.returncode == 1
    assert "FAULT digest: data/train-00000-of-00001.parquet" in done.stdout
    assert "Traceback" not in done.stderr


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


@pytest.mark.slow
def test_the_terminal_counts_people_policy_and_rule_apart_and_names_conflicts(tmp_path, capsys):
    said = [judgment(number) for number in range(6)] + [judgment(5, judge="jay", question="Something else?")]
    actions = ["REVIEW", "REVIEW", "REJECT", "REVIEW", None, None, None]
    store = filled(
        tmp_path / "s.duckdb",
        [(one, vetted(one, action)) for one, action in zip(said, actions, strict=True)],
        [(said[0], ["B>A"]), (said[1], ["reject"])],
    )
    command = ["export", "preferences", "--store", str(store), "--all"]
    app([*command, "--out", str(tmp_path / "d")], standalone_mode=False)
    shown = capsys.readouterr()
    assert (
        "Kept by people 1 (1 with a person's verdict), by a policy 0, by the rule 1; dropped by people 1, by a policy 1, "
        "by the rule 0; waiting for review 1." in shown.out
    )
    assert "1 item ids have two different contents and were left out: item-5." in shown.err
    app([*command, "--ignore-decisions", "--json", "--out", str(tmp_path / "e")], standalone_mode=False)
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["decisions"]["ignored"]) == ({"train": 5}, True)
    options = ["--judge", "jay", "--since", "2020-01-01", "--run", "run", "--panel", "p" * 8, "--category", "none"]
    with pytest.raises(MetajudgeError, match="has no category 'none'"):
        app([*command, *options, "--out", str(tmp_path / "f")], standalone_mode=False)
    app([*command, *options[:-2], "--out", str(tmp_path / "f")], standalone_mode=False)
    assert json.loads((tmp_path / "f" / "stats.json").read_text())["request"]["filters"]["judges"] == ["jay"]


def test_check_of_a_folder_that_is_none(metajudge):
    done = metajudge("export", "check", "nothing")
    assert done.returncode == 2
    assert "is no folder" in done.stderr
