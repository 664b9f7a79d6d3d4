"""The engine: wiring, resuming, budgets, faults of one item, and what ends where."""

import asyncio
import json
import random

import pytest

from metajudge import Engine, vet
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.errors import BudgetExceeded, ConfigurationError, InputError
from metajudge.panels.config import panel_config
from metajudge.providers.scripted import ScriptedModel
from metajudge.runs.loop import RunEnd, Stop
from metajudge.types import Status
from tests.doubles.crowds import crowd
from tests.doubles.judgments import judgment, reply
from tests.doubles.llm_server import FAULTS, MIXED_FAULTS, LLMServer, score_answer

ONE_TRY = panel_config({"retry": {"attempts": 1}})
CROWD = [judgment(f"j{i}") for i in range(40)]


def agents(server):
    return [f"mini=openai:gpt-4o-mini@{server.url}", f"claude=anthropic:claude-sonnet-4-5@{server.url}"]


def always(score):
    return ScriptedModel(lambda _: reply(score), name="scripted")


async def run(engine_agents, judgments=CROWD, **options):
    results = {}
    keep_failures = options.pop("keep_failures", False)
    stop = options.pop("stop", None)
    async with Engine(engine_agents, **options) as engine:
        summary = await engine.vet_all(
            judgments,
            on_result=lambda index, _judgment, result: results.update({index: result}),
            keep_failures=keep_failures,
            stop=stop,
        )
    return summary, [results[index] for index in sorted(results)]


class TestPython:
    async def test_the_engine_takes_plain_data_too(self):
        everything = [one.model_dump(mode="json") for one in CROWD[:3]]
        async with Engine() as engine:
            one = await engine.vet(everything[0], others=everything[1:])
            assert one == await engine.vet(CROWD[0], others=CROWD[1:3])
            assert one.judgment_id == CROWD[0].id
        _, results = await run([always(5)], everything)
        assert [one.judgment_id for one in results] == [one["id"] for one in everything]

    async def test_what_is_no_judgment_no_open_engine_or_no_name_of_its_own_is_named(self):
        async with Engine() as engine:
            with pytest.raises(InputError, match="the judgment is not valid: missing field 'item'"):
                await engine.vet({"id": "j-1", "judge": "j", "verdict": "A>B"})
            with pytest.raises(InputError, match="the judgment is a str"):
                await engine.vet("A>B")
            with pytest.raises(InputError, match="judgment 2 is not valid"):
                await engine.vet_all([judgment(), {"id": "j-2"}])
        with pytest.raises(ConfigurationError, match="not open"):
            await Engine([always(5)]).vet(judgment())
        with pytest.raises(ConfigurationError, match="same name"):
            Engine([always(5), always(5)])


class TestResuming:
    async def test_another_threshold_is_another_question_answered_from_stored_replies(self, tmp_path):
        with LLMServer(answer=score_answer(4)) as server:
            first, _ = await run(agents(server), store=tmp_path / "s.duckdb")
            second, found = await run(agents(server), store=tmp_path / "s.duckdb", threshold=3.5)
            assert server.count == first.calls
        assert (second.calls, second.cached_calls, second.accepted) == (0, 80, 40)
        assert all(one.cost_usd == 0 for one in found)

    async def test_failures_are_tried_again_unless_told_otherwise(self, tmp_path):
        store = tmp_path / "s.duckdb"
        with LLMServer(answer=lambda _: "I like it!") as server:
            first, _ = await run(agents(server), CROWD[:3], store=store)
            assert (first.unscored, first.calls) == (3, 12)
            kept, _ = await run(agents(server), CROWD[:3], store=store, keep_failures=True)
            assert (kept.unscored, kept.calls) == (3, 0)
            url = server.url
            server._answer = score_answer(5)
            second, found = await run(agents(server), CROWD[:3], store=store)
            assert server.url == url
        assert (second.assessed, second.calls) == (3, 6)
        assert all(one.status is Status.ASSESSED for one in found)


