"""From settings to a clash: who is asked, what is hidden."""

from dataclasses import replace

import pytest

from metajudge.clashes.clash import Place
from metajudge.clashes.run import clash, clash_item
from metajudge.clashes.setup import ClashSettings, build_clash, repeat_numbers
from metajudge.errors import ConfigurationError
from metajudge.panels.config import panel_config
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
