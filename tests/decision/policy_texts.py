"""Texts of policies: the shipped one for risks, small ones, and what is wrong with a text."""

from importlib.resources import files

import pytest
import yaml

from metajudge.decision import parse_policy
from metajudge.errors import PolicyError

FOLDER = files("metajudge.rubric_files.policies")


RISK = FOLDER.joinpath("risk_analysis.yaml").read_text("utf-8")


def changed(text, *pairs):
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def problem(text):
    with pytest.raises(PolicyError) as found:
        parse_policy(text, "mine.yaml")
    return str(found.value)


def small(**changes):
    data = {
        "name": "mine",
        "title": "Mine",
        "description": "For tests.",
        "basis": "probability",
        "bands": [
            {"action": "APPROVE", "value": {"at_least": 0.5}, "justification": "Likely."},
            {"action": "REJECT", "value": {"below": 0.5}, "justification": "Unlikely."},
        ],
    }
    return yaml.safe_dump({**data, **changes}, sort_keys=False)


def band(action="REVIEW", value=None, confidence=None):
    return {
        "action": action,
        **({"value": value} if value else {}),
        **({"confidence": confidence} if confidence else {}),
        "justification": "Because.",
    }
