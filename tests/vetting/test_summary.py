"""Counts of a run: what was left out by rule, and replies without the analysis asked for."""

import pytest

from metajudge import Engine
from metajudge.panels.config import panel_config
from metajudge.rubric import load_rubric
from tests.doubles.judgments import judgment, reply
from tests.doubles.llm_server import LLMServer, requested_schema, score_answer

RECORDS = [judgment("a"), judgment("b", rationale=""), judgment("c", rationale=" \n")]
LEFT_OUT = {"logical_soundness": 2, "completeness": 2, "clarity": 2, "impactfulness": 2}


def without_analysis(body):
    """The same answer as a good one, but for the analysis."""
    names = [name for name in requested_schema(body)["properties"] if name != "analysis"]
    return reply(5, load_rubric("short").only(names))


def panel(server, **more):
    agents = [{"name": f"m{n}", "model": f"openai:m{n}@{server.url}"} for n in range(2)]
    return panel_config({"agents": agents, **more})


async def summary_of(config, store=None):
    async with Engine(panel=config, store=store) as engine:
        return await engine.vet_all(RECORDS)


@pytest.mark.parametrize("strategy", ["majority_vote", "panel_discussion"])
async def test_judgments_without_a_rationale_are_counted_once_whoever_scored_them(strategy, tmp_path):
    with LLMServer(score_answer(5)) as server:
        config = panel(server, strategy=strategy)
        new = await summary_of(config, tmp_path / "s.duckdb")
        again = await summary_of(config, tmp_path / "s.duckdb")
    for summary in (new, again):
        assert (summary.accepted, summary.without_rationale, summary.without_analysis) == (3, 2, 0)
        assert summary.not_applicable == LEFT_OUT
    assert again.reused == 3


async def test_under_the_first_set_nothing_is_left_out():
    with LLMServer(score_answer(5)) as server:
        summary = await summary_of(panel(server, prompt_version=1))
    assert (summary.without_rationale, summary.not_applicable) == (0, {})


@pytest.mark.parametrize(("strategy", "replies"), [("majority_vote", 6), ("panel_discussion", 12)])
async def test_replies_without_the_analysis_are_counted_reply_by_reply(strategy, replies):
    with LLMServer(without_analysis) as server:
        summary = await summary_of(panel(server, strategy=strategy))
    assert (summary.accepted, summary.without_analysis, server.count) == (3, replies, replies)


async def test_no_analysis_is_missing_where_none_was_asked_for():
    with LLMServer(without_analysis) as server:
        agents = [{"model": f"openai:m@{server.url}", "analysis": False}]
        assert (await summary_of(panel(server, agents=agents))).without_analysis == 0
