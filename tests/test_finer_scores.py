"""Expected scores and several draws, from the panel file to the assessment, over a real socket."""

import hashlib
import json

import orjson
import pytest

from metajudge import Engine
from metajudge.errors import ConfigurationError
from metajudge.panels.building import build_vetter
from metajudge.panels.config import panel_config
from metajudge.providers.model import request_key
from metajudge.providers.openai_chat import first_dialect, request_body
from metajudge.providers.stack import Resources
from metajudge.rubric import load_rubric
from metajudge.runs.loop import RunEnd
from metajudge.store import open_store
from metajudge.types import Status
from metajudge.vetting.estimate import estimate_vetting
from tests.doubles.judgments import CRITERIA, judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.logprobs import scores_told

HALF = {"4": 0.5, "5": 0.5}
CROWD = [judgment(f"j{i}") for i in range(4)]


def told(ways):
    """Answers that score all criteria alike."""
    return lambda _body: scores_told(**dict.fromkeys(CRITERIA, ways))


def panel(server, *, provider="openai", options=None, **config):
    one = {"name": "mini", "model": f"{provider}:gpt-4o-mini@{server.url}", **(options or {})}
    return panel_config({"agents": [one], "retry": {"attempts": 2, "total_s": 5}, **config})


async def run(config, judgments=CROWD, **options):
    found = {}
    async with Engine(panel=config, **options) as engine:
        summary = await engine.vet_all(judgments, on_result=lambda index, _, result: found.update({index: result}))
        return summary, [found[index] for index in sorted(found)], engine.notices


EXPECTED = {"options": {"score": "expected"}}


