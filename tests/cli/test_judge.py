"""``metajudge judge`` as a user runs it: resumption, failures, unknown prices, bad input."""

import json
from pathlib import Path

import click
import pytest

from metajudge.errors import BadLineError, ConfigurationError, InputError
from metajudge.readers import write_jsonl
from tests.doubles.jsonl import lines
from tests.doubles.judging import item, verdict
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "judgments.jsonl"


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    given = [item(f"i{number}", label="A>B") for number in range(6)]
    path.write_text("".join(one.model_dump_json(exclude_none=True) + "\n" for one in given))
    return path


def judges(server):
    return ("--judge", f"mini=openai:gpt-4o-mini@{server.url}", "--judge", f"anthropic:claude-sonnet-4-5@{server.url}")


def answer(mark):
    return lambda _body: verdict(mark)


class TestRecords:
    def test_items_of_judgments_are_judged_once(self, run, tmp_path):
        write_jsonl(
            tmp_path / "in.jsonl", [judgment(f"j{n}", item_id="i", question="q", judge=f"x{n}") for n in range(5)]
        )
        with LLMServer(answer=answer("A>B")) as server:
            run("judge", "in.jsonl", *judges(server), "--out", "out.jsonl")
            assert server.count == 4


class TestResumption:
    def test_failed_calls_leave_no_record_are_listed_and_asked_again(self, run, items):
        with LLMServer(answer=answer("A>B"), faults=["400", "400-context", "413"]) as server:
            done = run("judge", items, *judges(server), "--out", "out.jsonl", "--json", "--concurrency", "1")
            summary = json.loads(done.output.splitlines()[-1])
            assert done.exit_code == 1
            assert (summary["judgments"], summary["failed"]) == (21, 3)
            assert summary["failures"] == {"bad_request": 1, "context_too_long": 2}
            assert len(lines("out.jsonl")) == 21
            told = lines("out.jsonl.failures.jsonl")
            assert [one["judgment_id"] for one in told] == [
                "i0/mini/given", "i0/mini/swapped", "i0/claude-sonnet-4-5/given",
            ]  # fmt: skip
            asked = server.count
            again = run("judge", items, *judges(server), "--out", "out.jsonl")
            assert server.count == asked + 3
        assert again.exit_code == 0
        assert len(lines("out.jsonl")) == 24
        assert not Path("out.jsonl.failures.jsonl").exists()

    def test_refusals_and_prose_are_judgments_without_a_verdict(self, run, items):
        prose = iter([*["I like A."] * 2, *[verdict("A>B")] * 100])
        with LLMServer(answer=lambda _body: next(prose), faults=[None, None, "refusal"]) as server:
            arguments = ("judge", items, *judges(server), "--limit", "1", "--concurrency", "1", "--out", "out.jsonl")
            done = run(*arguments, "--json")
            summary = json.loads(done.output.splitlines()[-1])
            assert run(*arguments, "--json").exit_code == 0
            assert server.count == 5, "what was answered is not asked again"
        assert done.exit_code == 0
        assert summary["no_verdict"] == {"bad_reply": 1, "refused": 1}
        found = lines("out.jsonl")
        assert [one["verdict"] for one in found[2:]] == ["A>B", "B>A"]
        assert "the judge gave no verdict" in found[0]["no_verdict"]
        assert found[0]["rationale"] == "I like A."
        assert "declined to answer" in found[1]["no_verdict"]
        assert [one["meta"]["attempts"] for one in found] == [2, 1, 1, 1]


class TestDryRun:
    def test_rejudging_is_priced_with_two_calls_an_agent(self, run):
        flags = ("--agent", "openai:gpt-4o-mini", "--agent", "anthropic:claude-sonnet-4-5", "--strategy", "rejudge")
        estimate = json.loads(run("vet", SAMPLE, *flags, "--dry-run", "--json").output)
        asked = estimate["judgments"] - estimate["without_verdict"]
        assert estimate["calls"] == 4 * asked
        assert estimate["by_agent"]["gpt-4o-mini"]["calls"] == 2 * asked


class TestBadInput:
    def test_a_dollar_budget_with_an_unknown_price_is_refused_before_anything_is_sent(self, run, items):
        with LLMServer() as server:
            with pytest.raises(ConfigurationError, match=r"price of own .* is unknown"):
                run("judge", items, "--judge", f"openai:own@{server.url}", "--budget-usd", "1", "--out", "out.jsonl")
            assert server.count == 0

    def test_bad_lines_are_counted_and_written_down_and_the_rest_is_judged(self, run, items):
        with items.open("a") as file:
            file.write('nonsense\n{"id": "x", "question": "q", "responses": {"A": "1"}}\n')
        with LLMServer(answer=answer("A>B")) as server:
            done = run("judge", items, *judges(server), "--out", "out.jsonl")
            asked = server.count
            with pytest.raises(BadLineError, match="first of 2 bad lines"):
                run("judge", items, *judges(server), "--out", "o.jsonl", "--store", "o.duckdb", "--strict")
            assert server.count == asked
        assert done.exit_code == 0
        assert [one["line"] for one in lines("out.jsonl.rejects.jsonl")] == [7, 8]
        assert len(lines("out.jsonl")) == 24

    def test_an_output_that_is_the_input_is_refused_and_the_input_is_left_alone(self, run, items):
        before = items.read_bytes()
        with pytest.raises(InputError, match="is read and would be overwritten"):
            run("judge", items, "--judge", "vllm:x", "--out", items)
        with pytest.raises(InputError, match="is named for two outputs"):
            run("judge", items, "--judge", "vllm:x", "--out", "o.jsonl", "--combined", "./o.jsonl")
        assert items.read_bytes() == before

    @pytest.mark.parametrize(
        ("flags", "said"),
        [
            (("--rule", "sum"), "--combined"),
            (("--combined", "c.jsonl", "--grade"), "both games of a pair"),
            (("--combined", "c.jsonl", "--orders", "given"), "both games of a pair"),
        ],
    )
    def test_what_cannot_be_combined_is_refused_not_dropped(self, run, items, flags, said):
        done = run("judge", items, "--judge", "vllm:x", "--out", "out.jsonl", *flags)
        assert done.exit_code == 2
        assert said in click.unstyle(done.output)


def test_a_lost_game_makes_no_combined_verdict(run, items):
    with LLMServer(answer=answer("A=B"), faults=["400"]) as server:
        done = run("judge", items, *judges(server), "--out", "out.jsonl", "--combined", "c.jsonl", "--concurrency", "1")
    assert done.exit_code == 1
    assert [one["id"] for one in lines("c.jsonl")][:1] == ["i0/claude-sonnet-4-5/agree"]
    assert len(lines("c.jsonl")) == 11
