"""``metajudge peers --rankings`` as a user runs it: figures, files, exit codes, bad input."""

import json
from pathlib import Path

import pytest

from metajudge.errors import BadLineError, ConfigurationError, InputError
from metajudge.peers.record import to_line
from tests.peers.elections import NAMES, ballots, failed


def write(given, path="ballots.jsonl"):
    Path(path).write_bytes(b"".join(map(to_line, given)))
    return path


ORDER = " > ".join(NAMES)
QUICK = ("--resamples", "0")


class TestRankings:
    def test_places_cautions_and_agreement_are_printed(self, run):
        write(ballots(30, phi=0.75, seed=1, selfish=("fox",)))
        done = run("peers", "--rankings", "ballots.jsonl", "--human", f"arena: {ORDER}", "--top-k", 3)
        assert done.exit_code == 0, done.output
        assert "6 models, 6 evaluators, 30 questions, 180 ballots" in done.output
        for words in ("SIE less SFE", "SE less PE", "Pearson correlation with arena", "kemeny, top 3", "fox alone"):
            assert words in done.output
        assert "best single evaluator, median over questions 0.714" in done.output
        assert "Caution: fox ranks" in done.output

    def test_json_and_reports_hold_what_is_printed(self, run):
        write(ballots(12, phi=0.6, seed=1))
        files = ("--json-out", "o.json", "--report", "o.html", "--report", "o.md", "--report", "r.json")
        done = run("peers", "--rankings", "ballots.jsonl", "--human", ORDER, "--resamples", "200", "--top-k", 1, *files)
        found = json.loads(Path("o.json").read_text())
        printed = done.output
        for one in found["standings"]:
            (line,) = [row for row in printed.splitlines() if row.split()[:1] == [one["model"]] and " to " in row][:1]
            assert f"{one['sie']['value']:.3f} ({one['sie']['low']:.3f} to {one['sie']['high']:.3f})" in line
        markdown, html = Path("o.md").read_text(), Path("o.html").read_text()
        for title in ("Consensus", "Agreement with human", "Rules", "Evaluators"):
            assert f"## {title}" in markdown
            assert title in html
        assert "published" in markdown
        assert json.loads(Path("r.json").read_text())["title"] == "Peer evaluation"

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

    def test_limit_takes_the_first_questions(self, run):
        write(ballots(10))
        assert "3 questions, 18 ballots" in run("peers", "--rankings", "ballots.jsonl", "--limit", 3, *QUICK).output

    @pytest.mark.parametrize(("mode", "there", "missing"), [("yes", "SIE", "SFE  "), ("no", "SFE", "SIE  ")])
    def test_include_self_chooses_the_columns(self, run, mode, there, missing):
        write(ballots(6))
        done = run("peers", "--rankings", "ballots.jsonl", "--include-self", mode, "--human", ORDER, *QUICK)
        heading = next(line for line in done.output.splitlines() if line.startswith("  Model"))
        assert there in heading
        assert missing.strip() not in heading

    def test_without_a_human_ranking_there_is_no_agreement_and_no_error(self, run):
        write(ballots(4))
        done = run("peers", "--rankings", "ballots.jsonl", *QUICK)
        assert done.exit_code == 0
        assert "correlation with" not in done.output

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
    def test_neither_rankings_nor_questions(self, run):
        assert run("peers").exit_code == 2
        assert "give either --rankings FILE, or --questions" in run("peers").output

    def test_both(self, run):
        assert run("peers", "--rankings", "a", "--questions", "b").exit_code == 2

    def test_models_with_rankings(self, run):
        done = run("peers", "--rankings", "a", "--model", "vllm:x")
        assert done.exit_code == 2
        assert "--rankings asks no model" in done.output

    def test_no_such_file(self, run):
        with pytest.raises(InputError, match=r"cannot read none\.jsonl"):
            run("peers", "--rankings", "none.jsonl")

    def test_ballots_are_never_written_over(self, run):
        Path("b.jsonl").write_text('{"question_id": "q", "evaluator": "x", "ranking": ["a", "b"]}\n')
        with pytest.raises(InputError, match="would be overwritten"):
            run("peers", "--rankings", "b.jsonl", "--json-out", "b.jsonl")
        assert "ranking" in Path("b.jsonl").read_text()

    def test_unknown_rule(self, run):
        with pytest.raises(ConfigurationError, match="no voting rule 'condorcet'"):
            run("peers", "--rankings", "ballots.jsonl", "--rule", "condorcet")

    def test_a_report_of_unknown_format_is_refused_before_any_work(self, run):
        with pytest.raises(InputError, match="ends in"):
            run("peers", "--rankings", "none.jsonl", "--report", "o.pdf")

    def test_one_candidate(self, run):
        Path("b.jsonl").write_text('{"question_id": "q", "evaluator": "x", "ranking": ["a"]}\n')
        with pytest.raises(InputError, match="at least two candidates"):
            run("peers", "--rankings", "b.jsonl")


class TestInfluence:
    def test_screen_json_and_page_say_who_carries_the_result(self, run):
        domains = ("law", "medicine")
        given = ballots(8, phi=0.6, seed=1)
        write([one.model_copy(update={"domain": domains[int(one.question_id[1:]) % 2]}) for one in given])
        files = ("--json-out", "o.json", "--report", "o.html")
        done = run("peers", "--rankings", "ballots.jsonl", "--human", ORDER, *QUICK, *files, "--without", "fox,eel")
        assert done.exit_code == 0, done.output
        assert "Kendall tau-b correlation with human" in done.output
        assert "Mean place by domain" in done.output
        found = json.loads(Path("o.json").read_text())
        assert [one["question_id"] for one in found["by_question"]] == sorted(f"q{n}" for n in range(8))
        assert found["influence"]["left_out"][-1]["without"] == ["fox", "eel"]
        html = Path("o.html").read_text()
        for words in ("Mean place over the questions", "Influence of evaluators", "Consensus of each question", "q7"):
            assert words in html
        assert html.count("<details") >= 4
