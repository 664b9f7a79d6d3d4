"""Rubrics as documents, and what reading them gives."""

import json
from importlib.resources import files

import yaml

from metajudge.rubric import validate_rubric_text

FOLDER = files("metajudge.rubric_files")


SCHEMA = json.loads(FOLDER.joinpath("rubric.schema.json").read_text("utf-8"))


SEVEN = ("accuracy", "logical_soundness", "completeness", "fairness", "relevance", "clarity", "impactfulness")


def document(**changes):
    """A small valid rubric as data, with top-level fields replaced (None removes)."""
    data = {
        "name": "mine",
        "title": "Mine",
        "description": "A rubric.",
        "scale": {"low": 1, "high": 3},
        "criteria": [criterion("first"), criterion("second")],
        **changes,
    }
    return {key: value for key, value in data.items() if value is not None}


def criterion(name, **changes):
    data = {"name": name, "title": name.title(), "description": "What.", "weight": 1}
    data = {**data, "levels": {1: "bad", 2: "fair", 3: "good"}, **changes}
    return {key: value for key, value in data.items() if value is not None}


def read(data):
    return validate_rubric_text(yaml.safe_dump(data, sort_keys=False), "mine.yaml")