class TestExpected:
    async def test_the_request_asks_for_the_twenty_likeliest_tokens(self):
        with LLMServer(tokens=told(HALF)) as server:
            await run(panel(server, **EXPECTED), CROWD[:1])
            await run(panel(server), CROWD[:1])
            finer, plain = server.requests
        assert finer.raw == plain.raw[:-1] + b',"logprobs":true,"top_logprobs":20}'

    async def test_the_score_is_the_expected_one_and_the_mass_is_told(self):
        with LLMServer(tokens=told({"4": 0.5, "5": 0.45, "6": 0.05})) as server:
            _, (found, *_), _ = await run(panel(server, **EXPECTED))
        criterion = found.agents[0].criteria["accuracy"]
        assert criterion.score == pytest.approx((4 * 0.5 + 5 * 0.45) / 0.95)
        assert criterion.digit_mass == pytest.approx(0.95)
        assert found.final_score == pytest.approx(criterion.score)

    @pytest.mark.parametrize(("ways", "accepted"), [(HALF, False), ({"4": 0.499, "5": 0.501}, True)])
    async def test_exactly_the_threshold_is_not_above_it_in_spite_of_logarithms(self, ways, accepted):
        with LLMServer(tokens=told(ways)) as server:
            _, (found, *_), _ = await run(panel(server, **EXPECTED), CROWD[:1])
        assert (found.threshold, found.accepted) == (4.5, accepted)
        assert accepted or found.final_score == 4.5

    async def test_stored_replies_give_the_same_scores(self, tmp_path):
        with LLMServer(tokens=told({"4": 0.3, "5": 0.7})) as server:
            _, before, _ = await run(panel(server, **EXPECTED), store=tmp_path / "s.duckdb")
            count = server.count
            summary, after, _ = await run(panel(server, threshold=4.0, **EXPECTED), store=tmp_path / "s.duckdb")
            assert server.count == count == 4
        assert (summary.calls, summary.cached_calls) == (0, 4)
        assert [one.agents[0].criteria for one in after] == [one.agents[0].criteria for one in before]

    async def test_plain_stored_replies_are_not_taken_for_ones_with_probabilities(self, tmp_path):
        with LLMServer(tokens=told(HALF)) as server:
            await run(panel(server), store=tmp_path / "s.duckdb")
            _, found, _ = await run(panel(server, **EXPECTED), store=tmp_path / "s.duckdb")
            assert server.count == 8
        assert found[0].agents[0].criteria["clarity"].source == "expected"

    async def test_forgetting_an_item_forgets_its_tokens(self, tmp_path):
        with LLMServer(tokens=told(HALF)) as server:
            await run(panel(server, **EXPECTED), store=tmp_path / "s.duckdb")
        store = await open_store(tmp_path / "s.duckdb")
        (call, *_) = (await store.show("j0"))["calls"]
        assert '"tokens"' in call["token_probabilities"]
        await store.forget("item-j0")
        (call, *_) = (await store.show("j0"))["calls"]
        assert (call["token_probabilities"], call["redacted"]) == (None, True)
        await store.close()

    async def test_a_server_that_ignores_the_flag_is_recorded_with_every_score(self):
        with LLMServer(answer=score_answer(4)) as server:
            _, (found, *_), notices = await run(panel(server, **EXPECTED))
            assert server.bodies[0]["logprobs"] is True
        said = "gpt-4o-mini: logprobs were asked for, and the server returned no token probabilities"
        assert notices.count(said) == 1
        assert found.final_score == 4.0
        reasons = {one.fallback for one in found.agents[0].criteria.values()}
        assert reasons == {"the server returned no token probabilities"}

    @pytest.mark.parametrize("fault", ["unsupported:logprobs", "no_logprobs"])
    async def test_a_server_that_refuses_the_flag_is_asked_without_it_and_that_is_said(self, fault, tmp_path):
        with LLMServer(tokens=told(HALF), faults=lambda _: fault) as server:
            config = panel(server, **EXPECTED)
            summary, (found, *_), notices = await run(config, concurrency=1, store=tmp_path / "s.duckdb")
            assert summary.calls == server.count == 5
            assert ["logprobs" in body for body in server.bodies] == [True, False, False, False, False]
            _, again, _ = await run(panel(server, threshold=3.0, **EXPECTED), store=tmp_path / "s.duckdb")
            assert server.count == 5
        assert notices == ("gpt-4o-mini: logprobs is not sent: the server does not support it", *notices[1:])
        for one in (found, again[0]):
            assert one.agents[0].criteria["clarity"].fallback == "the server does not support logprobs"
            assert one.agents[0].criteria["clarity"].score == 4.0

    async def test_fewer_alternatives_are_asked_for_where_twenty_are_too_many(self):
        with LLMServer(tokens=told(HALF)) as server:
            refuse = server._reply

            def picky(request, fault):
                if request.body["top_logprobs"] > 5:
                    said = "Requested sample logprobs of 20, which is greater than max allowed: 5"
                    return 400, {}, json.dumps({"error": {"message": said}}).encode()
                return refuse(request, fault)

            server._reply = picky
            _, found, notices = await run(panel(server, **EXPECTED), concurrency=1)
            assert [body["top_logprobs"] for body in server.bodies] == [20, 5, 5, 5, 5]
        assert found[0].agents[0].criteria["clarity"].source == "expected"
        assert not any("logprobs" in line for line in notices)

    @pytest.mark.slow
    async def test_anthropic_has_none_which_is_said_on_entering_and_recorded(self):
        with LLMServer(answer=score_answer(4)) as server:
            async with Engine(panel=panel(server, provider="anthropic", **EXPECTED)) as engine:
                assert engine.notices == (
                    "gpt-4o-mini: logprobs is not sent: Anthropic's messages have no token probabilities",
                )
                found = await engine.vet(judgment())
                assert [line for line in engine.notices if "logprobs" in line] == [engine.notices[0]]
            assert "logprobs" not in server.bodies[0]
        criterion = found.agents[0].criteria["accuracy"]
        assert (criterion.source, criterion.score) == ("reported", 4.0)
        assert criterion.fallback == "Anthropic's messages have no token probabilities"


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

    async def test_draws_whose_assessment_stands_are_not_asked_again(self, tmp_path):
        with LLMServer() as server:
            config = panel(server, options={"samples": 3})
            await run(config, store=tmp_path / "s.duckdb")
            summary, _, _ = await run(config, store=tmp_path / "s.duckdb")
            assert (server.count, summary.calls, summary.reused) == (12, 0, 4)

    async def test_early_exit_leaves_out_all_draws_of_later_agents(self):
        with LLMServer(answer=score_answer(1)) as server:
            agents = [{"name": n, "model": f"openai:{n}@{server.url}", "samples": 3} for n in ("a", "b", "c")]
            config = panel_config({"agents": agents, "early_exit": True, "strategy": "majority_vote"})
            summary, found, _ = await run(config)
            assert server.count == summary.calls == 4 * 2 * 3
        assert [one.agents[2].skipped for one in found] == ["early_exit"] * 4

    async def test_the_budget_ends_the_run_and_no_half_sampled_judgment_is_kept(self):
        options = {"samples": 4, "price": {"input": 100.0, "output": 100.0}, "max_tokens": 50}
        with LLMServer() as server:
            config = panel(server, options=options)
            summary, found, _ = await run(config, concurrency=1, budget_usd=1.0)
            cost = summary.known_cost_usd
            assert 0 < server.count < 16
        assert summary.end is RunEnd.BUDGET
        assert cost <= 1.0
        assert all(one.agents[0].valid_samples == 4 for one in found)

    @pytest.mark.parametrize(("rounds", "calls"), [("independent_first", 2 * 2 + 2), ("sequential", 1 * 2 + 1 + 1)])
    async def test_a_discussion_draws_in_every_round(self, rounds, calls):
        with LLMServer(answer=self.scores(4, 5)) as server:
            agents = [
                {"name": "a", "model": f"openai:a@{server.url}", "samples": 2},
                {"name": "b", "model": f"openai:b@{server.url}"},
            ]
            summariser = {"summariser": {"model": f"openai:s@{server.url}"}} if rounds == "sequential" else {}
            config = panel_config(
                {"agents": agents, "strategy": "panel_discussion", "discussion": {"rounds": rounds, **summariser}}
            )
            _, (found, *_), _ = await run(config, CROWD[:1])
            assert server.count == found.calls == calls
        if rounds == "independent_first":
            assert found.agents[0].opening.samples == 2

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


