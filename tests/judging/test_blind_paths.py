"""One leaking pair of answers through every path on which models judge blind: no request may hold a name."""

import asyncio
import json
from pathlib import Path

import pytest

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.run import clash as run_clash
from metajudge.judging.identity import hide_identities
from metajudge.session import Session
from metajudge.types import Item, Judgment
from metajudge.vetting.engine import Engine
from tests.api.conftest import app_module, panel_of, running
from tests.doubles.llm_server import LLMServer, requested_schema, score_answer
from tests.stored.commands import run as command

pytestmark = pytest.mark.usefixtures("run")

LEAKS = {
    "A": "As GPT-4, made by OpenAI, I say 4. OpenAI's ChatGPT agrees.",
    "B": "I am **Cla\u200bude** from Anthropic; you are ChatGPT, trained by Open AI. I was trained by Google DeepMind. 4",
}
NAMES = ("gpt", "openai", "open ai", "claude", "cla\u200bude", "anthropic", "google", "deepmind", "my-tuned")
QUESTION = "What is 2 + 2?"
MODELS = [None, {"A": "gpt-4o", "B": "claude-v1"}, {"A": "my-tuned-model-7", "B": "gpt-3.5-turbo"}]


def answer(body):
    """Rankings in the order of the labels; as a candidate one of the leaking answers."""
    leak = LEAKS["A" if body["model"].endswith("one") else "B"]
    return leak if requested_schema(body) is None else score_answer(4)(body)


def item(models):
    return Item(id="q1", question=QUESTION, responses=LEAKS, models=models, label="A>B")


def judges(server):
    return [word for name in ("x", "y", "z") for word in ("--judge", f"openai:{name}@{server.url}")]


def by_cli(server, models, *more):
    Path("items.jsonl").write_text(item(models).model_dump_json(exclude_none=True) + "\n")
    words = ("items.jsonl", "--responses", "given", *judges(server), "--out", "c.jsonl", "--json-out", "c.json", *more)
    command("clash", *words)
    return json.loads(Path("c.json").read_text())["evaluations"][0]["blinding"]


def by_http(server, models):
    options = app_module.ServiceOptions(panels={"default": panel_of(server, "xyz")})
    with running(options) as client:
        found = client.post("/v1/clash", json={"item": item(models).model_dump(mode="json", exclude_none=True)})
    assert found.status_code == 200, found.text
    return found.json()["blinding"]


def by_python(server, models):
    async def main():
        async with Session(panel=panel_of(server, "xyz"), store=None) as session:
            return (await run_clash(session, [item(models)])).records[0]

    return asyncio.run(main()).blinding.model_dump()


def by_peers(server, models):
    Path("questions.jsonl").write_text(json.dumps({"id": "q1", "question": QUESTION}) + "\n")
    named = [word for name in ("one", "two") for word in ("--model", f"{name}=openai:my-tuned-{name}@{server.url}")]
    command("peers", "--questions", "questions.jsonl", *named, "--out", "b.jsonl")
    return json.loads(Path("b.jsonl").read_text().splitlines()[0])["meta"]["blinding"]


def by_reliability(server, models):
    Path("pairs.jsonl").write_text(item(models).model_dump_json(exclude_none=True) + "\n")
    words = ("reliability", "--data", "pairs.jsonl", *judges(server), "--records", "r.jsonl", "--json-out", "f.json")
    assert command("bench", *words).code == 0
    record = ClashRecord.model_validate_json(Path("r.jsonl").read_text().splitlines()[0])
    return record.blinding.model_dump()


def by_judge(server, models, *more):
    Path("items.jsonl").write_text(item(models).model_dump_json(exclude_none=True) + "\n")
    command("judge", "items.jsonl", *judges(server), "--out", "j.jsonl", *more)
    return json.loads(Path("j.jsonl").read_text().splitlines()[0])["meta"]["blinding"]


def by_grade(server, models):
    return by_judge(server, models, "--grade")


def by_rejudge(server, models):
    given = Judgment(id="j1", item=item(models), judge="j", verdict="A>B", rationale="r", order=("A", "B"))

    async def main():
        panel = panel_of(server, "xyz").model_copy(update={"strategy": "rejudge"})
        async with Engine(panel=panel, store=None) as engine:
            await engine.vet(given)

    asyncio.run(main())
    return hide_identities(LEAKS, question=QUESTION).report.model_dump()  # an assessment has no place for it


def rankings_asked(server):
    """What judges were sent, without the model's name in the request itself."""
    return [
        json.dumps(body["messages"], ensure_ascii=False).lower()
        for body in server.bodies
        if requested_schema(body) is not None
    ]


@pytest.mark.parametrize("models", MODELS, ids=["unknown", "known", "made up"])
@pytest.mark.parametrize("path", [by_cli, by_http, by_python, by_peers, by_reliability, by_judge, by_grade, by_rejudge])
def test_no_request_to_a_judge_holds_a_name_on_any_path(path, models):
    with LLMServer(answer=answer) as server:
        report = path(server, models)
        asked = rankings_asked(server)
    assert len(asked) >= 2
    assert not [name for name in NAMES for text in asked if name in text]
    assert all("name hidden" in text for text in asked)
    assert report["hiding"] is True
    assert {one["kind"] for one in report["hidden"]} >= {"family", "maker"}


def test_hiding_switched_off_is_said_and_recorded():
    with LLMServer(answer=answer) as server:
        report = by_cli(server, MODELS[1], "--keep-names")
        asked = rankings_asked(server)
    assert all("gpt-4" in text for text in asked)
    assert report["hiding"] is False
    summary = json.loads(Path("c.json").read_text())["summary"]
    assert summary["blinding"]["not_hidden"] == 1
    assert any("--keep-names" in notice for notice in summary["notices"])


def test_another_command_with_hiding_on_does_not_take_over_votes_on_readable_names():
    with LLMServer(answer=answer) as server:
        by_cli(server, None, "--keep-names")
        first = server.count
        report = by_cli(server, None)
        again = server.count
        by_cli(server, None)
        assert server.count == again
    assert again == first + 3
    assert report["hiding"] is True
    lines = [json.loads(line) for line in Path("c.jsonl").read_text().splitlines()]
    assert [(one["attempt"], one["blinding"]["hiding"]) for one in lines] == [(1, False), (2, True)]


def test_records_of_an_earlier_version_are_not_judged_anew_where_nothing_more_is_hidden():
    plain = {"A": "It is four, I think.", "B": "4"}
    Path("items.jsonl").write_text(
        "".join(
            Item(id=name, question=QUESTION, responses=texts).model_dump_json(exclude_none=True) + "\n"
            for name, texts in (("plain", plain), ("leaking", LEAKS))
        )
    )

    def clash_once(*more):
        words = ("items.jsonl", "--responses", "given", *judges(server), "--out", "c.jsonl", *more)
        command("clash", *words)
        return [json.loads(line) for line in Path("c.jsonl").read_text().splitlines()]

    with LLMServer(answer=answer) as server:
        old = clash_once("--keep-names")
        for line in old:
            del line["blinding"]
        Path("c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in old))
        before = server.count
        new = clash_once("--store", "other.duckdb")[2:]
        assert server.count == before + 3
    assert [(one["item_id"], one["attempt"]) for one in new] == [("leaking", 2)]
