"""A file of agents' trajectories through vet, judge, audit and export; answers are paid for once, whatever ids are."""

import json

import pytest

from tests.doubles.llm_server import LLMServer
from tests.exports.vetted import rows_of

TOWNS = ["Oslo", "Rome", "Kyiv", "Lima"]


def side(town, degrees):
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": f'{{"town":"{town}"}}'}}
    return [
        {"role": "system", "content": "Use the tools."},
        {"role": "user", "content": "How warm is it?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": f"{degrees} C"},
        {"role": "assistant", "content": "It is as the tool says."},
    ]


ROWS = [
    {"judge": judge, "winner": "A", "label": "AB"[place % 2], "conversation_a": side(town, 1), "conversation_b": side(town, 2)}
    for judge in ("owl", "jay")
    for place, town in enumerate(TOWNS)
]  # fmt: skip


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LLMServer() as server:
        yield server


def prompts(server):
    return [json.dumps(one.body["messages"]) for one in server.requests]


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path.name


def test_trajectories_stay_whole_from_file_to_prompt_audit_and_export(run, server, tmp_path):
    name, agent = written(tmp_path / "t.jsonl", ROWS), f"openai:m@{server.url}"
    audited = run("audit", name, "--json")
    assert audited.exit_code == 0, audited.output
    # The texts of an answer are all the same: its call and what the tool said tell items apart.
    assert json.loads(audited.stdout)["holdings"]["items"] == 4
    vetted = run("vet", name, "--agent", agent, "--json", "--store", "s.db", "--out", "out.jsonl")
    assert vetted.exit_code == 0, vetted.output
    judged = run("judge", name, "--judge", agent, "--out", "judged.jsonl")
    assert judged.exit_code == 0, judged.output
    for town in TOWNS:
        asked = [one for one in prompts(server) if town in one]
        assert len(asked) == 1 + 2, town  # two judges say the same, which is vetted once; both orders are judged
        assert all("weather" in one and "1 C" in one and "2 C" in one and "Use the tools." in one for one in asked)
    exported = run("export", "preferences", "--store", "s.db", "--out", "dpo", "--format", "trl", "--all")
    assert exported.exit_code == 0, exported.output
    rows = rows_of(tmp_path / "dpo")
    assert rows
    assert {tuple(one["role"] for one in row["chosen"]) for row in rows} == {("assistant", "tool", "assistant")}


def test_new_ids_buy_no_answer_again(run, server, tmp_path):
    agent = f"openai:m@{server.url}"
    first = run("vet", written(tmp_path / "a.jsonl", ROWS), "--agent", agent, "--json", "--store", "s.db")
    assert first.exit_code == 0, first.output
    paid = server.count
    assert paid == len(TOWNS)
    named = [{"id": f"new-{n}", "item_id": f"i{n % 4}", **row} for n, row in enumerate(ROWS)]
    again = run("vet", written(tmp_path / "b.jsonl", named), "--agent", agent, "--json", "--store", "s.db")
    assert again.exit_code == 0, again.output
    assert server.count == paid
