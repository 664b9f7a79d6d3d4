"""Rubrics: criteria with weights on a scale, by name or from a YAML file, with errors that say what to change where.

>>> load_rubric("short").weights["accuracy"]
0.2
>>> load_rubric("short", weights="long").weights["accuracy"]
0.25
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from metajudge.errors import RubricError
from metajudge.files.yaml_documents import did_you_mean, looks_like_path, name_list, parse_record, read_text
from metajudge.rubric.model import Criterion, Rubric, RubricKind, Scale

__all__ = [
    "BUILTIN_RUBRICS",
    "CASE_RUBRICS",
    "Criterion",
    "Rubric",
    "RubricKind",
    "Scale",
    "list_case_rubrics",
    "list_rubrics",
    "load_rubric",
    "validate_rubric_text",
]

BUILTIN_RUBRICS = ("short", "long", "binary", "baseline")
"""The rubrics of judgments that come with metajudge."""

CASE_RUBRICS = ("risk_analysis",)
"""The rubrics of cases that come with metajudge."""

_FOLDER = re.compile(r"v[1-9][0-9]*")
"""Folder ``v<n>`` has the built-in rubrics of prompt set n that a later set replaced; they are never edited."""


def load_rubric(
    name_or_path: str | Path, weights: str | Mapping[str, float] | None = None, *, prompt_set: int | None = None
) -> Rubric:
    """Loads a built-in rubric by its name, or a rubric of your own from a YAML file.

    Args:
        name_or_path: one of :data:`BUILTIN_RUBRICS` or :data:`CASE_RUBRICS`, or a path (a ``Path``, or a string with
            a directory in it or ending in .yaml, .yml or .json).
        weights: a weight set of the rubric by name, or a positive number for every criterion; None keeps
            the weights written at the criteria.
        prompt_set: version of the prompt set whose built-in rubric is wanted; None for the newest. A file of your own
            is the same for all.

    Raises:
        RubricError: unknown name, unreadable file, or contents that are not a rubric.
    """
    if prompt_set is not None and prompt_set < 1:
        raise RubricError(f"prompt_set must be 1 or more, not {prompt_set}: prompt sets are numbered from 1")
    if isinstance(name_or_path, str) and not looks_like_path(name_or_path):
        known = BUILTIN_RUBRICS + CASE_RUBRICS
        if name_or_path not in known:
            raise RubricError(
                f"unknown rubric {name_or_path!r}; built in are {name_list(known)}"
                f"{did_you_mean(name_or_path, known)} (a file of your own: give its path, ending in .yaml)"
            )
        rubric = _builtin(name_or_path, prompt_set)
    else:
        path = Path(name_or_path)
        rubric = validate_rubric_text(read_text(path, "rubric", RubricError), str(path))
    return rubric if weights is None else rubric.with_weights(weights)


def list_rubrics(*, prompt_set: int | None = None) -> list[Rubric]:
    """The built-in rubrics of judgments, with their own weights; of a prompt set, or the newest."""
    return [_builtin(name, prompt_set) for name in BUILTIN_RUBRICS]


def list_case_rubrics() -> list[Rubric]:
    """The built-in rubrics of cases."""
    return [_builtin(name) for name in CASE_RUBRICS]


def validate_rubric_text(text: str, source: str) -> Rubric:
    """Reads a rubric from YAML text.

    Args:
        text: the YAML (or JSON) document.
        source: what to call it in error messages, e.g. its path.

    Raises:
        RubricError: every problem found, one a line: source, path inside it, what is accepted, what was found.
    """
    what = "rubric is a mapping with name, title, description and criteria"
    return parse_record(text, source, what, Rubric, RubricError)


@cache
def _builtin(name: str, prompt_set: int | None = None) -> Rubric:
    package = "metajudge.rubric_files.cases" if name in CASE_RUBRICS else "metajudge.rubric_files"
    folder = files(package)
    older = (int(entry.name[1:]) for entry in folder.iterdir() if _FOLDER.fullmatch(entry.name))
    for last in sorted(older):
        there = folder / f"v{last}" / f"{name}.yaml"
        if prompt_set is not None and prompt_set <= last and there.is_file():
            return validate_rubric_text(there.read_text("utf-8"), f"v{last}/{name}.yaml")
    return validate_rubric_text((folder / f"{name}.yaml").read_text("utf-8"), f"{name}.yaml")
