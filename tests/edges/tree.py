"""The tree of commands, as the command line builds it."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from metajudge.cli.app import app


@cache
def leaves() -> tuple[tuple[str, ...], ...]:
    """The words of every command that is no group."""
    return tuple(words for words, _ in _walk(typer.main.get_command(app), ()))


def options() -> dict[str, list[str]]:
    """Every command's options and arguments by name, in alphabetical order."""
    found = {}
    for words, command in _walk(typer.main.get_command(app), ()):
        names = [name for one in command.params for name in (*one.opts, *one.secondary_opts)]
        found[" ".join(words)] = sorted(names)
    return found


def _walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    within = getattr(command, "commands", None)
    if within is None:
        yield words, command
    else:
        for name in within:
            yield from _walk(within[name], (*words, name))
