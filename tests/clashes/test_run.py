"""A run of clashes over a session: files, totals, how runs end, models from scripts."""

from dataclasses import replace

import pytest

from metajudge.clashes.clash import Place
from metajudge.clashes.run import clash, clash_item, estimate_clash
from metajudge.clashes.setup import ClashSettings, build_clash, repeat_numbers
from metajudge.errors import BudgetExceeded, ConfigurationError, InputError
from metajudge.panels.config import PanelConfig, panel_config, with_flags
from metajudge.providers.scripted import ScriptedModel
from metajudge.runs.loop import RunEnd
from metajudge.session import Session
from metajudge.types import Item
from tests.doubles.ranking import ranks_by, reply, shown

PAIR = {"id": "q1", "question": "Why?", "responses": {"x": "a long answer", "y": "short"}}


def judges(*names, preference=len):
    return [ranks_by(preference, name=name) for name in names or ("ann", "ben", "cat")]


def answers(name, text):
    """A candidate that gives this text and ranks the longest answer first where it is asked to rank."""

    def script(request):
        if request.schema is None:
            return text
        texts = shown(request)
        return reply(request, sorted(texts, key=lambda label: len(texts[label]), reverse=True))

    return ScriptedModel(script, name=name)


def asked(*models):
    return sum(len(one.requests) for one in models)


async def test_the_responses_of_items_play_no_part_where_candidates_answer():
    async with Session(judges()) as session:
        (record,) = (
            await clash(
                session, [PAIR | {"models": {"x": "gpt-4o"}}], candidates=[answers("ant", "1"), answers("b", "22")]
            )
        ).records
    assert set(record.answered) == {"ant", "b"}
    assert record.models == {}


async def test_a_model_given_for_one_role_does_not_answer_for_another_of_its_name():
    judge, candidate = ranks_by(len, name="same"), answers("same", "an answer")
    async with Session() as session:
        settings = ClashSettings(judges=[judge], candidates=[candidate, answers("other", "x")])
        (record,) = (await clash(session, ["Why?"], settings)).records
    assert record.answered["same"] == "an answer"
    assert asked(judge) == asked(candidate) == 1


async def test_a_line_cut_off_by_a_kill_is_dropped_with_a_notice_and_an_even_panel_warned_of(tmp_path):
    out, said = tmp_path / "c.jsonl", []
    out.write_text('{"id": "q1", "key"')
    async with Session(judges("ann", "ben"), notify=said.append) as session:
        await clash(session, [PAIR], out=out)
    assert f"{out}: the last line is incomplete and was dropped" in said
    assert "2 judges tie more often than an odd number of them" in said
    assert len(out.read_text().splitlines()) == 1


class TestEnds:
    async def test_a_spent_budget_ends_a_run_and_refuses_a_single_evaluation(self):
        def unaffordable(_request):
            return BudgetExceeded("spent")

        models = [ScriptedModel(unaffordable, name="ann")]
        async with Session(models) as session:
            found = await clash(session, [PAIR])
            assert (found.totals.end, found.records) == (RunEnd.BUDGET, ())
            with pytest.raises(BudgetExceeded):
                await clash_item(session, PAIR)


async def test_a_single_evaluation_is_that_of_a_run():
    async with Session(judges()) as session:
        (of_run,) = (await clash(session, [PAIR], seed=3)).records
    async with Session(judges()) as session:
        alone = await clash_item(session, Item.model_validate(PAIR), seed=3)
    assert alone.model_dump(exclude={"spent_usd"}) == of_run.model_dump(exclude={"spent_usd"}) | {
        "votes": tuple(
            {**vote, "latency_s": mine.latency_s}
            for vote, mine in zip(of_run.model_dump()["votes"], alone.votes, strict=True)
        )
    }


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["Why?"], "responses are judged"),
        ([{"id": "q"}], "the item is not valid"),
        ([PAIR, PAIR | {"question": "How?"}], "two different items have the id"),
    ],
)
async def test_what_is_no_item_is_refused(items, message):
    async with Session(judges()) as session:
        with pytest.raises(InputError, match=message):
            await clash(session, items)


