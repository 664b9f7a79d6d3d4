"""Real recorded judgments through both protocols; run where METAJUDGE_DATA names a folder that holds them."""

import os
from pathlib import Path

import jsonschema
import pytest

from metajudge import Engine, load_rubric
from metajudge.agents import output_schema
from metajudge.prompts.fences import CLOSE, OPEN
from metajudge.prompts.reply_form import ReplyForm
from metajudge.readers import open_judgments
from tests.doubles.llm_server import LLMServer, score_answer

DATA = Path(os.environ.get("METAJUDGE_DATA", "")) / "judgebench"
pytestmark = pytest.mark.skipif(
    not (os.environ.get("METAJUDGE_DATA") and DATA.is_dir()), reason="METAJUDGE_DATA names no folder with judgebench/"
)

OPENAI_BODY = {
    "type": "object",
    "required": ["model", "messages", "response_format"],
    "additionalProperties": False,
    "properties": {
        "model": {"const": "gpt-4o-mini"},
        "messages": {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "items": {
                "type": "object",
                "required": ["role", "content"],
                "additionalProperties": False,
                "properties": {"role": {"enum": ["system", "user"]}, "content": {"type": "string", "minLength": 1}},
            },
        },
        "response_format": {
            "type": "object",
            "required": ["type", "json_schema"],
            "additionalProperties": False,
            "properties": {
                "type": {"const": "json_schema"},
                "json_schema": {
                    "type": "object",
                    "required": ["name", "schema", "strict"],
                    "additionalProperties": False,
                    "properties": {
                        "name": {"pattern": "^[a-zA-Z0-9_-]{1,64}$"},
                        "strict": {"const": True},
                        "schema": {},
                    },
                },
            },
        },
        "max_tokens": {"type": "integer"},
    },
}
ANTHROPIC_BODY = {
    "type": "object",
    "required": ["model", "max_tokens", "messages", "system", "output_config"],
    "additionalProperties": False,
    "properties": {
        "model": {"const": "claude-sonnet-4-5"},
        "max_tokens": {"type": "integer", "minimum": 1},
        "messages": {"type": "array", "minItems": 1, "maxItems": 1},
        "system": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["type", "text", "cache_control"],
                "properties": {"type": {"const": "text"}, "cache_control": {"const": {"type": "ephemeral"}}},
            },
        },
        "output_config": {
            "type": "object",
            "required": ["format"],
            "properties": {"format": {"type": "object", "required": ["type", "schema"]}},
        },
    },
}


@pytest.mark.parametrize("judge", ["o1-mini-2024-09-12", "openrouter/inception/mercury"])
async def test_recorded_judgments_are_vetted_in_the_shapes_the_providers_document(judge):
    source = open_judgments([DATA], judges=[judge], limit=60)
    given = {one.id: one for one in source}
    results = {}
    with LLMServer(answer=score_answer(5)) as server:
        agents = [f"openai:gpt-4o-mini@{server.url}/v1", f"anthropic:claude-sonnet-4-5@{server.url}/v1"]
        async with Engine(agents, concurrency=16) as engine:
            summary = await engine.vet_all(
                source, on_result=lambda _index, _one, result: results.update({result.judgment_id: result})
            )
        bodies = server.bodies
    decided = [one for one in given.values() if one.verdict is not None]
    assert (summary.judgments, summary.assessed) == (60, len(decided))
    assert summary.calls == len(bodies) == 2 * len(decided)
    short, form = load_rubric("short"), ReplyForm(analysis=True)
    schemas = [output_schema(rubric, form).schema for rubric in (short, short.for_verdict_alone())]
    prompts = []
    for body in bodies:
        if "response_format" in body:
            jsonschema.validate(body, OPENAI_BODY)
            assert body["response_format"]["json_schema"]["schema"] in schemas
            prompts.append(body["messages"][1]["content"])
        else:
            jsonschema.validate(body, ANTHROPIC_BODY)
            assert body["output_config"]["format"] in [{"type": "json_schema", "schema": one} for one in schemas]
            content = body["messages"][0]["content"]
            prompts.append(content if isinstance(content, str) else content[0]["text"])
    assert all(prompt.count(OPEN) == prompt.count(CLOSE) >= 8 for prompt in prompts)
    assert {one.status for key, one in results.items() if given[key].verdict is not None} == {"assessed"}


def test_a_swapped_game_is_shown_as_the_judge_saw_it():
    from metajudge.prompts.fences import neutralise
    from metajudge.prompts.meta_judge import render_request

    games = list(open_judgments([DATA], judges=["o1-mini-2024-09-12"], limit=40))
    swapped = [one for one in games if one.order == ("B", "A") and one.verdict is not None and one.verdict.strength]
    assert swapped
    for one in swapped:
        text = render_request(one)
        assert text.index(neutralise(one.item.responses["B"])) < text.rindex(neutralise(one.item.responses["A"]))
        assert text.index("## Response A") < text.index("## Response B")
        shown = one.verdict.relabelled({"A": "B", "B": "A"})
        assert f"{shown}: " in text
