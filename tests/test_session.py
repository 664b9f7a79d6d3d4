"""What every task is given: models by name, notices, the record of a run."""

import asyncio
import contextlib

import pytest

from metajudge.errors import ConfigurationError
from metajudge.panels.config import AgentConfig, PanelConfig
from metajudge.providers.model import Message, ModelRequest
from metajudge.providers.scripted import ScriptedModel
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import RunEnd, Stop
from metajudge.runs.totals import RunTotals
from metajudge.session import Session
from metajudge.store import open_store


class Totals(RunTotals):
    @property
    def done(self) -> int:
        return 0

    @property
    def lost(self) -> int:
        return 0

    @property
    def counts(self) -> RunCounts:
        return RunCounts(self.end)


def panel(*agents: AgentConfig) -> PanelConfig:
    return PanelConfig(agents=agents)


PLAIN = AgentConfig(name="a", model="openai:gpt-4o-mini", temperature=0.5)
OF_VETTING = AgentConfig(name="b", model="openai:gpt-4o-mini", role="critic", samples=3, weight=2.0)


@pytest.fixture(autouse=True)
def _a_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")


def session(*agents, **options):
    return Session(agents, **options)


async def ask(model):
    return (await model.complete(ModelRequest("You judge.", (Message("user", "Hello"),)))).text


class TestModels:
    async def test_the_sessions_own_agents_with_their_parameters(self):
        async with session(panel=panel(PLAIN), seed=7) as one:
            (model,) = one.models()
        assert (model.name, model.model.name, model.dropped) == ("a", "gpt-4o-mini", ())
        assert (model.parameters.temperature, model.parameters.seed) == (0.5, 7)

    async def test_a_task_that_weighs_votes_keeps_the_weight_of_the_agent_or_of_the_object_in_its_place(self):
        async with session(panel=panel(OF_VETTING)) as one:
            (model,) = one.models(weighted=True)
        assert (model.weight, model.dropped) == (2.0, ("role", "samples"))
        scripted = ScriptedModel(["mine"], name="a")
        async with session(scripted, panel=panel(PLAIN, OF_VETTING)) as one:
            models = {model.name: model.model for model in one.models()}
            assert list(models) == ["a", "b"]
            assert await ask(models["a"]) == "mine"
        assert models["b"].name == "gpt-4o-mini"

    async def test_nobody_to_ask_two_of_one_name_and_a_session_that_is_not_open_are_errors(self):
        async with session() as one:
            for none in (None, [], panel()):
                with pytest.raises(ConfigurationError, match="no model to ask: give an agent"):
                    one.models(none)
        async with session() as one:
            with pytest.raises(ConfigurationError, match="agent gpt-4o is given more than once"):
                one.models(["openai:gpt-4o", "openai:gpt-4o"])
        with pytest.raises(ConfigurationError, match="two model objects have the same name"):
            session(ScriptedModel([], name="x"), ScriptedModel([], name="x"))
        with pytest.raises(ConfigurationError, match=r"the session is not open: use it as `async with Session"):
            session(panel=panel(PLAIN)).models()


class TestRecording:
    @pytest.mark.parametrize(
        ("error", "status"),
        [(None, "finished"), (RuntimeError("broken"), "failed"), (asyncio.CancelledError(), "interrupted")],
    )
    async def test_how_a_run_ended_is_in_its_record(self, tmp_path, error, status):
        totals = Totals()
        with pytest.raises(type(error)) if error else contextlib.nullcontext():
            async with session(store=tmp_path / "store.duckdb", command="judge") as one, one.recording(totals):
                if error is not None:
                    raise error
        store = await open_store(tmp_path / "store.duckdb")
        (run,) = await store.runs()
        await store.close()
        assert (run.run_id, run.command, run.status) == (one.run_id, "judge", status)
        assert totals.end.value == status

    async def test_a_session_closed_without_a_run_records_its_calls(self, tmp_path):
        async with session(ScriptedModel(["yes"], name="a"), store=tmp_path / "store.duckdb") as one:
            await ask(one.models()[0].model)
        store = await open_store(tmp_path / "store.duckdb")
        (run,) = await store.runs()
        await store.close()
        assert (run.status, run.summary) == ("finished", {"calls": 1})


def test_a_budget_is_given_once():
    from metajudge.providers.budget import Budget

    with pytest.raises(ConfigurationError, match="budget or budget_usd, not both"):
        session(budget=Budget(usd=1), budget_usd=1)


def test_the_first_reason_to_stop_counts_and_is_passed_on():
    async def asked():
        stop, heard = Stop(), []
        stop.on_ask(heard.append)
        stop.ask(RunEnd.BUDGET)
        stop.ask(RunEnd.INTERRUPTED)
        return stop.end, heard

    assert asyncio.run(asked()) == (RunEnd.BUDGET, [RunEnd.BUDGET])
