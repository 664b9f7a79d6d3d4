"""Counts of a run: what was left out by rule, and replies without the analysis asked for."""

import json

import jsonschema
import pytest

from metajudge import Engine
from metajudge.cli.vet_report import Told
from metajudge.evidence.counting import Counts
from metajudge.panels.config import PanelConfig, panel_config
from metajudge.rubric import load_rubric
from metajudge.vetting.summary import VetSummary, summary_schema
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
async def test_replies_without_the_analysis_asked_for_are_counted_reply_by_reply(strategy, replies):
    with LLMServer(without_analysis) as server:
        summary = await summary_of(panel(server, strategy=strategy))
        assert (summary.accepted, summary.without_analysis, server.count) == (3, replies, replies)
        agents = [{"model": f"openai:m@{server.url}", "analysis": False}]
        assert (await summary_of(panel(server, agents=agents))).without_analysis == 0


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_what_is_printed_fits_the_schema(tmp_path, capsys):
    summary = VetSummary(judgments=3, accepted=2, rejected=1, webhook={"delivered": 1, "known": 0, "failed": 0})
    summary.failures["connection"] = 2
    Told(summary, Counts(), PanelConfig(), tmp_path / "r.jsonl").print_json()
    printed = json.loads(capsys.readouterr().out)
    schema = summary_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(printed, schema)
    assert (printed["version"], printed["kept"], printed["discarded"]) == (1, 2, 1)
    assert printed.keys() <= schema["properties"].keys()
    assert not {"gathered", "accepted", "rejected"} & schema["properties"].keys()