class TestFaults:
    async def test_every_judgment_ends_once_and_every_request_is_counted(self, tmp_path):
        generator = random.Random(3)
        plan = [generator.choice(MIXED_FAULTS) if generator.random() < 0.2 else None for _ in range(2000)]
        with LLMServer(answer=score_answer(5), faults=plan) as server:
            summary, found = await run(agents(server), concurrency=16, store=tmp_path / "s.duckdb", seed=1)
            assert summary.calls == server.count
            assert len(server.injected) > 10
        assert sorted(one.judgment_id for one in found) == sorted(one.id for one in CROWD)
        assert summary.assessed + summary.unscored + summary.failed == 40
        assert sum(one.calls for one in found) == summary.calls
        for one in found:
            assert (one.status is Status.ASSESSED) == (one.accepted is not None)
            assert (one.failure is None) == (one.status is Status.ASSESSED)
            for agent in one.agents:
                assert [agent.score, agent.failure, agent.skipped].count(None) == 2

    async def test_one_bad_agent_does_not_harm_the_other(self):
        with LLMServer(answer=score_answer(1)) as server:
            names = [f"openai:good@{server.url}", "openai:dead@http://127.0.0.1:9"]
            summary, found = await run(names, CROWD[:3], panel=ONE_TRY)
        assert summary.assessed == 3
        assert all(one.accepted is False and one.agents[1].failure for one in found)


class TestBudget:
    async def test_it_stops_within_one_call_and_goes_on_with_more(self, tmp_path):
        with LLMServer(answer=score_answer(5)) as server:
            whole, _ = await run(agents(server), concurrency=4)
            share = whole.cost_usd / 2
            first, some = await run(agents(server), concurrency=4, budget_usd=share, store=tmp_path / "s.duckdb")
            assert first.end is RunEnd.BUDGET
            assert first.exit_code == 3
            assert 0 < first.cost_usd <= share
            assert 0 < len(some) < 40
            second, rest = await run(agents(server), concurrency=4, budget_usd=10, store=tmp_path / "s.duckdb")
        assert second.end is RunEnd.FINISHED
        assert len(rest) == 40
        assert first.calls + second.calls == whole.calls

    def test_a_script_is_told(self):
        with LLMServer(answer=score_answer(5)) as server, pytest.raises(BudgetExceeded):
            vet(CROWD, agents(server), budget_usd=0.0001)


class TestStopping:
    async def test_what_is_done_is_kept_and_the_next_run_goes_on(self, tmp_path):
        stop = Stop()
        with LLMServer(answer=score_answer(5), latency_s=0.02) as server:
            asyncio.get_running_loop().call_later(0.15, stop.ask, RunEnd.INTERRUPTED)
            first, some = await run(agents(server), concurrency=4, stop=stop, store=tmp_path / "s.duckdb")
            assert first.end is RunEnd.INTERRUPTED
            assert first.exit_code == 130
            assert len(some) < 40
            second, rest = await run(agents(server), concurrency=16, store=tmp_path / "s.duckdb")
            assert server.count == first.calls + second.calls == 80
        assert len(rest) == 40
        assert second.reused == len(some)


