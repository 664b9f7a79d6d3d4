"""``metajudge vet --prompt-version``, and what ``--dry-run`` counts of what the store has."""

import json

import pytest

from metajudge.prompts.versions import NEWEST
from metajudge.readers import write_jsonl
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.prompt_sets import NEXT, next_set


@pytest.fixture
def given(tmp_path):
    write_jsonl(tmp_path / "judgments.jsonl", [judgment(f"j{number}") for number in range(4)])
    (tmp_path / "next").mkdir()
    with next_set(tmp_path / "next"):
        yield tmp_path / "judgments.jsonl"


def panel(server, folder, *lines):
    agents = [
        f'[[agents]]\nname = "a{n}"\nmodel = "openai:m{n}@{server.url}"\nprice = {{ input = 1, output = 1 }}'
        for n in range(2)
    ]
    (folder / "panel.toml").write_text("\n".join([*lines, *agents]))
    return ("--config", folder / "panel.toml")


def priced(run, *arguments):
    done = run("vet", *arguments, "--dry-run", "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_dry_run_prices_what_is_not_stored_and_a_change_of_the_set(run, given, tmp_path):
    with LLMServer(score_answer(5)) as server:
        asked = panel(server, tmp_path, f"prompt_version = {NEWEST}")
        before = priced(run, given, *asked)
        assert not (tmp_path / "metajudge.db").exists()
        assert run("vet", given, *asked, "--limit", 3).exit_code == 0
        rest, change = priced(run, given, *asked), priced(run, given, *asked, "--prompt-version", NEXT)
        pinned = priced(run, given, *panel(server, tmp_path, f"prompt_version = {NEXT}"))
        assert server.count == 6
        assert run("vet", given, *asked, "--prompt-version", NEXT).exit_code == 0
        assert server.count == 14
        after = priced(run, given, *asked, "--prompt-version", NEXT)
    seen = [(one["prompt_version"], one["stored"], one["calls"]) for one in (before, rest, change, pinned, after)]
    assert seen == [(NEWEST, 0, 8), (NEWEST, 3, 2), (NEXT, 0, 8), (NEXT, 0, 8), (NEXT, 4, 0)]
    assert 0 == after["cost_usd"] < rest["cost_usd"] < before["cost_usd"] < change["cost_usd"]


def test_what_ended_without_a_score_is_not_stored(run, given, tmp_path):
    with LLMServer(lambda _: "prose") as server:
        asked = panel(server, tmp_path)
        run("vet", given, *asked)
        assert priced(run, given, *asked)["stored"] == 0


def test_a_policy_asks_every_agent_and_counts_as_stored_what_was_asked_so(run, given, tmp_path):
    with LLMServer(score_answer(5)) as server:
        asked = (*panel(server, tmp_path), "--policy", "verdict_score")
        run("vet", given, *asked)
        assert priced(run, given, *asked)["stored"] == 4
        assert priced(run, given, *asked[:2], "--no-early-exit")["stored"] == 4
        assert priced(run, given, *asked[:2])["stored"] == 0


def test_a_store_that_cannot_be_read_is_said_and_counts_for_nothing(run, given, tmp_path):
    (tmp_path / "metajudge.db").write_text("no store")
    done = run("vet", given, "--agent", "openai:gpt-4o-mini", "--dry-run")
    assert done.exit_code == 0
    assert "0 of them stored" in done.stdout
    assert "the estimate does not include stored results" in done.stderr
