"""Stated confidence."""

from typing import Any

import pytest

from metajudge.evidence.format import stated_confidence
from tests.evidence.verdicts import judged


@pytest.mark.parametrize(
    ("meta", "value", "state"),
    [
        ({"confidence": 0.8}, 0.8, "stated"),
        ({"confidence": 4}, 4.0, "stated"),
        ({}, None, "not_stated"),
        ({"confidence": "high"}, None, "no_number"),
        ({"confidence": True}, None, "no_number"),
        ({"confidence": float("nan")}, None, "no_number"),
    ],
)
def test_a_number_is_read_and_nothing_else(meta: dict[str, Any], value: float | None, state: str) -> None:
    found = stated_confidence(judged("A>B", meta=meta))
    assert (found.value, found.state) == (value, state)
