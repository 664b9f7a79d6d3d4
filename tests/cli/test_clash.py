"""``metajudge clash`` as a user runs it: against a server of both protocols, resumed, killed, with wrong input."""

import json
import signal
import time
from pathlib import Path

import pytest

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.run import ClashTotals
from metajudge.cli.clash_report import (
    best_answers,
    took,
)
from metajudge.errors import InputError
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.llm_server import LLMServer, requested_schema, score_answer
from tests.doubles.ranking import criteria_answer, panel, question, ranks_by, shown_in

PROMPT = "Explain entanglement to a child."


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
    return json.dumps({"scores": scores, "comparison": "By length.", "ranking": order})


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


class TestFiles:
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
            deadline = time.monotonic() + 60
            while server.count < 30 and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(how)
            process.communicate(timeout=60)
            assert process.returncode == (130 if how is signal.SIGINT else -9)
            done = metajudge(*command)
            assert done.returncode == 0, done.stderr
            assert 90 <= server.count <= 90 + 6
        found = records(metajudge.folder / "clash.jsonl")
        assert sorted(one.id for one in found) == sorted(f"q{n}" for n in range(30))


class TestWrongInput:
    def test_prompts_are_never_written_over(self, run):
        write_items("items.jsonl")
        for option in ("--out", "--judgments", "--json-out"):
            outputs = {"--out": "o.jsonl", option: "items.jsonl"}
            flags = [part for pair in outputs.items() for part in pair]
            with pytest.raises(InputError, match="would be overwritten"):
                run("clash", "items.jsonl", "--judge", "vllm:j", "--responses", "given", *flags)
        assert len(Path("items.jsonl").read_text().splitlines()) == 4


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
