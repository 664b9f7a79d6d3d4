"""``metajudge peers``: ballots from a file and from a server, resumption and failures."""

import json
import signal
from pathlib import Path

import pytest

from metajudge.errors import BadLineError, ConfigurationError, InputError
from tests.doubles.jsonl import lines
from tests.doubles.llm_server import LLMServer
from tests.doubles.waiting import until
from tests.peers.elections import NAMES, ballots, failed
from tests.peers.fake_models import answer, is_ranking

DOMAINS = ("math", "Creative Writing", None)


def questions(count, path="questions.jsonl"):
    lines = []
    for number in range(count):
        domain = DOMAINS[number % 3]
        one = {"id": f"q{number}", "question": f"What is {number} + {number}?"} | ({"domain": domain} if domain else {})
        lines.append(json.dumps(one) + "\n")
    Path(path).write_text("".join(lines))
    return path


def models(server, names=NAMES):
    return [flag for name in names for flag in ("--model", f"{name}=openai:{name}@{server.url}")]


def command(server, count=3, names=NAMES[:3], *more):
    return (
        *("--questions", questions(count), *models(server, names), "--out", "b.jsonl"),
        *("--resamples", "0", *more),
    )


def test_the_file_of_ballots_gives_the_findings_of_the_run(run):
    human = ("--human", "arena: " + " > ".join(NAMES), "--top-k", 3, "--resamples", 100)
    with LLMServer(answer=answer) as server:
        flags = ("--questions", questions(6), *models(server), "--out", "b.jsonl", *human, "--json-out", "o.json")
        done = run("peers", *flags)
        assert (done.exit_code, server.count) == (0, 72), done.output
    again = run("peers", "--rankings", "b.jsonl", *human, "--json-out", "again.json")
    one, other = ({**json.loads(Path(name).read_text()), "provenance": {}} for name in ("o.json", "again.json"))
    assert one == other
    assert again.stdout.removesuffix("Written: again.json\n") in done.stdout


class TestResumption:
    def test_the_files_alone_are_enough_when_the_store_is_gone(self, run):
        with LLMServer(answer=answer) as server:
            run("peers", *command(server, 3, NAMES[:3], "--store", "one.duckdb"))
            run("peers", *command(server, 3, NAMES[:3], "--store", "two.duckdb"))
            assert server.count == 18

    def test_another_seed_in_the_same_file_is_refused(self, run):
        with LLMServer(answer=answer) as server:
            run("peers", *command(server))
            with pytest.raises(InputError, match="made with other settings"):
                run("peers", *command(server, 3, NAMES[:3], "--seed", "1"))
            assert server.count == 18

    def test_more_questions_go_on_in_the_same_file(self, run):
        with LLMServer(answer=answer) as server:
            run("peers", *command(server, 2))
            done = run("peers", *command(server, 3))
            assert server.count == 18
        assert "3 questions, 9 ballots" in done.output

    def test_a_budget_ends_with_3_and_the_next_run_goes_on(self, run):
        with LLMServer(answer=answer) as server:
            text = "".join(
                f'[[agents]]\nname = "{name}"\nmodel = "openai:{name}@{server.url}"\nprice = {{input = 1.0, output = 1.0}}\n'
                "max_tokens = 300\n"
                for name in NAMES[:3]
            )
            Path("p.toml").write_text(text)
            flags = ("--questions", questions(3), "--config", "p.toml", "--out", "b.jsonl")
            done = run("peers", *flags, "--concurrency", 1, "--budget-usd", "0.005")
            assert done.exit_code == 3, done.output
            assert "The budget is spent" in done.output
            assert 0 < server.count < 18
            again = run("peers", *flags)
            assert again.exit_code == 0
            assert server.count == 18
        spent = sum(one["cost_usd"] for name in ("b.jsonl", "b.answers.jsonl") for one in lines(name))
        assert spent > 0
        assert f"All attempts in the files, earlier runs included: ${spent:.4f}" in again.stdout

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
    def test_a_run_that_is_stopped_loses_no_ballot_that_was_written(self, metajudge, how):
        log = metajudge.folder / "b.jsonl"
        with LLMServer(answer=answer, latency_s=0.05) as server:
            asked = questions(20, metajudge.folder / "questions.jsonl")
            command = ("peers", "--questions", asked, *models(server), "--out", "b.jsonl", "--resamples", 0)
            process = metajudge.start(*command, "--concurrency", 4)
            until(lambda: log.exists() and log.read_bytes().count(b"\n") > 20)
            process.send_signal(how)
            out, _ = process.communicate(timeout=30)
            stopped = how is signal.SIGINT
            assert process.returncode == (130 if stopped else -9)
            assert ("Interrupted. Run the same command again" in out) == stopped
            kept = log.read_bytes().rpartition(b"\n")[0]
            assert kept.count(b"\n") >= 20
            done = metajudge(*command)
            assert done.returncode == 0, done.stderr
            assert log.read_bytes().startswith(kept)
            assert len(lines(log)) == 120
            assert server.count <= 240 + (0 if stopped else 16), "only what was in flight is asked twice"


