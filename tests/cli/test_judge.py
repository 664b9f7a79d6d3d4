"""``metajudge judge`` as a user runs it: resumption, failures, unknown prices, bad input."""

import json
from pathlib import Path

import pytest

from metajudge.errors import BadLineError, ConfigurationError, InputError
from metajudge.reading import write_jsonl
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
    def test_a_budget_keeps_what_is_done_and_the_next_run_goes_on(self, run, items):
        with LLMServer(answer=answer("A>B")) as server:
            flags = ("judge", items, *judges(server)[:2], "--concurrency", "1", "--out", "out.jsonl")
            done = run(*flags, "--budget-usd", "0.002")
            assert done.exit_code == 3, done.output
            assert "The budget is spent. Run the same command with a larger budget" in done.output
            some = len(lines("out.jsonl"))
            assert 0 < some < 12
            assert run(*flags).exit_code == 0
            assert server.count == 12
        assert len(lines("out.jsonl")) == 12


class TestDryRun:
    def test_an_unknown_price_is_said(self, run, items):
        done = run("judge", items, "--judge", "vllm:own", "--orders", "given", "--out", "out.jsonl", "--dry-run")
        assert "6 judgments" in done.output
        assert "cost unknown" in done.output
        assert "Unknown price for own" in done.output

    def test_rejudging_is_priced_with_two_calls_an_agent(self, run):
        flags = ("--agent", "openai:gpt-4o-mini", "--agent", "anthropic:claude-sonnet-4-5", "--strategy", "rejudge")
        estimate = json.loads(run("vet", SAMPLE, *flags, "--dry-run", "--json").stdout)
        asked = estimate["judgments"] - estimate["without_verdict"]
        assert estimate["calls"] == 4 * asked
        assert estimate["by_agent"]["gpt-4o-mini"]["calls"] == 2 * asked


class TestBadInput:
    def test_a_dollar_budget_with_an_unknown_price_is_refused_before_anything_is_sent(self, run, items):
        with LLMServer() as server:
            with pytest.raises(ConfigurationError, match=r"price of own .* is unknown"):
                run("judge", items, "--judge", f"openai:own@{server.url}", "--budget-usd", "1", "--out", "out.jsonl")
            assert server.count == 0

    def test_one_id_with_two_contents_is_refused_before_anything_is_sent(self, run, items):
        with items.open("a") as file:
            file.write(item("i0", first="other").model_dump_json() + "\n")
        with LLMServer() as server:
            with pytest.raises(InputError, match="item 'i0' has one content at"):
                run("judge", items, *judges(server), "--out", "out.jsonl")
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

    def test_no_pair_at_all(self, run, tmp_path):
        (tmp_path / "one.jsonl").write_text('{"id": "x", "question": "q", "responses": {"A": "1"}}\n')
        with pytest.raises(InputError, match=r"no item with two responses: one\.jsonl:1: item 'x' has 1 responses"):
            run("judge", "one.jsonl", "--judge", "vllm:x", "--out", "out.jsonl")

    def test_an_output_that_is_a_folder_the_input_or_another_output_is_refused_and_the_input_left_alone(
        self, run, items, tmp_path
    ):
        before = items.read_bytes()
        for outputs, said in (
            (("--out", tmp_path), "is a folder"),
            (("--out", items), "is read and would be overwritten"),
            (("--out", "o.jsonl", "--combined", "./o.jsonl"), "is named for two outputs"),
        ):
            with pytest.raises(InputError, match=said):
                run("judge", items, "--judge", "vllm:x", *outputs)
        assert items.read_bytes() == before

    def test_a_rule_without_a_file_to_combine_into_is_refused_not_dropped(self, run, items):
        done = run("judge", items, "--judge", "vllm:x", "--out", "out.jsonl", "--rule", "sum")
        assert done.exit_code == 2
        assert "--combined" in done.output
