"""Prompt templates: the files of the sets in :mod:`metajudge.prompts.versions`, rendered strictly.

A missing variable and an unused value are both errors: the first would send a hole to a model, the second
hides that a text never reached it. Values are inserted as they are and never rendered again.
"""

from dataclasses import dataclass
from functools import cache, partial
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from metajudge.errors import PromptError
from metajudge.prompts.fences import fence, fence_rules
from metajudge.prompts.versions import FIRST, check_version, prompt_sets
from metajudge.types.digests import digest, text_digest

if TYPE_CHECKING:
    from jinja2 import Environment, Template  # imported where a prompt is rendered

_SUFFIX = ".md.j2"


@dataclass(frozen=True, slots=True)
class ShownResponse:
    """A response as a template shows it."""

    label: str
    text: str


def _fence(version: int, text: object, name: str) -> str:
    if not isinstance(text, str):
        raise PromptError(f"the {name} of a prompt must be text, not {type(text).__name__}")
    return fence(name, text, version)


@cache
def _environment(version: int) -> "Environment":
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - prompts are text, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["fence"] = partial(_fence, version)
    return environment


@dataclass(frozen=True, slots=True)
class _Compiled:
    template: "Template"
    variables: frozenset[str]


def render(name: str, version: int = FIRST, /, **values: object) -> str:
    """Renders the template ``name``.md.j2.

    Args:
        name: a template's name, see :func:`template_names`.

    Returns:
        The text without line feeds at its end.

    Raises:
        PromptError: no such template, a missing variable, or a value the template does not use.
        ConfigurationError: no such set.
    """
    from jinja2 import TemplateError

    compiled = _compiled(name, version)
    if compiled.variables != values.keys():
        raise PromptError(_mismatch(name, compiled.variables, frozenset(values)))
    try:
        return compiled.template.render(values).rstrip("\n")
    except TemplateError as error:
        raise PromptError(f"prompt {name!r}: {error}; correct {name}{_SUFFIX} or what is passed to it") from error


def prompts_digest(*names: str, version: int = FIRST) -> str:
    """Digest over the bytes of a set's template files, and over its fences; of all files where no name is given.

    Two sets with the same bytes and fences have the same digest: the version is no part of it.

    Raises:
        PromptError: no such template.
        ConfigurationError: no such set.
    """
    chosen = sorted(set(names)) or template_names(version)
    parts: list[object] = [[name, text_digest(_source(name, version))] for name in chosen]
    if (fences := fence_rules(version)) != FIRST:  # the first set's digests are without
        parts.append(["fences", fences])
    return digest(parts)


def template_names(version: int = FIRST) -> tuple[str, ...]:
    """Names of all templates of a set, sorted."""
    return tuple(sorted(_templates(version)))


@cache
def _templates(version: int) -> dict[str, Traversable]:
    """Name -> file: the newest one up to this version."""
    check_version(version)
    found: dict[str, Traversable] = {}
    for number, folder in prompt_sets().items():
        if number <= version:
            there = (entry for entry in folder.iterdir() if entry.name.endswith(_SUFFIX))
            found |= {entry.name.removesuffix(_SUFFIX): entry for entry in there}
    return found


@cache
def _source(name: str, version: int) -> str:
    if (file := _templates(version).get(name)) is None:
        raise PromptError(f"no prompt template {name!r}; there are {', '.join(template_names(version))}")
    return file.read_bytes().decode("utf-8")


@cache
def _compiled(name: str, version: int) -> _Compiled:
    from jinja2 import TemplateError
    from jinja2.meta import find_undeclared_variables

    source, environment = _source(name, version), _environment(fence_rules(version))
    try:
        parsed = environment.parse(source)
        return _Compiled(environment.from_string(parsed), frozenset(find_undeclared_variables(parsed)))
    except TemplateError as error:
        raise PromptError(f"prompt {name!r}: {error}; correct {name}{_SUFFIX}") from error


def _mismatch(name: str, needed: frozenset[str], given: frozenset[str]) -> str:
    problems = [f"variable {missing!r} is missing" for missing in sorted(needed - given)]
    problems += [f"value {unused!r} is not used by the template" for unused in sorted(given - needed)]
    return f"prompt {name!r}: {'; '.join(problems)}; it takes {', '.join(sorted(needed)) or 'no variables'}"
