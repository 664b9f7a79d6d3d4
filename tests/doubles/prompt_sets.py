"""A second prompt set, for as long as a test runs."""

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path

from metajudge.prompts import judge, templates
from metajudge.prompts.versions import prompt_sets


def mark(name: str) -> str:
    """What a template of the second set ends with, and one of the first does not hold."""
    return f"[second {name}]"


@contextlib.contextmanager
def second_set(folder: Path, changed: Collection[str] | None = None) -> Iterator[None]:
    """Publishes version 2: the first set's templates with a mark at their end.

    Args:
        folder: where it is written.
        changed: the templates that differ; None for all.
    """
    for name in templates.template_names() if changed is None else changed:
        text = prompt_sets()[1].joinpath(f"{name}.md.j2").read_text()
        (folder / f"{name}.md.j2").write_text(f"{text}\n{mark(name)}\n")
    prompt_sets()[2] = folder
    _forget()
    try:
        yield
    finally:
        del prompt_sets()[2]
        _forget()


def _forget() -> None:
    for cached in (templates._templates, templates._source, templates._compiled, judge.render_pairwise_system):
        cached.cache_clear()
