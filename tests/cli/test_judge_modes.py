"""``metajudge judge`` with both games of a pair combined."""

import click
import pytest

from tests.cli.test_judge import judges
from tests.doubles.jsonl import lines
from tests.doubles.judging import item, verdict
from tests.doubles.llm_server import LLMServer


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    given = [item(f"i{number}", label="A>B", reference=f"reference {number}") for number in range(3)]
    path.write_text("".join(one.model_dump_json(exclude_none=True) + "\n" for one in given))
    return path


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
