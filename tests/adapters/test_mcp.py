"""The MCP server by the official SDK's client: in this process, and started as an assistant starts it."""

import json

import pytest
from mcp import Client, MCPError

from metajudge.adapters.mcp import build_server
from metajudge.adapters.vetting import Vetting
from metajudge.reading import write_jsonl
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.verdict_systems import SystemServer


@pytest.fixture
def folder(tmp_path):
    write_jsonl(tmp_path / "verdicts.jsonl", [judgment(f"j{i}") for i in range(6)])
    (tmp_path / "ballots.jsonl").write_text('{"ranking": ["a", ["b", "c"]]}\n{"ranking": ["a", "c", "b"]}\n')
    return tmp_path


def served(folder, *agents):
    store = str(folder / "s.duckdb")
    return build_server(Vetting(agents, store=store), folder, store=store)


async def said(client, tool, **given):
    result = await client.call_tool(tool, given)
    text = result.content[0].text
    return text if result.is_error else json.loads(text)


async def test_a_verdict_is_vetted_kept_and_shown(folder):
    with LLMServer(answer=score_answer(5)) as models:
        async with Client(served(folder, f"openai:gpt-4o-mini@{models.url}")) as client:
            found = await said(client, "vet_verdict", judgment=judgment("v1").model_dump(mode="json"))
            assert (found["do"]["action"], found["final_score"]) == ("keep", 5.0)
            shown = await said(client, "show_assessment", judgment_id="v1")
            assert shown["assessments"][0]["final_score"] == 5.0


async def test_files_are_audited_and_ranked(folder):
    async with Client(served(folder)) as client:
        assert (await said(client, "audit_file", file="verdicts.jsonl"))["judges"]
        ranked = await said(client, "rank_file", file="ballots.jsonl", rule="borda")
        assert ranked["ranking"] == [["a"], ["c"], ["b"]]


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        ("vet_verdict", {"judgment": {"id": "x"}}, "item"),
        ("audit_file", {"file": "../secret.jsonl"}, "not below the folder"),
        ("audit_file", {"file": "/etc/hostname"}, "not below the folder"),
        ("rank_file", {"file": "missing.jsonl"}, "there is no 'missing.jsonl'"),
        ("rank_file", {"file": "ballots.jsonl", "rule": "best"}, "best"),
        ("show_assessment", {"judgment_id": "nobody"}, "nothing under 'nobody'"),
    ],
)
async def test_what_cannot_be_done_is_an_answer_that_says_why(folder, tool, given, message):
    async with Client(served(folder)) as client:
        text = await said(client, tool, **given)
    assert isinstance(text, str)
    assert message in text


async def test_an_id_is_one_part_of_the_services_address(folder):
    with SystemServer() as service:
        server = build_server(Vetting(service=service.url), folder, service=service.url)
        async with Client(server) as client:
            await said(client, "show_assessment", judgment_id="../jobs?x=1")
    assert [request[:3] for request in service.requests] == [("GET", "/v1/assessments/../jobs?x=1", {})]


async def test_a_link_out_of_the_folder_and_an_unknown_rubric_are_refused(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "v.jsonl"
    elsewhere.write_text("{}")
    (folder / "link.jsonl").symlink_to(elsewhere)
    async with Client(served(folder)) as client:
        assert "not below the folder" in await said(client, "audit_file", file="link.jsonl")
        with pytest.raises(MCPError, match="not below the folder"):
            await client.read_resource("card://link.jsonl")
        with pytest.raises(MCPError, match="no built-in rubric 'mine'"):
            await client.read_resource("rubric://mine")
