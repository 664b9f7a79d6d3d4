"""``metajudge clash`` as a user runs it: against a server of both protocols, resumed, killed, with wrong input."""

import json
import signal
from pathlib import Path

import pytest

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.run import ClashTotals
from metajudge.cli.clash_report import best_answers, took
from metajudge.errors import ConfigurationError, InputError
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.llm_server import LLMServer, requested_schema, score_answer
from tests.doubles.ranking import criteria_answer, panel, question, ranks_by, shown_in
from tests.doubles.waiting import until
from tests.reviewables.planted import in_store

PROMPT = "Explain entanglement to a child."
BOTH = ("--candidate", "vllm:m", "--judge", "vllm:j")


def answer(body):
    """Candidates answer with their name; criteria are named; judges prefer the longest text."""
    schema = requested_schema(body)
    if schema is None:
        return {"small": "short", "large": "a much longer answer"}.get(body["model"], "an answer")
    if "c5" in schema["properties"]:
        return json.dumps(criteria_answer())
    labels = list(schema["properties"]["scores"]["properties"])
    texts = shown_in(body["messages"][-1]["content"])
    order = sorted(labels, key=lambda label: len(texts[label]), reverse=True)
    if body["model"] == "contrary":
        order.reverse()
    scores = json.loads(score_answer(2)(body))["scores"]
    return json.dumps({"scores": scores, "analysis": "By length.", "ranking": order})


def candidates(server):
    return ("--candidate", f"openai:small@{server.url}", "--candidate", f"anthropic:large@{server.url}")


def judges(server, *models):
    models = models or ("openai:one", "anthropic:two", "contrary=openai:contrary")
    return tuple(part for model in models for part in ("--judge", f"{model}@{server.url}"))


def records(path="clash.jsonl"):
    return [ClashRecord.model_validate_json(line) for line in Path(path).read_text().splitlines()]


def write_items(path, count=4, **changes):
    given = [
        {"id": f"q{n}", "question": f"What is {n}?", "responses": {"a": f"long answer {n}", "b": "no"}, **changes}
        for n in range(count)
    ]
    Path(path).write_text("".join(json.dumps(one) + "\n" for one in given))
    return path


class TestOneprompt:
    def test_a_lost_candidate_and_an_empty_one(self, run):
        def silent(body):
            return "" if body["model"] == "small" else answer(body)

        with LLMServer(answer=silent, faults=lambda r: "404" if r.body["model"] == "gone" else None) as server:
            flags = (*candidates(server), "--candidate", f"openai:gone@{server.url}")
            done = run("clash", PROMPT, *flags, *judges(server), "--out", "clash.jsonl")
        assert done.exit_code == 1
        (record,) = records()
        assert record.answered == {"small": "", "large": "a much longer answer"}
        assert "gone: no answer" in done.output
        assert record.winner is not None


class TestFiles:
    def test_a_lost_judge_is_asked_again_and_the_first_attempt_stays(self, run):
        write_items("items.jsonl", 1)
        lost = ["413"]
        fault = lambda request: lost.pop() if lost and request.body["model"] == "one" else None  # noqa: E731
        with LLMServer(answer=answer, faults=fault) as server:
            command = ("clash", "items.jsonl", *judges(server), "--responses", "given", "--out", "clash.jsonl")
            assert run(*command).exit_code == 1
            assert server.count == 3
            assert run(*command).exit_code == 0
            assert server.count == 4
        first, second = records()
        assert (first.attempt, second.attempt, second.key) == (1, 2, first.key)
        assert (first.tally.votes, second.tally.votes) == (2, 3)

    def test_cycles_make_answers_anew(self, run):
        with LLMServer(answer=answer) as server:
            flags = ("--cycles", "2", "--regenerate", "--repeats", "2", "--out", "clash.jsonl")
            done = run("clash", PROMPT, *candidates(server), *judges(server), *flags, "--json-out", "clash.json")
            generated = [body for body in server.bodies if requested_schema(body) is None]
        assert len(generated) == 4
        assert sorted((one.cycle, one.repeat) for one in records()) == [(1, 1), (1, 2), (2, 1), (2, 2)]
        assert "cycles.stable" in done.stdout
        found = json.loads(Path("clash.json").read_text())["cycles"]
        winners = {one.cycle: one.winner for one in records() if one.repeat == 1}
        assert found["cycles.stable"]["value"] == (100.0 if winners[1] == winners[2] else 0.0)
        assert found["cycles.digests"]["n"] == 2

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
    def test_a_run_that_is_stopped_goes_on_without_asking_twice(self, metajudge, how):
        write_items(metajudge.folder / "items.jsonl", 30)
        with LLMServer(answer=answer, latency_s=0.05) as server:
            flags = ("--responses", "given", "--out", "clash.jsonl", "--concurrency", "6")
            command = ("clash", "items.jsonl", *judges(server), *flags)
            process = metajudge.start(*command)
            until(lambda: server.count >= 30, within=60)
            process.send_signal(how)
            process.communicate(timeout=60)
            assert process.returncode == (130 if how is signal.SIGINT else -9)
            done = metajudge(*command)
            assert done.returncode == 0, done.stderr
            assert 90 <= server.count <= 90 + 6
        found = records(metajudge.folder / "clash.jsonl")
        assert sorted(one.id for one in found) == sorted(f"q{n}" for n in range(30))


