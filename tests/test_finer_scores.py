"""Several draws, from the panel file to the assessment, over a real socket."""

import pytest

from metajudge import Engine
from metajudge.errors import ConfigurationError
from metajudge.panels.building import build_vetter
from metajudge.panels.config import panel_config
from metajudge.providers.stack import Resources
from metajudge.store import open_store
from metajudge.types import Status
from metajudge.vetting.estimate import estimate_vetting
from tests.doubles.judgments import CRITERIA, judgment
from tests.doubles.llm_server import LLMServer, score_answer

CROWD = [judgment(f"j{i}") for i in range(4)]


def panel(server, *, provider="openai", options=None, **config):
    one = {"name": "mini", "model": f"{provider}:gpt-4o-mini@{server.url}", **(options or {})}
    return panel_config({"agents": [one], "retry": {"attempts": 2, "total_s": 5}, **config})


async def run(config, judgments=CROWD, **options):
    found = {}
    async with Engine(panel=config, **options) as engine:
        summary = await engine.vet_all(judgments, on_result=lambda index, _, result: found.update({index: result}))
        return summary, [found[index] for index in sorted(found)], engine.notices


class TestDraws:
    def scores(self, *values):
        """Answers with these scores in turn."""
        turn = iter(values * 100)
        return lambda body: score_answer(next(turn))(body)

    @pytest.mark.parametrize("provider", ["openai", "anthropic"])
    async def test_every_draw_is_a_call_that_is_counted_and_priced(self, provider):
        options = {"samples": 3, "price": {"input": 1.0, "output": 2.0}}
        with LLMServer(answer=self.scores(5, 4, 3)) as server:
            summary, (found, *_), _ = await run(panel(server, provider=provider, options=options), CROWD[:1])
            assert server.count == summary.calls == found.calls == 3
            sizes = [max(1, len(request.raw) // 4) for request in server.requests]
        assert found.final_score == pytest.approx(4.0)
        assert found.usage.input_tokens == sum(sizes)
        assert found.cost_usd == pytest.approx((found.usage.input_tokens + 2 * found.usage.output_tokens) / 1e6)
        assert summary.cost_usd == pytest.approx(found.cost_usd)
        assert found.agents[0].spread == pytest.approx(1.0)

    async def test_a_second_run_asks_only_for_the_draws_that_are_new(self, tmp_path):
        with LLMServer(answer=self.scores(4)) as server:
            await run(panel(server), store=tmp_path / "s.duckdb")
            await run(panel(server, options={"samples": 2}), store=tmp_path / "s.duckdb")
            summary, _, _ = await run(panel(server, options={"samples": 3}), store=tmp_path / "s.duckdb")
            assert server.count == 4 * 3
        assert (summary.calls, summary.cached_calls) == (4, 8)

    async def test_only_failed_draws_are_asked_again(self, tmp_path):
        with LLMServer(faults=[None, "500", "500"]) as server:
            config = panel(server, options={"samples": 3}, retry={"attempts": 1})
            options = {"store": tmp_path / "s.duckdb", "concurrency": 1}
            _, (first, *_), _ = await run(config, CROWD[:1], **options)
            assert (first.agents[0].valid_samples, first.calls) == (1, 3)
            assert "1 of 3 draws gave a score, which is no majority" in first.failure.message
            _, (second, *_), _ = await run(config, CROWD[:1], **options)
            assert server.count == 3 + 2
        assert (second.status, second.agents[0].valid_samples) == (Status.ASSESSED, 3)
        assert (second.calls, second.cached_calls) == (2, 1)

    async def test_all_draws_stand_under_the_judgment_and_are_forgotten_with_it(self, tmp_path):
        with LLMServer() as server:
            await run(panel(server, options={"samples": 3}), store=tmp_path / "s.duckdb")
        store = await open_store(tmp_path / "s.duckdb")
        shown = await store.show("j0")
        assert len(shown["calls"]) == 3
        assert repr(shown["assessments"]).count("It holds up.") == 4 * (len(CRITERIA) + 1)
        await store.forget("item-j0")
        shown = await store.show("j0")
        assert all(call["redacted"] for call in shown["calls"])
        assert "It holds up." not in repr(shown)
        assert not any(call["redacted"] for call in (await store.show("j1"))["calls"])
        await store.close()

    async def test_draws_at_temperature_zero_are_said_to_be_one_answer(self):
        with LLMServer() as server:
            _, _, notices = await run(panel(server, options={"samples": 3, "temperature": 0.0}), CROWD[:1])
        assert any("samples = 3 at temperature 0" in line for line in notices)


def build(config):
    return build_vetter(config, Resources(key_for=lambda _: "k"), early_exit=False).default


def test_rejudge_has_no_scores_to_make_finer():
    with pytest.raises(ConfigurationError, match="verdicts and not for scores, but mini has samples set"):
        build(panel_config({"strategy": "rejudge", "agents": [{"name": "mini", "model": "openai:m", "samples": 2}]}))


@pytest.mark.parametrize(
    ("config", "calls"),
    [
        ({}, 3 + 1),
        ({"strategy": "panel_discussion"}, 2 * (3 + 1)),
        ({"strategy": "panel_discussion", "discussion": {"rounds": "sequential"}}, 3 + 1),
        ({"strategy": "panel_discussion", "discussion": {"summariser": {"model": "openai:s", "samples": 5}}}, 8 + 5),
    ],
)
def test_a_dry_run_prices_every_draw(config, calls):
    price = {"input": 1.0, "output": 1.0}
    agents = [{"model": "openai:m", "samples": 3, "price": price}, {"model": "openai:n", "price": price}]
    if "discussion" in config and "summariser" in config["discussion"]:
        config["discussion"]["summariser"]["price"] = price
    found = estimate_vetting(panel_config({"agents": agents, **config}), CROWD)
    assert found.calls == calls * len(CROWD)
    each = found.by_agent["m"], found.by_agent["n"]
    assert each[0]["calls"] == 3 * each[1]["calls"]
    if not config:
        assert each[0]["cost_usd"] == pytest.approx(3 * each[1]["cost_usd"])
