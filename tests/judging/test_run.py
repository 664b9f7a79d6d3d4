"""Judging on a session: games, records, how the run is recorded, and which prompt set it uses."""

import pytest

from metajudge.agents.schema import output_schema
from metajudge.clashes.run import clash
from metajudge.errors import BadRequestError, BudgetExceeded, ConfigurationError, InputError
from metajudge.judging.blinding import blind
from metajudge.judging.criteria import GENERIC
from metajudge.judging.judges import GRADING_SCHEMA, SCHEMA, RankingForm, ranking_request, templates_digest
from metajudge.judging.run import estimate_judging, grade_items, judge_item, judge_items
from metajudge.panels.config import panel_config
from metajudge.peers.run import run_peers
from metajudge.prompts.reply_form import ReplyForm
from metajudge.prompts.versions import FIRST, NEWEST, prompt_sets
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.session import Session
from metajudge.store import open_store
from metajudge.types import Category, Label
from tests.doubles.judging import item, prefers, verdict
from tests.doubles.llm_server import LLMServer, requested_schema

ITEMS = [item(f"i{number}") for number in range(3)]


def fond(name="fond"):
    return prefers("four", name=name)


def first_shown(name="first"):
    """A judge that prefers whatever it sees first."""
    return ScriptedModel(lambda _request: verdict("A>B"), name=name)


def failing(at=0, name="broken"):
    """A judge that cannot be asked once."""
    asked = iter(range(10**6))
    return ScriptedModel(lambda _request: BadRequestError("no") if next(asked) == at else verdict("A>B"), name=name)


class TestJudgeItems:
    async def test_plain_data_is_an_item_and_anything_else_is_named(self):
        async with Session([fond()]) as session:
            found = await judge_items(session, [ITEMS[0].model_dump(), ITEMS[1]], orders="given")
            assert [one.id for one in found.judgments] == ["i0/fond/given", "i1/fond/given"]
            with pytest.raises(InputError, match=r"item 2 is not valid: .*question"):
                await judge_items(session, [ITEMS[0], {"id": "x"}])
            with pytest.raises(InputError, match="item 1 is a str; give an Item"):
                await judge_items(session, ["x"])

    async def test_a_judge_that_could_not_be_asked_leaves_no_record_and_no_combined_verdict(self):
        async with Session([failing(at=1)]) as session:
            found = await judge_items(session, ITEMS[:2], rule="sum")
        assert [one.order for one in found.failed] == [("B", "A")]
        assert [one.id for one in found.judgments] == ["i0/broken/given", "i1/broken/given", "i1/broken/swapped"]
        assert [one.id for one in found.combined] == ["i1/broken/sum"]
        totals = found.totals
        assert (totals.failed, totals.failures, totals.exit_code) == (1, {"bad_request": 1}, 1)
        assert totals.failed_games[0]["judgment_id"] == "i0/broken/swapped"
        assert "failed_games" not in totals.to_json()

    @pytest.mark.parametrize(
        ("agents", "options", "error"),
        [
            ([], {}, "no model to ask: give an agent"),
            ([first_shown()], {"orders": "given", "rule": "agree"}, "a rule combines the games of both orders"),
        ],
    )
    async def test_what_makes_no_sense_is_refused(self, agents, options, error):
        async with Session(agents) as session:
            with pytest.raises(ConfigurationError, match=error):
                await judge_items(session, ITEMS, **options)

    async def test_a_label_that_is_no_verdict_on_two_and_three_responses_are_refused_before_asking(self):
        judge = first_shown()
        labelled = item().model_copy(update={"label": None, "labels": (Label(value=Category("good")),)})
        async with Session([judge]) as session:
            with pytest.raises(InputError, match="'i1': label: 'good' is not a verdict on 2 responses"):
                await judge_items(session, [labelled])
        assert not judge.requests
        three = item().model_copy(update={"responses": {"A": "1", "B": "2", "C": "3"}})
        async with Session([first_shown()]) as session:
            with pytest.raises(InputError, match="'i1' has 3 responses, and two are compared"):
                await judge_items(session, [three])


class TestTheRun:
    async def test_it_is_recorded_with_its_end_and_counts_an_error_as_failed(self, tmp_path):
        store = tmp_path / "s.duckdb"
        async with Session([first_shown()], store=store, command="judge") as session:
            await judge_items(session, ITEMS)
        async with Session([first_shown()], store=store, command="judge") as session:
            with pytest.raises(InputError):
                await judge_items(session, [ITEMS[0], {}])
        opened = await open_store(store)
        newest, oldest = await opened.runs()
        await opened.close()
        assert (oldest.status, oldest.summary["judgments"], oldest.summary["calls"]) == ("finished", 6, 6)
        assert newest.status == newest.summary["end"] == "failed"


class TestOneItem:
    async def test_other_judges_than_the_sessions(self):
        async with Session([first_shown()]) as session:
            other = session.models([fond("other")])
            found = await judge_item(session, ITEMS[0], judges=other)
        assert {one.judge for one in found.games} == {"other"}

    async def test_a_spent_budget_is_raised_and_the_run_of_the_session_goes_on(self, tmp_path):
        spent = ScriptedModel([BudgetExceeded("spent")] * 2, name="m")
        async with Session([spent], store=tmp_path / "s.duckdb") as session:
            with pytest.raises(BudgetExceeded):
                await judge_item(session, ITEMS[0])
            assert [one.status for one in await session.store.runs()] == ["running"]


# What judging would take is what the run then asks; settings of vetting alone do not disturb it.
TWO = panel_config({"agents": [{"model": "openai:gpt-4o-mini"}, {"model": "anthropic:claude-sonnet-4-5"}]})


@pytest.mark.parametrize(
    ("options", "grade", "calls"),
    [({}, False, 12), ({"orders": "given"}, False, 6), ({"with_reference": True}, False, 12), ({}, True, 12)],
)
async def test_as_many_calls_as_the_run_makes(options, grade, calls):
    found = estimate_judging(TWO, ITEMS, grade=grade, **options)
    models = [ScriptedModel(lambda _request: verdict("A>B"), name=name) for name in ("one", "two")]
    async with Session(models) as session:
        await (grade_items if grade else judge_items)(session, ITEMS, **options)
    first_asked = [request for model in models for request in model.requests if len(request.messages) == 1]
    assert (found.calls, found.judgments) == (calls, calls) == (len(first_asked), calls)
    assert found.cost_usd > 0


def test_a_panel_for_vetting_is_no_obstacle_and_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    panel = panel_config(
        {
            "strategy": "majority_vote",
            "agents": [{"name": name, "model": "openai:gpt-4o", "role": "r"} for name in "ab"],
        }
    )
    assert estimate_judging(panel, ITEMS).by_agent.keys() == {"a", "b"}


def test_two_judges_of_one_name_are_refused():
    panel = panel_config({"agents": [{"model": "openai:gpt-4o"}] * 2})
    with pytest.raises(ConfigurationError, match="given more than once"):
        estimate_judging(panel, ITEMS)


@pytest.fixture
def server():
    with LLMServer() as server:
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
