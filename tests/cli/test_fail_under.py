"""``--fail-under``: the share that decides a pipeline's exit code."""

from pathlib import Path

import pytest

from metajudge.cli.fail_under import parse_fail_under, tell_missed
from metajudge.errors import ConfigurationError
from metajudge.vetting.bars import Bar, Reached

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "judgments.jsonl"


def test_reads_both_measures():
    assert parse_fail_under(["precision=0.9", " kept = .5"]) == (Bar("precision", 0.9), Bar("kept", 0.5))
    assert parse_fail_under(None) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.9", "write --fail-under precision=0.9"),
        ("recall=0.9", "write --fail-under precision=0.9"),
        ("precision=high", "'high' is not a number"),
        ("precision=90", "for 90 % write 0.9"),
        ("precision=nan", "between 0 and 1"),
        ("kept=-0.1", "between 0 and 1"),
    ],
)
def test_a_bar_that_means_nothing_is_the_users_mistake(text, said):
    with pytest.raises(ConfigurationError, match=said):
        parse_fail_under([text])


def test_one_measure_twice_is_refused():
    with pytest.raises(ConfigurationError, match="twice"):
        parse_fail_under(["kept=.8", "kept=.9"])


def test_a_missed_bar_is_told(capsys):
    assert tell_missed([Reached(Bar("kept", 0.9), 1, 2)])
    assert not tell_missed([Reached(Bar("kept", 0.5), 1, 2)])
    assert "kept 0.5 (1 of 2 kept) is below 0.9" in capsys.readouterr().err


def test_a_met_bar_whose_interval_spans_it_says_so(capsys):
    met = Reached(Bar("precision", 0.9), 3, 3, interval=(0.44, 1.0))
    assert not tell_missed([met])
    said = capsys.readouterr().err
    assert "precision 1 (3 of 3 kept are right; 95 % interval by question 44.0 to 100.0 %) reaches 0.9" in said
    assert "the interval spans the bar" in said
    assert not tell_missed([Reached(Bar("precision", 0.9), 3, 3, interval=(0.95, 1.0))])
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_the_command_says_what_was_missed(metajudge):
    summary, code = metajudge.json("vet", SAMPLE, "--fail-under", "precision=0.95", "--fail-under", "kept=0.1")
    assert code == 5
    assert [(one["measure"], one["passed"], one["n"]) for one in summary["fail_under"]] == [
        ("precision", False, 40),
        ("kept", True, 96),
    ]


@pytest.mark.slow
def test_a_bar_that_is_met_is_0_although_judges_gave_no_verdict(metajudge):
    summary, code = metajudge.json("vet", SAMPLE, "--fail-under", "precision=0.5")
    assert (code, summary["failures"]) == (0, {"no_verdict": 3})


@pytest.mark.slow
def test_precision_without_labels_ends_with_exit_code_2(metajudge):
    line = '{"id": "j", "judge": "x", "verdict": "A>B", "item": {"id": "i", "question": "q", "responses": {"A": "a", "B": "b"}}}'
    done = metajudge("vet", "-", "--fail-under", "precision=0.9", stdin=line)
    assert done.returncode == 2
    assert "needs labels" in done.stderr
    assert "has no judgment" in metajudge("show", "j").stderr  # nothing was vetted
