"""``metajudge judge`` beyond single games: grades, references, combined verdicts."""

import json
from pathlib import Path

import click
import pytest

from metajudge.readers import open_judgments
from tests.cli.test_judge import answer, judges
from tests.doubles.jsonl import lines
from tests.doubles.judging import item, verdict
from tests.doubles.llm_server import LLMServer


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    given = [item(f"i{number}", label="A>B", reference=f"reference {number}") for number in range(3)]
    path.write_text("".join(one.model_dump_json(exclude_none=True) + "\n" for one in given))
    return path


def graded(_body):
    return json.dumps({"reasoning": "Right.", "grade": 8})


def test_every_judge_grades_every_response_alone_and_vet_reads_it(run, items):
    with LLMServer(answer=graded) as server:
        done = run("judge", items, *judges(server), "--grade", "--out", "out.jsonl", "--store", "s.duckdb")
        assert server.count == 12
    assert done.exit_code == 0, done.output
    assert "grades" in done.output
    found = list(open_judgments(["out.jsonl"]))
    assert [one.id for one in found[:4]] == [
        "i0/mini/A", "i0/mini/B", "i0/claude-sonnet-4-5/A", "i0/claude-sonnet-4-5/B",
    ]  # fmt: skip
    assert all(one.verdict.value == 8.0 and len(one.order) == 1 for one in found)
    with LLMServer() as server:
        vetted = run(
            "vet", "out.jsonl", "--agent", f"openai:gpt-4o@{server.url}", "--store", "s.duckdb", "--out", "v.jsonl"
        )
        assert server.count == 6  # two judges said the same of each response: one call for both
        assert "five" not in json.dumps(server.bodies[0]["messages"])
    assert vetted.exit_code == 0, vetted.output


def test_a_second_grading_run_makes_no_call_and_writes_the_same_bytes(run, items):
    with LLMServer(answer=graded) as server:
        run("judge", items, *judges(server), "--grade", "--out", "one.jsonl")
        run("judge", items, *judges(server), "--grade", "--out", "two.jsonl")
        assert server.count == 12
    assert Path("one.jsonl").read_bytes() == Path("two.jsonl").read_bytes()


def test_judges_see_the_reference_only_when_guided_by_it(run, items):
    for flags, seen in (((), False), (("--with-reference",), True)):
        with LLMServer(answer=answer("A>B")) as server:
            run("judge", items, *judges(server), *flags, "--out", "out.jsonl", "--store", f"{seen}.duckdb")
            assert all(("reference" in json.dumps(body["messages"])) == seen for body in server.bodies)


def test_both_games_are_kept_apart_and_combined_by_the_named_rule(run, items):
    """A judge that always prefers what it sees first: the games differ, and agree on nothing."""
    with LLMServer(answer=answer("A>B")) as server:
        done = run("judge", items, *judges(server), "--out", "out.jsonl", "--combined", "c.jsonl", "--rule", "agree")
    assert "6 verdicts were combined from the games of both orders." in done.output
    assert len(lines("out.jsonl")) == 12
    found = list(open_judgments(["c.jsonl"]))
    assert [one.id for one in found[:2]] == ["i0/mini/agree", "i0/claude-sonnet-4-5/agree"]
    assert all(str(one.verdict) == "A=B" for one in found)
    assert found[0].meta["games"] == {"i0/mini/given": "A>B", "i0/mini/swapped": "B>A"}
    assert found[0].meta["rule"] == "agree"


def test_a_lost_game_makes_no_combined_verdict(run, items):
    with LLMServer(answer=lambda _body: verdict("A=B"), faults=["400"]) as server:
        done = run("judge", items, *judges(server), "--out", "out.jsonl", "--combined", "c.jsonl", "--concurrency", "1")
    assert done.exit_code == 1
    assert [one["id"] for one in lines("c.jsonl")][:1] == ["i0/claude-sonnet-4-5/agree"]
    assert len(lines("c.jsonl")) == 5


@pytest.mark.parametrize("flags", [("--grade",), ("--orders", "given")])
def test_combining_needs_both_games(run, items, flags):
    done = run("judge", items, "--judge", "vllm:x", "--out", "o.jsonl", "--combined", "c.jsonl", *flags)
    assert done.exit_code == 2
    assert "both games of a pair" in click.unstyle(done.output)


def test_a_dry_run_counts_gradings(run, items):
    done = run("judge", items, "--judge", "openai:gpt-4o-mini", "--grade", "--out", "o.jsonl", "--dry-run", "--json")
    assert json.loads(done.output)["judgments"] == 6