class TestWrongInput:
    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            ((), "no candidate"),
            (BOTH[:2], "no judge"),
            ((*BOTH, "--candidate", "vllm:m"), "candidate m is given more than once: name them apart"),
            ((*BOTH, "--judge", "vllm:j"), "given more than once"),
            ((*BOTH, "--observers", "--voters"), "give one of them"),
            ((*BOTH, "--cycles", "2"), "add --regenerate"),
            ((*BOTH, "--candidate-weight", "1"), "needs --voters"),
            ((*BOTH, "--quorum", "2"), "quorum of 2"),
            (("--responses", "given", "--judge", "vllm:j", "--observers"), "name their models"),
            ((*BOTH, "--voters", "--candidate-weight", "0"), "has weight 0"),
        ],
    )
    def test_flags_that_make_no_sense_together(self, run, flags, message):
        with pytest.raises(ConfigurationError, match=message):
            run("clash", PROMPT, *flags)

    @pytest.mark.parametrize(
        ("asked", "flags", "message"),
        [
            ("missing.jsonl", BOTH, "no such file"),
            ("empty.jsonl", BOTH, "contains no question"),
            ("twice.jsonl", BOTH, "is used for two questions"),
            (PROMPT, ("--responses", "given", *BOTH[2:]), "takes the responses from a file"),
            (" ", BOTH, "the prompt is empty"),
        ],
    )
    def test_files_that_are_not_there_empty_or_without_responses(self, run, asked, flags, message):
        Path("empty.jsonl").write_text("")
        Path("twice.jsonl").write_text('{"id": "a", "question": "x"}\n{"id": "a", "question": "y"}\n')
        with pytest.raises(InputError, match=message):
            run("clash", asked, *flags, "--out", "c.jsonl")

    def test_a_file_of_prompts_needs_a_file_of_attempts(self, run):
        write_items("items.jsonl")
        assert run("clash", "items.jsonl", *BOTH).exit_code == 2

    def test_prompts_are_never_written_over(self, run):
        write_items("items.jsonl")
        for option in ("--out", "--judgments", "--json-out"):
            outputs = {"--out": "o.jsonl", option: "items.jsonl"}
            flags = [part for pair in outputs.items() for part in pair]
            with pytest.raises(InputError, match="would be overwritten"):
                run("clash", "items.jsonl", "--judge", "vllm:j", "--responses", "given", *flags)
        assert len(Path("items.jsonl").read_text().splitlines()) == 4

    def test_one_candidate_and_twenty_six(self, run):
        with LLMServer(answer=answer) as server:
            done = run(
                "clash", PROMPT, "--candidate", f"openai:small@{server.url}", *judges(server), "--out", "k1.jsonl"
            )
        assert done.exit_code == 0, done.output
        assert records("k1.jsonl")[0].winner == "small"
        many = {f"m{n}": "x" * (n + 1) for n in range(26)}
        Path("many.jsonl").write_text(json.dumps({"id": "q", "question": "?", "responses": many}) + "\n")
        with LLMServer(answer=answer) as server:
            flags = ("--responses", "given", "--out", "k26.jsonl")
            run("clash", "many.jsonl", *judges(server, "openai:one"), *flags)
        (record,) = records("k26.jsonl")
        assert [group[0] for group in record.tally.ranking] == [f"m{n}" for n in range(25, -1, -1)]


class TestOneJudge:
    def test_one_judge_is_never_unanimous_and_one_that_takes_the_first_answer_is_reported(self, run):
        def first(body):
            labels = list(requested_schema(body)["properties"]["scores"]["properties"])
            scores = json.loads(score_answer(2)(body))["scores"]
            return json.dumps({"scores": scores, "analysis": "First.", "ranking": labels})

        with LLMServer(answer=first) as server:
            given = ("--responses", "given", *judges(server, "fond=openai:one"), "--out", "clash.jsonl")
            single = run("clash", write_items("one.jsonl", 1), *given[:-1], "a.jsonl")
            many = run("clash", write_items("q.jsonl", 12), *given, "--json-out", "c.json", "--report", "c.html")
        assert "escalate (one voter cannot agree with itself)" in single.output
        assert "(unanimous)" not in single.output
        assert "100%" not in single.output
        summary = json.loads(Path("c.json").read_text())["summary"]
        assert (summary["unanimous"], summary["escalated"]) == (0, 12)
        (found,) = summary["first_shown"]
        assert (found["first"], found["n"], found["reported"]) == (12, 12, True)
        sentence = "judge fond preferred the answer it was shown first in 12 of 12 evaluations"
        assert sentence in many.output
        assert sentence in found["sentence"]
        assert sentence in Path("c.html").read_text()
        assert "Blinding: no name to hide." in many.output


def test_without_any_call_the_message_says_how_to_get_some(run):
    in_store("s.duckdb", lambda store: store.runs())
    with pytest.raises(InputError, match=r"no call of people on a clash is in the store \(0 reviews wait\)"):
        run("clash", "--compare-people", "--store", "s.duckdb")


class TestBestAnswer:
    async def test_answers_that_share_the_first_place_are_all_printed_and_terminal_codes_are_not(self):
        record = await one(question("q", x="a\x1b[31mb", y="c"), panel(ranks_by(LONG), ranks_by(SHORT)))
        said = "\n".join(best_answers(record))
        assert said.count("Shares the first place") == 2
        assert "\x1b" not in said


class TestCost:
    def test_an_unknown_cost_is_no_zero_and_says_whose_and_how_to_state_it(self):
        totals = ClashTotals()
        totals.calls, totals.cost_usd, totals.known_cost_usd = 3, None, 0.0
        said = took(totals, [])
        assert "an unknown cost" in said
        assert "$0" not in said
        assert "price = { input = USD, output = USD }" in said
