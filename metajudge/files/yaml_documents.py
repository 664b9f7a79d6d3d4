"""YAML files that people write: read strictly, with errors that say what to change and where."""

import reprlib
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from metajudge.errors import UserError

R = TypeVar("R", bound=BaseModel)

MAX_BYTES = 1_000_000
"""The longest file that is read."""

_BRIEF = reprlib.Repr()
_BRIEF.maxlevel, _BRIEF.maxstring, _BRIEF.maxother = 2, 60, 60

SUFFIXES = (".yaml", ".yml", ".json")


def looks_like_path(text: str) -> bool:
    """Whether a text names a file rather than something built in."""
    return "/" in text or "\\" in text or text.lower().endswith(SUFFIXES)


def read_text(path: Path, what: str, error: type[UserError]) -> str:
    """The text of a UTF-8 file of at most a megabyte; ``what`` describes it in errors."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as found:
        reason = found.strerror if isinstance(found, OSError) and found.strerror else str(found)
        raise error(f"{path}: cannot read the {what}: {reason}") from None
    if len(content) > MAX_BYTES:
        raise error(f"{path}: more than {MAX_BYTES:,} bytes; this is hardly a {what}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as found:
        raise error(f"{path}: not UTF-8 (byte {found.start}); save the file as UTF-8") from None


def parse_yaml(text: str, source: str, what: str, error: type[UserError]) -> dict[str, Any]:
    """A YAML (or JSON) document that is a mapping, without keys given twice.

    Args:
        source: what to call it in messages, e.g. its path.
        what: what it should contain, in words such as ``rubric is a mapping with name, title, ...``.
        error: the class of the errors raised.
    """
    # Imported here: YAML is needed only once a document is read. Safe loading builds no Python objects.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise error(f"{source}: the file is empty; a {what}")
        for problem in _duplicate_keys(node):
            raise error(f"{source}: {problem}")
        data = loader.construct_document(node)
    except yaml.YAMLError as found:
        raise error(f"{source}: not valid YAML: {' '.join(str(found).split())}") from None
    except (RecursionError, ValueError) as found:  # ValueError: a date such as 2024-99-99
        raise error(f"{source}: not valid YAML: {found}") from None
    finally:
        loader.dispose()
    if not isinstance(data, dict):
        raise error(f"{source}: a {what} (found {brief(data)})")
    return data


def parse_record(text: str, source: str, what: str, record: type[R], error: type[UserError]) -> R:
    """A record that a YAML (or JSON) document gives; arguments as for :func:`parse_yaml`.

    Raises:
        UserError: of the class ``error``: every problem found, one a line: source, path inside it, what is accepted,
            what was found.
    """
    data = parse_yaml(text, source, what, error)
    try:
        return record.model_validate(data)
    except ValidationError as found:
        raise error("\n".join(f"{source}: {problem}" for problem in problems_of(found, record))) from None


def problems_of(error: ValidationError, record: type[BaseModel]) -> list[str]:
    """Every problem once, in words; a list is not called too short where its entries are what is wrong."""
    found = error.errors(include_url=False)
    above = {details["loc"][:end] for details in found for end in range(len(details["loc"]))}
    reported = [details for details in found if details["type"] != "too_short" or details["loc"] not in above]
    return list(dict.fromkeys(describe(details, record) for details in reported))


def describe(details: ErrorDetails, record: type[BaseModel]) -> str:
    """One problem that pydantic found in a record: path, what is accepted, what was found."""
    path = path_of(details["loc"])
    kind, found = details["type"], details["input"]
    if kind == "missing":
        parent, _, field = path.rpartition(".")
        return f"{parent or 'top level'}: required field {field!r} is missing"
    if kind == "extra_forbidden":
        field = path.rpartition(".")[2]
        place: type[BaseModel] | None = record
        for part in details["loc"][:-1]:
            if isinstance(part, str) and place is not None:
                place = _model_in(place.model_fields[part].annotation)
        known = [] if place is None else list(place.model_fields)
        return f"{path}: unknown field; accepted: {name_list(known)}{did_you_mean(field, known)}"
    message = details["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if hasattr(type(found), "model_fields") or (isinstance(found, dict) and kind == "value_error"):
        return f"{path}: {message}" if path else message  # a check of the whole, which names the place itself
    return f"{path}: {message} (found {brief(found)})"


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first record in the type of a field."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)


def path_of(loc: tuple[int | str, ...]) -> str:
    """A place inside a document: ``criteria[0].levels``."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part != "[key]":
            path += f".{part}" if path else str(part)
    return path


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


def brief(value: object) -> str:
    """What was found, for an error message: a few dozen characters even of something huge or endless."""
    return _BRIEF.repr(value)


def name_list(names: Iterable[str]) -> str:
    """Names for an error message."""
    return ", ".join(map(str, names)) or "none"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error message that offers close matches; empty where nothing is close."""
    close = get_close_matches(name, list(known), n=2)
    return f"; did you mean {' or '.join(close)}?" if close else ""
