"""A prompt set after the newest one, for as long as a test runs."""

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path

from metajudge.prompts import instruction, judges, templates
from metajudge.prompts.versions import NEWEST, prompt_sets

NEXT = NEWEST + 1
"""The version that :func:`next_set` publishes."""


def mark(name: str) -> str:
    """What a template of the next set ends with, and one of the sets before does not hold."""
    return f"[next {name}]"


@contextlib.contextmanager
def next_set(folder: Path, changed: Collection[str] | None = None) -> Iterator[None]:
    """Publishes version :data:`NEXT`: the newest set's templates with a mark at their end.

    Args:
        folder: where it is written.
        changed: the templates that differ; None for all.
    """
    for name in templates.template_names(NEWEST) if changed is None else changed:
        text = templates._source(name, NEWEST)
        (folder / f"{name}.md.j2").write_text(f"{text}\n{mark(name)}\n")
    prompt_sets()[NEXT] = folder
    _forget()
    try:
        yield
    finally:
        del prompt_sets()[NEXT]
        _forget()


def _forget() -> None:
    rendered = (judges.render_pairwise_system, instruction._own_prompts)
    for cached in (templates._templates, templates._source, templates._compiled, *rendered):
        cached.cache_clear()
