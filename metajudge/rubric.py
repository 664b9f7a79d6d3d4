"""Rubrics by name or from a YAML file, with errors that say what to change and where.

>>> load_rubric("short").weights["accuracy"]
0.2
>>> load_rubric("short", weights="long").weights["accuracy"]
0.25
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from metajudge.errors import RubricError
from metajudge.rubric_model import Criterion, Rubric, RubricKind, Scale, brief, did_you_mean, name_list

__all__ = [
    "BUILTIN_RUBRICS",
    "Criterion",
    "Rubric",
    "RubricKind",
    "Scale",
    "list_rubrics",
    "load_rubric",
    "validate_rubric_text",
]

BUILTIN_RUBRICS = ("short", "long", "binary", "baseline")
"""The rubrics that come with metajudge."""

_MAX_FILE_BYTES = 1_000_000
_SUFFIXES = (".yaml", ".yml", ".json")


def load_rubric(name_or_path: str | Path, weights: str | Mapping[str, float] | None = None) -> Rubric:
    """Loads a built-in rubric by its name, or a rubric of your own from a YAML file.

    Args:
        name_or_path: one of :data:`BUILTIN_RUBRICS`, or a path (a ``Path``, or a string with a directory in
            it or ending in .yaml, .yml or .json).
        weights: a weight set of the rubric by name, or a positive number for every criterion; None keeps
            the weights written at the criteria.

    Raises:
        RubricError: unknown name, unreadable file, or contents that are not a rubric.
    """
    if isinstance(name_or_path, str) and not _looks_like_path(name_or_path):
        if name_or_path not in BUILTIN_RUBRICS:
            raise RubricError(
                f"unknown rubric {name_or_path!r}; built in are {name_list(BUILTIN_RUBRICS)}"
                f"{did_you_mean(name_or_path, BUILTIN_RUBRICS)} (a file of your own: give its path, ending in .yaml)"
            )
        rubric = _builtin(name_or_path)
    else:
        rubric = _read_file(Path(name_or_path))
    return rubric if weights is None else rubric.with_weights(weights)


def list_rubrics() -> list[Rubric]:
    """The built-in rubrics, with their own weights."""
    return [_builtin(name) for name in BUILTIN_RUBRICS]


def validate_rubric_text(text: str, source: str) -> Rubric:
    """Reads a rubric from YAML text.

    Args:
        text: the YAML (or JSON) document.
        source: what to call it in error messages, e.g. its path.

    Raises:
        RubricError: every problem found, one a line: source, path inside it, what is accepted, what was found.
    """
    data = _parse_yaml(text, source)
    if not isinstance(data, dict):
        raise RubricError(
            f"{source}: a rubric is a mapping with name, title, description and criteria (found {brief(data)})"
        )
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        problems = dict.fromkeys(_describe(details) for details in error.errors(include_url=False))
        raise RubricError("\n".join(f"{source}: {problem}" for problem in problems)) from None


def _looks_like_path(text: str) -> bool:
    return "/" in text or "\\" in text or text.lower().endswith(_SUFFIXES)


@cache
def _builtin(name: str) -> Rubric:
    text = files("metajudge.rubric_files").joinpath(f"{name}.yaml").read_text("utf-8")
    return validate_rubric_text(text, f"{name}.yaml")


def _read_file(path: Path) -> Rubric:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RubricError(f"{path}: cannot read the rubric: {reason}") from None
    if len(content) > _MAX_FILE_BYTES:
        raise RubricError(f"{path}: more than {_MAX_FILE_BYTES:,} bytes; this is hardly a rubric")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RubricError(f"{path}: not UTF-8 (byte {error.start}); save the file as UTF-8") from None
    return validate_rubric_text(text, str(path))


def _parse_yaml(text: str, source: str) -> Any:
    # Imported here: YAML is needed only once a rubric is read. Safe loading builds no Python objects.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise RubricError(f"{source}: the file is empty; a rubric is a mapping with name, title, ...")
        for problem in _duplicate_keys(node):
            raise RubricError(f"{source}: {problem}")
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        raise RubricError(f"{source}: not valid YAML: {' '.join(str(error).split())}") from None
    except (RecursionError, ValueError) as error:  # ValueError: a date such as 2024-99-99
        raise RubricError(f"{source}: not valid YAML: {error}") from None
    finally:
        loader.dispose()


def _duplicate_keys(root: Any) -> Iterator[str]:
    """Problems with keys that YAML would let a later one overwrite silently."""
    waiting, visited = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in visited:  # an alias
            continue
        visited.add(id(node))
        if node.id == "sequence":
            waiting.extend(node.value)
        elif node.id == "mapping":
            first_lines: dict[tuple[str, str], int] = {}
            for key, value in node.value:
                waiting.append(value)
                if key.id != "scalar":
                    continue
                line, name = key.start_mark.line + 1, (key.tag, key.value)
                if name in first_lines:
                    first = first_lines[name]
                    yield f"line {line}: key {key.value!r} was already given on line {first}; keep one of them"
                first_lines[name] = line


def _describe(details: ErrorDetails) -> str:
    path = _path(details["loc"])
    kind, found = details["type"], details["input"]
    if kind == "missing":
        parent, _, field = path.rpartition(".")
        return f"{parent or 'top level'}: required field {field!r} is missing"
    if kind == "extra_forbidden":
        parent, _, field = path.rpartition(".")
        known = _known_fields(details["loc"])
        return f"{path}: unknown field; accepted: {name_list(known)}{did_you_mean(field, known)}"
    message = details["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if isinstance(found, Rubric | Scale | Criterion) or (isinstance(found, dict) and kind == "value_error"):
        return f"{path}: {message}" if path else message  # a check of the whole, which names the place itself
    return f"{path}: {message} (found {brief(found)})"


def _path(loc: tuple[int | str, ...]) -> str:
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part != "[key]":
            path += f".{part}" if path else str(part)
    return path


def _known_fields(loc: tuple[int | str, ...]) -> list[str]:
    if len(loc) == 1:
        return list(Rubric.model_fields)
    return list(Criterion.model_fields if loc[0] == "criteria" else Scale.model_fields)
