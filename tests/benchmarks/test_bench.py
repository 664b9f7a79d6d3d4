import json

import pytest
from metajudge.benchmarks.bench import ALL_JUDGES
from metajudge.benchmarks.findings import BenchFindings
from metajudge.benchmarks.score_lines import score_lines

from metajudge.errors import InputError
from tests.benchmarks.benches import bench_of, found, rows
from tests.doubles.judgebench import game, pair


def test_offline_rows_by_hand(small):
    findings = found(bench_of(small))
    owl = rows(findings, "owl")
    assert (owl["decided verdicts"].n, owl["decided verdicts"].right) == (24, 20)
    agree = owl["both orders agree"]
    assert (agree.selected, agree.selected_right, agree.recall) == (16, 16, 16 / 20)
    assert [one.judge for one in findings.judges] == [ALL_JUDGES, "owl", "hawk"]
    assert rows(findings, ALL_JUDGES)["decided verdicts"].n == 36


def test_evidence_comes_from_all_judges_even_those_not_reported(small):
    everyone = {line["judgment_id"]: line for line in map(json.loads, score_lines(bench_of(small), (), None))}
    only = [json.loads(line) for line in score_lines(bench_of(small, judges=("hawk",), limit=4), (), None)]
    assert len(only) == 4
    assert all(line["signals"]["peers"]["value"] is not None for line in only)
    assert only == [everyone[line["judgment_id"]] for line in only]


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


def test_the_findings_survive_their_own_json(small):
    findings = found(bench_of(small))
    assert BenchFindings.model_validate_json(findings.model_dump_json()) == findings
