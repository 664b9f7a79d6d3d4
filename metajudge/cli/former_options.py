"""Forms of options that one more version understands."""

from collections.abc import Sequence
from typing import Final

import typer

_WITH_FILES: Final = ("bench", "peers", "clash")
"""Commands whose ``--json`` took a file."""


def modern(words: Sequence[str]) -> list[str]:
    """The command line in the forms of this version; says on standard error what was changed.

    ``--json FILE.json`` of some commands is ``--json-out FILE.json``, and their ``--json -`` is ``--json``.
    """
    if not words or words[0] not in _WITH_FILES:
        return list(words)
    found: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*found, word, *rest]
        name, sign, value = word.partition("=")
        if name != "--json":
            found.append(word)
            continue
        if not sign and rest and (rest[0] == "-" or rest[0].endswith(".json")):
            value = rest.pop(0)
        if value in ("", "-"):
            found.append("--json")
            continue
        typer.echo(f"metajudge: note: --json FILE is deprecated: write --json-out {value}", err=True)
        found += ["--json-out", value]
    return found