class TestFailures:
    def test_an_evaluator_who_failed_everywhere_is_recorded_counted_and_asked_again(self, run):
        def down(request):
            return "401" if request.body["model"] == "cat" and is_ranking(request.body) else None

        with LLMServer(answer=answer, faults=down) as server:
            done = run("peers", *command(server, 3, NAMES[:5], "--report", "o.md"))
        assert done.exit_code == 1
        failed = [one for one in lines("b.jsonl") if one["status"] == "failed"]
        assert [(one["evaluator"], one["failure"]["kind"], one["replied"]) for one in failed] == [
            ("cat", "auth", False)
        ] * 3
        assert "Missing from cat: 3 auth. Run the same command again to retry" in done.output
        assert "cat failed on every ballot (3 auth)" in done.output
        assert "12 ballots" in done.output
        assert "| q0 | cat | auth |" in Path("o.md").read_text()

    def test_a_failed_ballot_stays_in_the_file_and_the_next_attempt_is_added(self, run):
        broken = {"on": True}

        def down(request):
            return "413" if broken["on"] and request.body["model"] == "bee" and is_ranking(request.body) else None

        with LLMServer(answer=answer, faults=down) as server:
            assert run("peers", *command(server)).exit_code == 1
            broken["on"] = False
            assert run("peers", *command(server)).exit_code == 0
            assert server.count == 18 + 3
        attempts = [(one["attempt"], one["status"]) for one in lines("b.jsonl") if one["evaluator"] == "bee"]
        assert sorted(attempts) == [(1, "failed")] * 3 + [(2, "ok")] * 3

    def test_a_question_whose_missing_answer_came_is_ranked_anew_with_all_answers(self, run):
        broken = {"on": True}

        def down(request):
            return "400" if broken["on"] and request.body["model"] == "bee" and not is_ranking(request.body) else None

        with LLMServer(answer=answer, faults=down) as server:
            first = run("peers", *command(server))
            assert first.exit_code == 1
            assert {len(one["candidates"]) for one in lines("b.jsonl")} == {2}
            broken["on"] = False
            second = run("peers", *command(server))
        assert second.exit_code == 0
        ballots = lines("b.jsonl")
        assert len(ballots) == 18, "the earlier ballots stay"
        assert [len(one["candidates"]) for one in ballots if one["attempt"] == 2] == [3] * 9
        assert "3 questions, 9 ballots" in second.output

    def test_a_ranking_that_is_no_permutation_is_never_mended(self, run):
        def careless(body):
            if is_ranking(body) and body["model"] == "ant":
                return json.dumps({"scores": {}, "analysis": "", "ranking": "A0 > A0 > A1"})
            return answer(body)

        with LLMServer(answer=careless) as server:
            done = run("peers", *command(server))
            asked = server.count
            run("peers", *command(server))
            assert server.count == asked, "a reply that came stands, of use or not"
        assert done.exit_code == 1
        failed = [one for one in lines("b.jsonl") if one["status"] == "failed"]
        assert {(one["evaluator"], one["failure"]["kind"]) for one in failed} == {("ant", "bad_reply")}

    def test_bad_question_lines_are_told_and_the_rest_is_asked(self, run):
        with LLMServer(answer=answer) as server:
            flags = command(server)
            with Path("questions.jsonl").open("a") as file:
                file.write('nonsense\n{"id": "q9", "question": " "}\n')
            done = run("peers", *flags)
            with pytest.raises(BadLineError, match=r"questions\.jsonl:4"):
                run("peers", *flags, "--strict")
        assert done.exit_code == 0
        assert "questions.jsonl:4" in done.output
        assert "2 lines of questions.jsonl are no questions" in done.output


class TestBadInput:
    def test_one_model(self, run):
        with pytest.raises(ConfigurationError, match="at least two models"):
            run("peers", "--questions", questions(1), "--model", "vllm:x", "--out", "b.jsonl")

    def test_no_out(self, run):
        done = run("peers", "--questions", questions(1), "--model", "vllm:x", "--model", "vllm:y")
        assert done.exit_code == 2
        assert "give --out BALLOTS.jsonl" in done.output

    def test_one_id_for_two_questions_or_no_question(self, run):
        two = '{"id": "q", "question": "a"}\n{"id": "q", "question": "b"}\n'
        for text, message in (
            (two, r"q\.jsonl:2: the id 'q' is used for two"),
            ('{"id": "q"}\n', "contains no question"),
        ):
            Path("q.jsonl").write_text(text)
            with pytest.raises(InputError, match=message):
                run("peers", "--questions", "q.jsonl", "--model", "vllm:x", "--model", "vllm:y", "--out", "b.jsonl")


def test_an_evaluator_ranks_and_is_not_ranked(run):
    with LLMServer(answer=answer) as server:
        judge = f"owl=openai:owl@{server.url}"
        done = run("peers", *command(server, 3, NAMES[:3], "--evaluator", judge, "--json-out", "o.json"))
        assert done.exit_code == 0, done.output
        asked = [one["model"] for one in server.bodies]
        assert asked.count("owl") == 3  # a ballot for each question, no answer
        with pytest.raises(ConfigurationError, match="as a model and as an evaluator"):
            run("peers", *command(server, 3, NAMES[:3], "--evaluator", f"ant=openai:ant@{server.url}"))
    found = json.loads(Path("o.json").read_text())
    assert (found["evaluators"], found["models"]) == (sorted([*NAMES[:3], "owl"]), sorted(NAMES[:3]))
    assert found["ballots"] == 12
    assert "$0.0000" not in done.output
    assert "cost unknown" in done.output


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

    def test_hostile_names_stay_text(self, run):
        names = ("<script>alert(1)</script>", "a|b", "\x1b[31mred", "normal")
        write(ballots(4, names=names, phi=0.5))
        done = run("peers", "--rankings", "ballots.jsonl", *QUICK, "--report", "o.html", "--report", "o.md")
        assert done.exit_code == 0
        assert "\x1b" not in done.output
        assert "<script>" not in Path("o.html").read_text()


class TestBadRankings:
    def test_ballots_are_never_written_over(self, run):
        Path("b.jsonl").write_text('{"question_id": "q", "evaluator": "x", "ranking": ["a", "b"]}\n')
        with pytest.raises(InputError, match="would be overwritten"):
            run("peers", "--rankings", "b.jsonl", "--json-out", "b.jsonl")
        assert "ranking" in Path("b.jsonl").read_text()
