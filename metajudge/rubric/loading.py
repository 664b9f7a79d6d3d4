"""Rubrics by name or from a YAML file, with errors that say what to change and where.

>>> load_rubric("short").weights["accuracy"]
0.2
>>> load_rubric("short", weights="long").weights["accuracy"]
0.25
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from metajudge.errors import RubricError
from metajudge.rubric.model import Criterion, Rubric, RubricKind, Scale, did_you_mean, name_list
from metajudge.rubric.yaml_documents import looks_like_path, parse_yaml, problems_of, read_text

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


def load_rubric(name_or_path: str | Path, weights: str | Mapping[str, float] | None = None) -> Rubric:
    """Loads a built-in rubric by its name, or a rubric of your own from a YAML file.

    Args:
        name_or_path: one of :data:`BUILTIN_RUBRICS` or :data:`CASE_RUBRICS`, or a path (a ``Path``, or a string with
            a directory in it or ending in .yaml, .yml or .json).
        weights: a weight set of the rubric by name, or a positive number for every criterion; None keeps
            the weights written at the criteria.

    Raises:
        RubricError: unknown name, unreadable file, or contents that are not a rubric.
    """
    if isinstance(name_or_path, str) and not looks_like_path(name_or_path):
        known = BUILTIN_RUBRICS + CASE_RUBRICS
        if name_or_path not in known:
            raise RubricError(
                f"unknown rubric {name_or_path!r}; built in are {name_list(known)}"
                f"{did_you_mean(name_or_path, known)} (a file of your own: give its path, ending in .yaml)"
            )
        rubric = _builtin(name_or_path)
    else:
        path = Path(name_or_path)
        rubric = validate_rubric_text(read_text(path, "rubric", RubricError), str(path))
    return rubric if weights is None else rubric.with_weights(weights)


def list_rubrics() -> list[Rubric]:
    """The built-in rubrics of judgments, with their own weights."""
    return [_builtin(name) for name in BUILTIN_RUBRICS]


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
    data = parse_yaml(text, source, "rubric is a mapping with name, title, description and criteria", RubricError)
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        problems = problems_of(error, _known_fields)
        raise RubricError("\n".join(f"{source}: {problem}" for problem in problems)) from None


@cache
def _builtin(name: str) -> Rubric:
    package = "metajudge.rubric_files.cases" if name in CASE_RUBRICS else "metajudge.rubric_files"
    text = files(package).joinpath(f"{name}.yaml").read_text("utf-8")
    return validate_rubric_text(text, f"{name}.yaml")


def _known_fields(loc: tuple[int | str, ...]) -> list[str]:
    if len(loc) == 1:
        return list(Rubric.model_fields)
    return list(Criterion.model_fields if loc[0] == "criteria" else Scale.model_fields)
