import json

import pytest
from metajudge.benchmarks.bench import ALL_JUDGES, Bench, Request
from metajudge.benchmarks.bench_report import report_of, terminal_tables
from metajudge.benchmarks.findings import OVERALL, BenchFindings
from metajudge.benchmarks.score_lines import score_lines

from metajudge.errors import ConfigurationError, InputError
from metajudge.report.html import to_html
from metajudge.report.markdown import to_markdown
from tests.doubles.judgebench import game, pair


def bench_of(place, **changes):
    return Bench(Request(benchmark="judgebench", data=place, **changes))


def found(bench):
    return bench.findings(bench.plan())


def rows(findings, judge):
    (one,) = [one for one in findings.judges if one.judge == judge]
    return {row.name: row.cells[OVERALL] for row in one.rows}


def test_offline_rows_by_hand(small):
    findings = found(bench_of(small))
    owl = rows(findings, "owl")
    assert (owl["raw judgments"].n, owl["raw judgments"].right) == (24, 20)
    agree = owl["both orders agree"]
    assert (agree.selected, agree.selected_right, agree.recall) == (16, 16, 16 / 20)
    assert [one.judge for one in findings.judges] == [ALL_JUDGES, "owl", "hawk"]
    assert rows(findings, ALL_JUDGES)["raw judgments"].n == 36


def test_evidence_comes_from_all_judges_even_those_not_reported(small):
    everyone = {line["judgment_id"]: line for line in map(json.loads, score_lines(bench_of(small), (), None))}
    only = [json.loads(line) for line in score_lines(bench_of(small, judges=("hawk",), limit=3), (), None)]
    assert len(only) == 3
    assert all(line["signals"]["peers"]["value"] is not None for line in only)
    assert only == [everyone[line["judgment_id"]] for line in only]


def test_score_lines_have_the_documented_fields(small):
    line = json.loads(next(iter(score_lines(bench_of(small), (), None))))
    assert list(line) == [
        "judgment_id", "item_id", "judge", "category", "order", "correct", "final_score", "probability", "accepted",
        "signals",
    ]  # fmt: skip
    assert (line["judgment_id"], line["order"], line["correct"]) == ("p0/owl/AB", "AB", True)
    assert line["probability"] is None
    assert line["signals"]["order"] == {"value": 1.0, "state": "agree"}


def test_ties_and_missing_verdicts_are_counted_and_have_no_line(folder):
    games = [game(0, "AB", "A>B"), game(0, "BA", "A=B", label="B>A"), game(1, "AB", None, judgment_text="")]
    bench = bench_of(folder([pair(0), pair(1)], games))
    (owl,) = found(bench).judges
    assert (owl.judgments, owl.decided, owl.ties, owl.without_verdict) == (3, 1, 1, 1)
    assert len(list(score_lines(bench, (), None))) == 1


def test_lines_that_could_not_be_read_and_missing_labels_are_said_not_dropped_in_silence(folder):
    pairs = [pair(0), pair(1), {**pair(2), "label": "C"}, {**pair(3), "label": None}]
    games = [game(number, "AB", "A>B") for number in range(3)] + [{**game(3, "AB", "A>B"), "label": None}]
    notes = found(bench_of(folder(pairs, games))).notes
    assert any(note.startswith("2 bad lines are in no figure, the first pairs.jsonl:3: ") for note in notes)
    assert "1 of the judgments asked for have no label and are in no figure" in notes


def test_without_labels_there_is_no_precision_but_an_error(folder):
    games = [game(0, "AB", "A>B", label=None)]
    with pytest.raises(InputError, match=r"precision needs true labels"):
        bench_of(folder([pair(0, label=None)], games))


def test_where_nobody_decided_the_counts_are_said(folder):
    games = [game(0, "AB", "A=B"), game(1, "AB", None, judgment_text="")]
    with pytest.raises(InputError, match="1 ties, 1 without a verdict"):
        bench_of(folder([pair(0), pair(1)], games))


def test_nothing_selected_is_said_and_has_no_precision(small):
    findings = found(bench_of(small, judges=("owl",), threshold=5.0))
    cell = rows(findings, "owl")["free evidence above 5"]
    assert cell.selected == 0
    assert cell.precision.absent == "nothing selected"
    assert "nothing selected" in to_markdown(report_of(findings))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"judges": ("wren",)}, "no judgment by 'wren'; the judges here are hawk, owl"),
        ({"limit": 0}, "--limit must be at least 1"),
        ({"signals": ("order", "odour")}, "no signal is named odour; there are: order, strength"),
        ({"threshold": 7.0}, "outside the scale"),
        ({"grid": "published", "baseline": "openai:x"}, "--grid brings its own agents"),
    ],
)
def test_wrong_requests_are_refused_with_what_there_is(small, changes, message):
    with pytest.raises((InputError, ConfigurationError), match=message):
        bench_of(small, **changes)


def test_signals_choose_what_the_free_evidence_weighs(small):
    alone = bench_of(small, signals=("order",)).observations.rows
    assert {round(row.heuristic, 6) for row in alone if row.judge == "owl"} == {
        round(1 + 4 / (1 + 2.718281828459045**-1), 6),
        round(1 + 4 / (1 + 2.718281828459045**1), 6),
    }


def test_the_findings_survive_their_own_json(small):
    findings = found(bench_of(small))
    assert BenchFindings.model_validate_json(findings.model_dump_json()) == findings


def test_the_same_data_give_the_same_report(small):
    first, second = (to_html(report_of(found(bench_of(small)))) for _ in range(2))
    assert first == second


def test_the_report_shows_every_judge_and_no_machine_path(small):
    page = to_html(report_of(found(bench_of(small))))
    for words in (
        "owl",
        "hawk",
        "all judges",
        "both orders agree",
        "Swap consistency",
        "by question; precision 10,000 resamples",
    ):
        assert words in page
    assert str(small.parent) not in page


def test_many_judges_get_a_line_each(folder):
    names = [f"judge-{number}" for number in range(14)]
    games = [
        game(n, order, "A>B" if order == "AB" else "B>A", judge=name, label="A>B" if order == "AB" else "B>A")
        for name in names
        for n in range(4)
        for order in ("AB", "BA")
    ]
    findings = found(bench_of(folder([pair(n) for n in range(4)], games)))
    assert list(findings.judges[1].rows[0].cells) == [OVERALL]
    table = terminal_tables(findings)[-1]
    assert [row[0] for row in table.rows] == names
    assert any("one line" in note for note in findings.notes)
