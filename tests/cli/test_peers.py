"""``metajudge peers --rankings`` as a user runs it: lost ballots, hostile names, bad input."""

from pathlib import Path

import pytest

from metajudge.errors import BadLineError, InputError
from tests.peers.elections import NAMES, ballots, failed


def write(given, path="ballots.jsonl"):
    Path(path).write_text("".join(one.model_dump_json(exclude_none=True) + "\n" for one in given), "utf-8")
    return path


QUICK = ("--resamples", "0")


class TestRankings:
    def test_lost_ballots_are_told_and_end_with_1_under_strict(self, run):
        write([*ballots(4, evaluators=NAMES[:5]), *(failed(f"q{n}", "fox", "refused") for n in range(4))])
        done = run("peers", "--rankings", "ballots.jsonl", *QUICK, "--report", "o.md")
        assert done.exit_code == 0
        assert run("peers", "--rankings", "ballots.jsonl", *QUICK, "--strict").exit_code == 1
        assert "4 ballots lost to failures" in done.output
        assert "fox failed on every ballot (4 refused)" in done.output
        assert "Lost ballots" in Path("o.md").read_text()

    def test_bad_lines_are_told_and_do_not_count(self, run):
        write(ballots(4))
        with Path("ballots.jsonl").open("a") as file:
            file.write('{"question_id": "q9", "evaluator": "ant", "ranking": ["bee", "bee"]}\nnonsense\n')
        done = run("peers", "--rankings", "ballots.jsonl", *QUICK)
        assert done.exit_code == 0
        with pytest.raises(BadLineError, match="names 'bee' more than once"):
            run("peers", "--rankings", "ballots.jsonl", *QUICK, "--strict")
        assert "ballots.jsonl:5" not in done.output
        assert "ballots.jsonl:25: the ranking names 'bee' more than once" in done.output
        assert "2 lines of ballots.jsonl are no ballots" in done.output
        assert "24 ballots" in done.output

    def test_a_human_ranking_of_strangers_is_told_and_the_rest_is_printed(self, run):
        write(ballots(4))
        done = run("peers", "--rankings", "ballots.jsonl", "--human", "gnu > yak", *QUICK)
        assert done.exit_code == 0
        assert "the human ranking 'human' shares 0 models with the ballots; two are needed" in done.output

    def test_hostile_names_stay_text(self, run):
        names = ("<script>alert(1)</script>", "a|b", "\x1b[31mred", "normal")
        write(ballots(4, names=names, phi=0.5))
        done = run("peers", "--rankings", "ballots.jsonl", *QUICK, "--report", "o.html", "--report", "o.md")
        assert done.exit_code == 0
        assert "\x1b" not in done.output
        assert "<script>" not in Path("o.html").read_text()


class TestBadInput:
    def test_ballots_are_never_written_over(self, run):
        Path("b.jsonl").write_text('{"question_id": "q", "evaluator": "x", "ranking": ["a", "b"]}\n')
        with pytest.raises(InputError, match="would be overwritten"):
            run("peers", "--rankings", "b.jsonl", "--json-out", "b.jsonl")
        assert "ranking" in Path("b.jsonl").read_text()
