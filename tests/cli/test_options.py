"""Values that the shell completes."""

from typing import get_args

from metajudge.cli.options import (
    STRATEGIES,
    complete_agent,
    complete_engine,
    complete_policy,
    complete_strategy,
)
from metajudge.panels.config import Strategy


def test_values_are_completed_with_their_meanings_and_from_what_there_is():
    assert [value for value, _ in complete_strategy("s")] == ["single", "signals"]
    assert [value for value, _ in complete_engine("")] == ["local", "ray"]
    assert complete_policy("verdict") == ["verdict", "verdict_score"]
    assert "openai:" in complete_agent("open")
    assert {value for value, _ in STRATEGIES} == set(get_args(Strategy)), "every strategy, and no other"