@pytest.mark.parametrize("finer", [{"score": "expected"}, {"samples": 2}])
def test_rejudge_has_no_scores_to_make_finer(finer):
    with pytest.raises(ConfigurationError, match="verdicts and not for scores, but mini has score or samples set"):
        build(panel_config({"strategy": "rejudge", "agents": [{"name": "mini", "model": "openai:m", **finer}]}))


@pytest.mark.parametrize("finer", [{"score": "expected"}, {"samples": 2}, {"score": "expected", "samples": 3}])
def test_finer_scores_are_another_panel(finer):
    plain = panel_config({"agents": [{"model": "openai:m"}]})
    changed = panel_config({"agents": [{"model": "openai:m", **finer}]})
    assert build(plain).digest != build(changed).digest
    assert build(plain).digest == build(panel_config({"agents": [{"model": "openai:m", "samples": 1}]})).digest


def test_one_model_twice_is_one_answer_however_finely_it_scores():
    agents = [{"name": "a", "model": "openai:m"}, {"name": "b", "model": "openai:m", "samples": 3}]
    with pytest.raises(ConfigurationError, match="one answer would count twice"):
        build(panel_config({"agents": agents}))


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


CONFIG = {
    "strategy": "majority_vote",
    "seed": 7,
    "agents": [
        {
            "name": "mini",
            "model": "openai:gpt-4o-mini",
            "temperature": 0.0,
            "max_tokens": 3000,
            "role": "critic",
        },
        {
            "name": "claude",
            "model": "anthropic:claude-sonnet-4-5",
            "rubric": "long",
            "headers": {"x-team": "vetting"},
        },
    ],
}


class TestNothingElseChanged:
    """Digests, keys and bytes as they were before agents could have finer scores: stored results stay valid."""

    def test_panel_digest_and_what_goes_into_request_keys(self):
        panel = build(panel_config({**CONFIG, "prompt_version": 1}))
        first, second = panel.agents
        assert (first.rubric.digest, second.rubric.digest) == (
            load_rubric("short", prompt_set=1).digest,
            load_rubric("long", prompt_set=1).digest,
        )
        request = first.request(judgment())
        assert set(request.content()) == {"system", "messages", "schema", "parameters"}
        assert not request.logprobs
        assert {
            "panel": panel.digest,
            "mini": request_key(first.model, request),
            "claude": request_key(second.model, second.request(judgment())),
            "body": hashlib.sha256(
                orjson.dumps(request_body("gpt-4o-mini", request, first_dialect(first.model.endpoint)))
            ).hexdigest(),
        } == PINNED


PINNED = {
    "panel": "85d0876de852398d4dc7cc1432609e7b",
    "mini": "6223f7089a740f64b6fc58a2b0da4b81",
    "claude": "1f038c5356a78c853c1c66260bc5de68",
    "body": "a4c5d5f39957c00a3de4b460cc68d2a5f81f54cf64321e0a513100792acee36a",
}
"""Taken before finer scores were added. A change of prompts, rubrics or schemas changes them too, rightly: take them
anew then."""
