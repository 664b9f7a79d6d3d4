"""Panels and policies that do not go together: said before anything is asked."""

import json

import pytest

from metajudge import Engine
from metajudge.decision import load_policy
from metajudge.panels.building import build_vetter
from metajudge.panels.config import panel_config
from metajudge.prompts.versions import FIRST, NEWEST
from metajudge.providers.stack import Resources
from metajudge.vetting.policies import mismatch
from metajudge.vetting.prompt_set import stored_panels, with_prompt_set
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer


def panel(**given):
    config = panel_config({"agents": [{"model": "openai:a"}, {"model": "openai:b"}], **given})
    return build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False).default


@pytest.mark.parametrize(
    ("policy", "given", "calibrated", "said"),
    [
        ("verdict_score", {}, False, None),
        ("verdict_score", {"strategy": "majority_vote"}, False, "strategy majority_vote gives votes"),
        ("verdict_score", {"strategy": "panel_discussion"}, False, "strategy panel_discussion gives votes"),
        ("verdict_score", {"strategy": "panel_discussion", "discussion": {"aggregate": "average"}}, False, None),
        ("verdict", {}, False, "there is no calibration: every decision is REVIEW_PRIORITY"),
        ("verdict", {"strategy": "majority_vote"}, True, None),
    ],
)
def test_a_pair_whose_decisions_would_mean_little_is_named_with_what_to_do(policy, given, calibrated, said):
    found = mismatch(load_policy(policy), [panel(**given)], calibrated=calibrated)
    assert (found is None) if said is None else (said in found and "(give " in found)


# The prompt set of a panel that names none: one rule for the command line, HTTP and Python.
RECORDS = [judgment(f"j{number}") for number in range(3)]


@pytest.fixture
def server():
    with LLMServer(score_answer(5)) as server:
        yield server


def of_agent(server, **more):
    return panel_config({"agents": [{"name": "a", "model": f"openai:m@{server.url}"}], "rubric": "baseline", **more})


async def vet(config, store, records=RECORDS):
    """The prompt versions of the assessments, and the notices about versions."""
    async with Engine(panel=config, store=store) as engine:
        found = [await engine.vet(one) for one in records]
        said = [notice for notice in engine.notices if "prompt version" in notice]
        run, *_ = await engine.store.runs(1)
    assert {one.prompt_version for one in found} == {run.config["panel"]["prompt_version"]}
    return found[0].prompt_version, said


async def test_a_fresh_store_gets_the_newest_set_without_a_word(server, tmp_path):
    assert await vet(of_agent(server), tmp_path / "s.duckdb") == (NEWEST, [])
    assert await vet(of_agent(server), tmp_path / "s.duckdb") == (NEWEST, [])
    assert server.count == 3


async def test_a_store_with_this_panels_assessments_under_the_first_set_continues_with_it(server, tmp_path):
    store = tmp_path / "s.duckdb"
    await vet(of_agent(server, prompt_version=FIRST), store)
    version, said = await vet(of_agent(server), store)
    assert (version, server.count) == (FIRST, 3)
    (notice,) = said
    assert "--prompt-version newest" in notice
    assert "prompt_version = " in notice


async def test_the_newest_set_by_name_asks_anew_and_a_pinned_first_one_says_nothing(server, tmp_path):
    store = tmp_path / "s.duckdb"
    await vet(of_agent(server, prompt_version=FIRST), store)
    assert await vet(of_agent(server, prompt_version=NEWEST), store) == (NEWEST, [])
    assert server.count == 6
    assert await vet(of_agent(server, prompt_version=FIRST), store) == (FIRST, [])
    assert server.count == 6


@pytest.mark.parametrize("other", [{"threshold": 4.0}, {"rubric": "binary"}, {"seed": 3}])
async def test_another_panel_in_an_old_store_gets_the_newest_set(server, tmp_path, other):
    store = tmp_path / "s.duckdb"
    await vet(of_agent(server, prompt_version=FIRST), store)
    assert (await vet(of_agent(server, **other), store)) == (NEWEST, [])


async def test_an_old_routes_panel_keeps_the_first_set_too(server, tmp_path):
    store, routes = tmp_path / "s.duckdb", {"routes": {"math": {"threshold": 4.0}}}
    await vet(of_agent(server, prompt_version=FIRST, **routes), store, [judgment("m", category="math")])
    version, _ = await vet(of_agent(server, **routes), store)
    assert version == FIRST


async def test_a_panel_that_the_first_set_cannot_serve_gets_the_newest(server, tmp_path):
    store = tmp_path / "s.duckdb"
    await vet(of_agent(server, prompt_version=FIRST), store)
    agents = [{"name": "a", "model": f"openai:m@{server.url}", "analysis": True}]
    assert await vet(of_agent(server, agents=agents), store) == (NEWEST, [])


async def test_a_rejudging_panel_of_the_former_default_threshold_asks_its_judges_nothing_again(tmp_path):
    store = tmp_path / "s.duckdb"
    with LLMServer(lambda _: json.dumps({"reasoning": "It adds.", "verdict": "A>>B"})) as server:
        await vet(of_agent(server, strategy="rejudge", threshold=4.5, prompt_version=FIRST), store)
        assert server.count == 6
        version, _ = await vet(of_agent(server, strategy="rejudge"), store)
        assert (version, server.count) == (FIRST, 6)


async def test_a_variant_follows_the_same_rule(server, tmp_path):
    store = tmp_path / "s.duckdb"
    await vet(of_agent(server, prompt_version=FIRST), store)
    async with Engine(panel=of_agent(server, threshold=4.0), store=store) as engine:
        assert engine.vetter.default.prompt_version == NEWEST
        assert engine.variant(of_agent(server)).default.prompt_version == FIRST
        assert engine.variant(of_agent(server, threshold=3.5)).default.prompt_version == NEWEST


async def test_without_agents_nothing_is_settled():
    config = panel_config({"strategy": "signals"})
    assert with_prompt_set(config, frozenset({"x"})) == (config, None)
    assert await stored_panels(None) == frozenset()
