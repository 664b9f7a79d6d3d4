"""From settings to a clash: who is asked, what is hidden, what is said about the panel."""

from dataclasses import replace

import pytest

from metajudge.clashes.clash import Place
from metajudge.clashes.run import clash, clash_item
from metajudge.clashes.setup import ClashSettings, build_clash, candidate_name, repeat_numbers
from metajudge.errors import ConfigurationError
from metajudge.panels.config import panel_config
from metajudge.providers.model import Parameters
from metajudge.session import Session
from metajudge.types import Item
from tests.doubles.ranking import ranks_by

LEAK = Item(
    id="q1",
    question="Who are you?",
    responses={"A": "I am gpt-4o by OpenAI.", "B": "I would rather not say."},
    models={"A": "gpt-4o", "B": "claude-sonnet-4-5"},
)


def judges(*names):
    return [ranks_by(len, name=name) for name in names]


async def notices(settings, *names, panel=None):
    async with Session(judges(*names), panel=panel) as session:
        made = build_clash(session, settings, [LEAK])
        assert set(made.notices) <= set(session.notices)
        return made.notices


class TestBlinding:
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

    async def test_ids_of_candidates_and_of_what_the_items_name_are_in_the_key_and_hidden(self):
        async with Session(judges("ann"), panel=panel_config({})) as session:
            settings = ClashSettings(given=True, candidates=["mine=openrouter:anthropic/claude-haiku-4-5"])
            made = build_clash(session, settings, [LEAK])
            readable = build_clash(session, replace(settings, hide_identities=False), [LEAK])
        assert {"gpt-4o", "claude-sonnet-4-5", "claude-haiku-4-5", "anthropic"} <= set(made.hide_names)
        assert "mine" not in made.hide_names
        assert (readable.hide_names, readable.hide_identities) == ((), False)
        assert Place().key(LEAK, made) != Place().key(LEAK, readable)

    async def test_switching_it_off_is_said(self):
        (said,) = await notices(ClashSettings(hide_identities=False), "a", "b", "c")
        assert "not blind" in said


class TestNotices:
    async def test_an_even_panel_and_a_single_judge(self):
        assert await notices(ClashSettings(), "a", "b") == ("2 judges tie more often than an odd number of them",)
        (said,) = await notices(ClashSettings(), "a")
        assert "cannot agree with itself" in said
        assert await notices(ClashSettings(), "a", "b", "c") == ()

    async def test_a_judge_that_is_a_candidate_or_of_its_family(self):
        panel = panel_config(
            {"agents": [{"model": "vllm:gpt-4o@http://x.test"}, {"model": "vllm:gpt-5@http://x.test"}]}
        )
        settings = ClashSettings(given=True, candidates=["mine=vllm:gpt-4o@http://x.test"])
        same, kin, even = await notices(settings, panel=panel)
        assert same == "judge gpt-4o is candidate mine, too: it votes on its own answer, without knowing it"
        assert kin == "judge gpt-5 is of the same family as candidate mine"
        assert even.startswith("2 judges")

    async def test_dropped_settings_and_the_panel_stand_in_every_record(self):
        panel = panel_config({"agents": [{"name": "ann", "model": "openai:x", "role": "critic", "weight": 3}]})
        async with Session(judges("ann"), panel=panel) as session:
            record = await clash_item(session, LEAK)
        dropped, single = record.notices
        assert dropped.startswith("agent ann: role dropped")
        assert "one judge" in single
        assert record.votes[0].weight == 3.0


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"given": False}, "no candidate"),
            ({"candidates": ["vllm:m"], "observers": True, "voters": True}, "give one of them"),
            ({"observers": True}, "name their models"),
            ({"candidates": ["vllm:m"], "candidate_weight": 1.0}, "needs --voters"),
            ({"candidates": ["vllm:m", "vllm:m"]}, "candidate m is given more than once"),
        ],
    )
    def test_what_makes_no_sense_together(self, settings, message):
        with pytest.raises(ConfigurationError, match=message):
            ClashSettings(**settings).check()

    async def test_a_session_without_agents_has_no_judge(self):
        async with Session() as session:
            with pytest.raises(ConfigurationError, match="no model to ask"):
                await clash(session, [LEAK])

    async def test_answers_and_votes_have_settings_of_their_own(self):
        ant = ranks_by(len, name="ant/7b")
        settings = ClashSettings(candidates=[ant], observers=True, temperature=0.7, max_tokens=9)
        async with Session(judges("ann"), seed=5) as session:
            made = build_clash(session, settings, [])
        (candidate,), (observer,) = made.candidates, made.observers
        assert candidate.name == observer.name == observer.own == "ant-7b"
        assert candidate.parameters == Parameters(temperature=0.7, max_tokens=9)
        assert (observer.parameters.temperature, observer.parameters.seed) == (None, 5)

    async def test_an_observer_of_given_responses_owns_one_only_where_it_has_one(self):
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

    @pytest.mark.parametrize(
        ("name", "id"), [("gpt-4o", "gpt-4o"), ("meta/llama-3:70b", "meta-llama-3-70b"), ("é", "candidate")]
    )
    def test_names_as_response_ids(self, name, id):
        assert candidate_name(name) == id