class TestConfiguration:
    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({"threshold": 6}, "outside the scale"),
            ({"rubric": "shorts"}, "unknown rubric 'shorts'"),
            (
                {"agents": [{"model": "openai:a@http://127.0.0.1:9"}, {"model": "openai:a@http://127.0.0.1:9"}]},
                "a is given more than once",
            ),
            ({"strategy": "majority_vote"}, "at least one agent"),
            ({"routes": {"math": {"agents": ["nobody"]}}}, "no agent is named nobody"),
            ({"routes": {"math": {"agent_weights": {"mispelt": 2.0}}}}, "no agent is named mispelt"),
            ({"limits": {"nowhere": {"concurrency": 1}}}, "unknown provider 'nowhere'"),
            ({"agents": [{"model": "openai:m"}]}, "OPENAI_API_KEY"),
            ({"agents": [{"model": "openai:m", "api_key_env": "MY_OWN_KEY"}]}, "its key in MY_OWN_KEY"),
        ],
    )
    async def test_what_makes_no_sense_is_refused_on_entering(self, config, message, monkeypatch, tmp_path):
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.setenv("METAJUDGE_SETTINGS", str(tmp_path / "settings.toml"))
        (tmp_path / "settings.toml").write_text("")
        with pytest.raises(Exception, match=message):
            async with Engine(panel=panel_config(config)):
                pass

    async def test_an_agents_own_key_variable(self, monkeypatch):
        monkeypatch.setenv("MY_OWN_KEY", "sk-of-my-own")
        with LLMServer(answer=score_answer(5)) as server:
            config = panel_config({"agents": [{"model": f"openai:m@{server.url}", "api_key_env": "MY_OWN_KEY"}]})
            await run([], CROWD[:1], panel=config)
            assert server.requests[0].headers["authorization"] == "Bearer sk-of-my-own"


class TestPasses:
    """Every pass parses the whole input: a million rows are read as few times as bounded memory allows.

    Where agents are asked, the first pass compares the records' items.
    """

    async def test_evidence_is_the_same_with_and_without_a_calibration_that_reads_it_too(self):
        records = crowd(20)
        calibration = fit_calibration(build_table(records, ["order", "strength"]), repeats=1)
        _, plain = await run([], records)
        _, calibrated = await run([], records, calibration=calibration)
        assert [one.signals for one in plain] == [one.signals for one in calibrated]


class TestBlocks:
    async def test_what_needs_no_model_comes_in_the_order_of_the_input_although_models_are_slow(self, tmp_path):
        """The second half is known before: it is settled block by block and not by the workers."""
        store = tmp_path / "s.duckdb"
        await run([always(5)], CROWD[20:], store=store)
        order = []
        async with Engine([always(5)], store=store, concurrency=1, policy="verdict_score") as engine:
            summary = await engine.vet_all(CROWD, on_result=lambda index, *_: order.append(index))
        assert sorted(order) == list(range(40))
        assert [index for index in order if index >= 20] == list(range(20, 40))
        assert (summary.reused, summary.calls, summary.decisions.total()) == (20, 20, 40)


BAD = "the flagged question"
OTHERS = ("no_json_schema", "no_json_object", "no_stream", "no_usage", "slow", "400-credit", "429-quota")
"""What is no failure (asked for in another form, late or uncounted), and what stops the whole account."""


@pytest.mark.parametrize("bad", [0, 5])
@pytest.mark.parametrize("name", sorted({*FAULTS} - {*OTHERS}))
async def test_every_other_item_is_assessed_once(name, bad):
    given = [judgment(f"j{n}", question=BAD if n == bad else f"Question {n}?") for n in range(12)]
    with LLMServer(score_answer(5), faults=lambda one: name if BAD in json.dumps(one.body) else None) as server:
        panel = panel_config({"agents": [{"model": f"openai:m@{server.url}"}], "retry": {"total_s": 0.2}})
        async with Engine(panel=panel, concurrency=4) as engine:
            by_id = {}
            await engine.vet_all(given, on_result=lambda _, one, found: by_id.update({one.id: found}))
    failed = by_id.pop(f"j{bad}")
    assert failed.status in (Status.FAILED, Status.UNSCORED)  # unscored where the provider declined it
    assert failed.agents[0].failure.message
    assert {one.status for one in by_id.values()} == {Status.ASSESSED}
    others = [said for said in map(json.dumps, server.bodies) if BAD not in said]
    assert len(others) - len(set(others)) <= 3  # asked again in a plainer form, where the first ones were refused
    assert len({json.dumps(one["messages"]) for one in server.bodies if BAD not in json.dumps(one)}) == 11
