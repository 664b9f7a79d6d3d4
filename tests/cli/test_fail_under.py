"""``--fail-under``: the share that decides a pipeline's exit code."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from metajudge.cli.fail_under import (
    Bar,
    Reached,
    check_labels,
    of_findings,
    of_vetting,
    parse_fail_under,
    tell_missed,
)
from metajudge.errors import ConfigurationError

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "judgments.jsonl"


def test_reads_both_measures():
    assert parse_fail_under(["precision=0.9", " accepted = .5"]) == (Bar("precision", 0.9), Bar("accepted", 0.5))
    assert parse_fail_under(None) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.9", "write --fail-under precision=0.9"),
        ("recall=0.9", "write --fail-under precision=0.9"),
        ("precision=high", "'high' is no number"),
        ("precision=90", "for 90 % write 0.9"),
        ("precision=nan", "between 0 and 1"),
        ("accepted=-0.1", "between 0 and 1"),
    ],
)
def test_a_bar_that_means_nothing_is_the_users_mistake(text, said):
    with pytest.raises(ConfigurationError, match=said):
        parse_fail_under([text])


def test_one_measure_twice_is_refused():
    with pytest.raises(ConfigurationError, match="twice"):
        parse_fail_under(["precision=.8", "precision=.9"])


def test_the_bar_itself_is_enough_despite_float_noise():
    assert Reached(Bar("precision", 0.1 + 0.2), 3, 10).passed
    assert not Reached(Bar("precision", 0.31), 3, 10).passed


def test_nothing_kept_is_not_a_precision_of_one():
    missed = Reached(Bar("precision", 0.0), 0, 0)
    assert not missed.passed
    assert missed.to_json()["value"] is None
    assert "no labelled judgment was kept" in missed.sentence()


def test_accepted_counts_unscored_and_failed_judgments_as_not_kept():
    summary, labels = SimpleNamespace(accepted=3, judgments=10), SimpleNamespace(kept=SimpleNamespace(n=2, successes=2))
    precision, accepted = of_vetting([Bar("precision", 1.0), Bar("accepted", 0.31)], summary, labels)
    assert precision.passed
    assert (accepted.share, accepted.passed) == (0.3, False)


def test_unlabelled_input_is_refused_before_anything_is_asked():
    unlabelled = [SimpleNamespace(correct=None)] * 2
    with pytest.raises(ConfigurationError, match="no judgment of the input has one"):
        check_labels([Bar("precision", 0.5)], unlabelled)
    check_labels([Bar("accepted", 0.5)], unlabelled)
    check_labels([Bar("precision", 0.5)], [*unlabelled, SimpleNamespace(correct=False)])


def _row(kind, origin, value=4.5, selected=10, right=9):
    cell = SimpleNamespace(n=20, selected=selected, selected_right=right)
    return SimpleNamespace(
        name=f"{kind} row", kind=kind, threshold=SimpleNamespace(origin=origin, value=value), cells={"Overall": cell}
    )


def test_of_a_benchmark_only_what_would_be_kept_is_held_against_the_bar():
    rows = [
        _row("raw", "none", None),
        _row("evidence", "none", None),
        _row("evidence", "fixed beforehand"),
        _row("evidence", "set by coverage, no label used", right=1),
    ]
    findings = SimpleNamespace(judges=[SimpleNamespace(judge="all judges", rows=rows)])
    (found,) = of_findings([Bar("precision", 0.9)], findings)
    assert found.passed
    assert found.where == "all judges, evidence row"
    rows.append(_row("configuration", "fixed beforehand", selected=4, right=1))
    (asked,) = of_findings([Bar("precision", 0.9)], findings)
    assert asked.share == 0.25


def test_a_missed_bar_is_told(capsys):
    assert tell_missed([Reached(Bar("accepted", 0.9), 1, 2)])
    assert not tell_missed([Reached(Bar("accepted", 0.5), 1, 2)])
    assert "accepted 0.5 (1 of 2 kept) is below 0.9" in capsys.readouterr().err


def test_the_command_says_what_was_missed(metajudge):
    summary, code = metajudge.json("vet", SAMPLE, "--fail-under", "precision=0.95", "--fail-under", "accepted=0.1")
    assert code == 5
    assert [(one["measure"], one["passed"], one["n"]) for one in summary["fail_under"]] == [
        ("precision", False, 40),
        ("accepted", True, 96),
    ]


def test_a_bar_that_is_met_is_0_although_judges_gave_no_verdict(metajudge):
    summary, code = metajudge.json("vet", SAMPLE, "--fail-under", "precision=0.5")
    assert (code, summary["failures"]) == (0, {"no_verdict": 3})


def test_precision_without_labels_ends_with_exit_code_2(metajudge):
    line = '{"id": "j", "judge": "x", "verdict": "A>B", "item": {"id": "i", "question": "q", "responses": {"A": "a", "B": "b"}}}'
    done = metajudge("vet", "-", "--fail-under", "precision=0.9", stdin=line)
    assert done.returncode == 2
    assert "needs labels" in done.stderr
    assert not (metajudge.folder / "metajudge.duckdb").exists()
