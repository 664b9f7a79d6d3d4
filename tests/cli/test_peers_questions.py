"""``metajudge peers --questions`` against a server: blind ballots, resumption, failures."""

import json
import re
import signal
from pathlib import Path

import pytest

from metajudge.errors import ConfigurationError
from tests.doubles.jsonl import lines
from tests.doubles.llm_server import LLMServer
from tests.doubles.waiting import until
from tests.peers.elections import NAMES
from tests.peers.fake_models import answer, is_ranking, said

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


def test_ballots_are_blind_and_the_file_alone_gives_the_same_findings(run):
    human = ("--human", "arena: " + " > ".join(NAMES), "--top-k", 3)
    with LLMServer(answer=answer) as server:
        flags = ("--questions", questions(6), *models(server), "--out", "b.jsonl", *human)
        assert run("peers", *flags, "--json-out", "o.json").exit_code == 0
        asked = [said(body) for body in server.bodies if is_ranking(body)]
    ballots = lines("b.jsonl")
    assert len(asked) == len(ballots) == 36
    for text in asked:
        assert text.count("As [name hidden] I answer") == 6, "its own answer included"
        assert not re.search(rf"\b({'|'.join(NAMES)})\b", text)
    assert all(set(one["labels"].values()) == set(NAMES) for one in ballots)
    assert len({tuple(one["labels"].values()) for one in ballots}) > 25, "another order for each evaluator and question"
    criteria = {one["question_id"]: one["meta"].get("criteria") for one in ballots}
    assert [criteria[f"q{n}"] for n in range(3)] == ["math", "writing", None]
    run("peers", "--rankings", "b.jsonl", *human, "--json-out", "again.json")
    found, again = (json.loads(Path(name).read_text()) for name in ("o.json", "again.json"))
    assert {**found, "provenance": {}} == {**again, "provenance": {}}


class TestResumption:
    def test_more_questions_go_on_in_the_same_file(self, run):
        with LLMServer(answer=answer) as server:
            run("peers", *command(server, 2))
            done = run("peers", *command(server, 3))
            assert server.count == 18
        assert "3 questions, 9 ballots" in done.output

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
    def test_a_run_that_is_stopped_goes_on_and_loses_no_ballot_that_was_written(self, metajudge, how):
        interrupted = how is signal.SIGINT
        with LLMServer(answer=answer, latency_s=0.1) as server:
            given = questions(8, metajudge.folder / "questions.jsonl")
            flags = ("peers", "--questions", given, *models(server), "--out", "b.jsonl", "--resamples", 0)
            process = metajudge.start(*flags, "--concurrency", 4)
            log = metajudge.folder / "b.jsonl"
            until(lambda: log.exists() and log.read_bytes().count(b"\n") > 5)
            process.send_signal(how)
            out, _ = process.communicate(timeout=30)
            assert process.returncode == (130 if interrupted else -9)
            assert ("Interrupted. Run the same command again" in out) == interrupted
            kept = log.read_bytes().rpartition(b"\n")[0]
            done = metajudge(*flags)
            assert done.returncode == 0, done.stderr
            assert log.read_bytes().startswith(kept)
            assert len(lines(log)) == 48
            assert 96 <= server.count <= 96 + (0 if interrupted else 8), "only what was in flight is asked twice"


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
                return json.dumps({"scores": {}, "comparison": "", "ranking": "A0 > A0 > A1"})
            return answer(body)

        with LLMServer(answer=careless) as server:
            done = run("peers", *command(server))
            asked = server.count
            run("peers", *command(server))
            assert server.count == asked, "a reply that came stands, of use or not"
        assert done.exit_code == 1
        failed = [one for one in lines("b.jsonl") if one["status"] == "failed"]
        assert {(one["evaluator"], one["failure"]["kind"]) for one in failed} == {("ant", "bad_reply")}


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
