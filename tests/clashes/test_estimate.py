"""The estimate of a clash counts the calls that the run then makes."""

import pytest

from metajudge.clashes.run import estimate_clash
from metajudge.clashes.setup import ClashSettings
from metajudge.errors import ConfigurationError
from metajudge.panels.config import PanelConfig, with_flags
from metajudge.types import Item

PAIR = Item(id="q", question="What is 2 + 2?", responses={"a": "four", "b": "five"})
THREE = ("openai:gpt-5", "anthropic:claude-opus-4-5", "openai:gpt-4o")


@pytest.mark.parametrize(
    ("changes", "calls"),
    [
        ({"given": True}, 3),
        ({"given": True, "repeats": 4}, 12),
        ({"given": True, "criteria_model": "openai:gpt-4o-mini", "repeats": 2}, 2 * (1 + 3)),
        ({"candidates": ("openai:gpt-5", "openai:gpt-4o")}, 2 + 3),
        ({"candidates": ("openai:gpt-5", "openai:gpt-4o"), "observers": True}, 2 + 3 + 2),
        ({"candidates": ("openai:gpt-5", "openai:gpt-4o"), "cycles": 3, "repeats": 2}, 3 * (2 + 6)),
    ],
)
def test_every_call_of_the_run_is_counted(changes, calls):
    found = estimate_clash(ClashSettings(**changes), with_flags(PanelConfig(), THREE), [PAIR])
    assert found.calls == calls
    assert found.input_tokens > 0 < found.output_tokens


def test_a_model_without_a_price_leaves_the_cost_unknown_not_zero():
    panel = with_flags(PanelConfig(), ["openai:never-heard-of@http://127.0.0.1:9/v1"])
    found = estimate_clash(ClashSettings(given=True), panel, [PAIR])
    assert found.cost_usd is None
    assert found.unpriced == ["never-heard-of"]


def test_judges_that_make_no_sense_are_refused_before_anything_is_priced():
    with pytest.raises(ConfigurationError):
        estimate_clash(ClashSettings(given=True), with_flags(PanelConfig(), ["openai:a", "openai:a"]), [PAIR])
