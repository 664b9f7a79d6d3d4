"""The progress of an export on standard error."""

import time

import duckdb

from metajudge.cli import export_run


def test_a_long_stage_is_shown_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(export_run, "PLAIN_EVERY_S", 0.01)
    with duckdb.connect() as connection, export_run.StageBar() as bar:
        bar.begin("dedupe", 3, 7, connection)
        time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert "4/7 dedupe" in lines[-1]


def test_a_short_export_says_nothing(capsys):
    with export_run.StageBar():
        pass
    assert capsys.readouterr().err == ""


def test_kinds_are_told_unless_all_verdicts_are_pairwise(capsys):
    pairwise = {"pairwise": {"judgments": 3, "kept": 2}}
    export_run._print_kinds({"kinds": pairwise, "from_grades": False})
    assert capsys.readouterr().out == ""
    kinds = pairwise | {"grade": {"judgments": 9, "kept": 4}, "no_verdict": {"judgments": 1, "kept": 0}}
    export_run._print_kinds({"kinds": kinds, "from_grades": False})
    assert capsys.readouterr().out == ("Kept by kind of verdict: 2 pairwise, 4 grade. The rows are from comparisons.\n")