# From settings to a clash: who is asked, what is hidden, and what it will take.
LEAK = Item(
    id="q1",
    question="Who are you?",
    responses={"A": "I am gpt-4o by OpenAI.", "B": "I would rather not say."},
    models={"A": "gpt-4o", "B": "claude-sonnet-4-5"},
)


class TestBlinding:
    async def test_ids_of_candidates_and_of_what_the_items_name_are_in_the_key_and_hidden(self):
        async with Session(judges("ann"), panel=panel_config({})) as session:
            settings = ClashSettings(given=True, candidates=["mine=openrouter:anthropic/claude-haiku-4-5"])
            made = build_clash(session, settings, [LEAK])
            readable = build_clash(session, replace(settings, hide_identities=False), [LEAK])
        assert {"gpt-4o", "claude-sonnet-4-5", "claude-haiku-4-5", "anthropic"} <= set(made.hide_names)
        assert "mine" not in made.hide_names
        assert (readable.hide_names, readable.hide_identities) == ((), False)
        assert Place().key(LEAK, made) != Place().key(LEAK, readable)

    @pytest.mark.parametrize("path", ["run", "single"])
    async def test_no_path_leaves_a_name_readable(self, path):
        model = ranks_by(len, name="ann")
        async with Session([model]) as session:
            if path == "run":
                (record,) = (await clash(session, [LEAK])).records
            else:
                record = await clash_item(session, LEAK)
        prompt = model.requests[0].messages[0].text.lower()
        assert not [name for name in ("gpt", "openai") if name in prompt]
        assert record.blinding.hiding


class TestSettings:
    async def test_a_session_without_agents_has_no_judge_and_an_observer_owns_a_response_only_where_it_has_one(self):
        async with Session() as session:
            with pytest.raises(ConfigurationError, match="no model to ask"):
                await clash(session, [LEAK])
        async with Session(judges("ann")) as session:
            settings = ClashSettings(given=True, candidates=judges("A", "Z"), observers=True)
            made = build_clash(session, settings, [LEAK])
        assert [(one.name, one.own) for one in made.observers] == [("A", "A"), ("Z", None)]
        assert made.candidates == ()

    def test_repeats(self):
        assert repeat_numbers(3) == [1, 2, 3]
        assert repeat_numbers((3, 1, 3)) == [1, 3]
        for wrong in (0, (), (0,), (1001,)):
            with pytest.raises(ConfigurationError, match="repeats are 1 to"):
                repeat_numbers(wrong)


# The estimate of a clash counts the calls that the run then makes.
TWO = Item(id="q", question="What is 2 + 2?", responses={"a": "four", "b": "five"})
THREE = ("openai:gpt-5", "anthropic:claude-opus-4-5", "openai:gpt-4o")


@pytest.mark.parametrize(
    ("changes", "calls"),
    [
        ({"given": True}, 3),
        ({"given": True, "repeats": 4}, 12),
        ({"given": True, "criteria_model": "openai:gpt-4o-mini", "repeats": 2}, 2 * (1 + 3)),
        ({"candidates": ("openai:gpt-5", "openai:gpt-4o")}, 2 + 3),
        ({"candidates": ("openai:gpt-5", "openai:gpt-4o"), "observers": True}, 2 + 3 + 2),
        ({"candidates": ("openai:gpt-5", "openai:gpt-4o"), "cycles": 3, "repeats": 2}, 3 * (2 + 6)),
    ],
)
def test_every_call_of_the_run_is_counted(changes, calls):
    found = estimate_clash(ClashSettings(**changes), with_flags(PanelConfig(), THREE), [TWO])
    assert found.calls == calls
    assert found.input_tokens > 0 < found.output_tokens


def test_a_model_without_a_price_has_no_cost_of_zero_and_senseless_judges_are_refused_before():
    panel = with_flags(PanelConfig(), ["openai:never-heard-of@http://127.0.0.1:9/v1"])
    found = estimate_clash(ClashSettings(given=True), panel, [TWO])
    assert found.cost_usd is None
    assert found.unpriced == ["never-heard-of"]
    with pytest.raises(ConfigurationError):
        estimate_clash(ClashSettings(given=True), with_flags(PanelConfig(), ["openai:a", "openai:a"]), [TWO])
