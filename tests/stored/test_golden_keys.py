"""Keys of settings that no stored run has, as literals: a change of one of them asks models anew.

A literal here is never edited to make a test pass. If a key has to change, stored data must be found under the old one.
"""

import pytest

from metajudge.panels.building import build_vetter
from metajudge.panels.config import panel_config
from metajudge.providers.model import Message, ModelRequest, OutputSchema, Parameters, request_key
from metajudge.providers.spec import parse_agent_spec
from metajudge.providers.stack import Resources, build_model
from tests.doubles.judgments import judgment

OPENAI, ANTHROPIC = "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5"
RESOURCES = Resources(key_for=lambda _spec: "not-sent")
SCHEMA = OutputSchema("answer", {"type": "object", "properties": {"score": {"enum": [1, 2, 3]}}, "required": ["score"]})
SETTINGS = Parameters(temperature=0.0, top_p=0.9, max_tokens=50, seed=1, effort="low", headers=(("x-a", "b"),))
TWO = [{"name": "ann", "model": OPENAI, "temperature": 0.2}, {"model": ANTHROPIC, "role": "critic", "weight": 2}]
CALLS = {
    OPENAI: ("c6b2409505062e1866cfd5c1f9e9946a", "fb518566365a9066300392a30b091ea7"),
    ANTHROPIC: ("2d4aa8d048df41303328dbd1cbfbc8d1", "2b21d28a29ebe2c0d41195458382a0b3"),
    "vllm:m@http://localhost:9/v1": ("ebeef6db28f1976bbc259f2627d03b27", "5446f895f4ccc4ccf28497b539392f79"),
}
"""Model -> keys of a request for text, and of one for JSON with every setting."""
PANELS = [
    (
        {"agents": TWO, "rubric": "binary", "seed": 7},
        ("0cee8d571dfbd99534326f83241b3d8f", "62ec5b7aed184dbfa1470e58b0a7e30f"),
    ),
    (
        {"agents": TWO, "strategy": "weighted_average", "rubric": "long", "quorum": 2, "families": "forbid"},
        ("0f18d3f39d9509ed1cd68086cd9242e6", "49b6856ec467f02e880740d48759c080"),
    ),
    (
        {"agents": [{"model": f"{OPENAI}@http://localhost:8000"}]},
        ("e0de877c0fef951170b6c9f9f73a6a01", "7820893f6f2e4db4c9f7013d16439e07"),
    ),
]
"""A panel, its digest, and the key of its assessment of one judgment."""


@pytest.mark.parametrize("spec", CALLS)
def test_keys_of_calls(spec):
    model, messages = build_model(parse_agent_spec(spec), resources=RESOURCES), (Message("user", "Question?"),)
    requests = ModelRequest("System.", messages), ModelRequest("System.", messages, SCHEMA, SETTINGS, draw=2)
    assert tuple(request_key(model, one) for one in requests) == CALLS[spec]


@pytest.mark.parametrize(("panel", "keys"), PANELS)
def test_keys_of_panels(panel, keys):
    vetter = build_vetter(panel_config({**panel, "prompt_version": 1}), RESOURCES, early_exit=False)
    assert (vetter.default.digest, vetter.key(judgment(item_id="i1", category="Math"))) == keys
