"""The prompt set of tasks other than vetting: every form thinks before it scores; what is stored is not bought again."""

import json

import pytest

from metajudge.agents.schema import output_schema
from metajudge.clashes.run import clash
from metajudge.judging.blinding import blind
from metajudge.judging.criteria import GENERIC
from metajudge.judging.judges import GRADING_SCHEMA, SCHEMA, RankingForm, ranking_request, templates_digest
from metajudge.judging.run import grade_items, judge_items
from metajudge.panels.config import panel_config
from metajudge.peers.run import run_peers
from metajudge.prompts.reply_form import ReplyForm
from metajudge.prompts.versions import FIRST, NEWEST, prompt_sets
from metajudge.rubric import load_rubric
from metajudge.session import Session
from tests.doubles.judging import item
from tests.doubles.llm_server import LLMServer, requested_schema
from tests.doubles.ranking import shown_in


def answer(body):
    schema = requested_schema(body)
    if schema is None:
        return "An answer."
    known = schema["properties"]
    if "verdict" in known:
        return json.dumps({"reasoning": "r", "verdict": "A>B"})
    if "grade" in known:
        return json.dumps({"reasoning": "r", "grade": 7})
    labels = list(shown_in(body["messages"][-1]["content"]))
    found = {"analysis" if "analysis" in known else "comparison": "r", "ranking": " > ".join(labels)}
    if "scores" in known:
        rows = known["scores"]["properties"]
        found["scores"] = {
            label: {key: {"reason": "", "score": 4} for key in row["properties"]} for label, row in rows.items()
        }
    return json.dumps(found)


@pytest.fixture
def server():
    with LLMServer(answer=answer) as server:
        yield server


async def judged(session):
    await judge_items(session, [item()])


async def graded(session):
    await grade_items(session, [item()])


async def clashed(session):
    await clash(session, [item()])


async def peered(session):
    await run_peers(session, ["Why?"])


TASKS = [judged, graded, clashed, peered]


async def run(task, server, store, **panel):
    agents = [{"model": f"openai:{name}@{server.url}", "price": {"input": 0, "output": 0}} for name in "xyz"]
    said = []
    async with Session(panel=panel_config({"agents": agents, **panel}), store=store, notify=said.append) as session:
        await task(session)
    return [one for one in said if "prompt version" in one]


@pytest.mark.parametrize("task", TASKS)
async def test_a_stored_run_is_continued_under_its_set_until_the_newest_is_asked_for(task, server, tmp_path):
    store = tmp_path / "s.db"
    assert await run(task, server, store, prompt_version=FIRST) == []
    asked = server.count
    (notice,) = await run(task, server, store)
    assert server.count == asked, "no stored reply is bought again"
    assert notice.startswith("prompt version 1 is used, because the store has runs by this panel under it")
    assert "--prompt-version newest" in notice
    assert await run(task, server, store, prompt_version="newest") == []
    moved = server.count
    assert moved > asked
    assert await run(task, server, store) == [], "the newest run counts"
    assert server.count == moved


@pytest.mark.parametrize("task", TASKS)
async def test_a_new_store_and_another_panel_get_the_newest_set(task, server, tmp_path):
    store = tmp_path / "s.db"
    assert await run(task, server, store) == []
    systems = [body["messages"][0]["content"] for body in server.bodies if requested_schema(body) is not None]
    assert systems, "judges were asked"
    digits = {len(part.split("⟧")[0]) for body in server.bodies for part in str(body).split("⟦BEGIN question ")[1:]}
    assert digits <= {16}, "fences of a later set than the first"


@pytest.mark.parametrize(("task", "records"), [(clash, "c.jsonl"), (run_peers, "b.jsonl")])
async def test_a_file_is_continued_under_the_set_it_was_made_by(task, records, server, tmp_path):
    out = tmp_path / records
    given = [item()] if task is clash else ["Why?"]

    async def go(session):
        await task(session, given, out=out)

    await run(go, server, None, prompt_version=FIRST)
    asked = server.count
    (notice,) = await run(go, server, None)
    assert "the file that is continued has results" in notice
    assert server.count == asked


def first_property(schema):
    return next(iter(schema.schema["properties"]))


def test_every_form_of_reply_opens_with_text_that_is_not_scored():
    texts = {"a": "x", "b": "y"}
    labels = blind(texts, seed=0, evaluation="e", judge="j")
    for criteria in ((), GENERIC):
        asked = ranking_request("Why?", texts, labels, criteria, RankingForm(prompt_version=NEWEST, analysis_words=77))
        assert first_property(asked.schema) == "analysis"
        assert "at most 77 words" in asked.system
        assert list(asked.schema.schema["properties"])[-1] == "ranking"
    assert first_property(SCHEMA) == first_property(GRADING_SCHEMA) == "reasoning"
    assert first_property(output_schema(load_rubric("short"), ReplyForm(analysis=True))) == "analysis"
    assert [templates_digest(version) for version in prompt_sets()].count(templates_digest(NEWEST)) == 1


async def test_the_length_of_an_analysis_is_a_setting_of_the_panel(server):
    await run(clashed, server, None, analysis_words=80)
    await run(peered, server, None, analysis_words=80)
    ranking = [body for body in server.bodies if "ranking" in (requested_schema(body) or {}).get("properties", {})]
    assert ranking
    assert all("at most 80 words" in body["messages"][0]["content"] for body in ranking)
