"""The reference of every command as a page of the documentation, from the commands themselves.

python -m metajudge.cli.reference > docs/cli.md
"""

import sys
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import typer

from metajudge.cli.app import COMMANDS, app
from metajudge.cli.help import examples_of, titled
from metajudge.runs.exit_codes import EPILOG

if TYPE_CHECKING:
    from typer._click import Command, Context, Parameter

ABOUT = (
    "Every command with its options, as `--help` prints them. This page is made from the code: "
    "`python -m metajudge.cli.reference > docs/cli.md`."
)


def reference() -> str:
    """The page, in Markdown."""
    root: Any = typer.main.get_command(app)
    lines = ["# Commands", "", ABOUT, "", EPILOG.replace("docs/exit-codes.md", "[exit codes](exit-codes.md)"), ""]
    for title, entries in groupby(COMMANDS, key=lambda entry: entry.title):
        lines += [f"## {title}", ""]
        for entry in entries:
            lines += _section(root.commands[entry.name], entry.name)
    return "\n".join(lines).rstrip() + "\n"


def leaves(command: Any, path: str) -> "Iterator[tuple[str, Command]]":
    """The commands below a group, with their names; a command that is no group is its own leaf."""
    below = getattr(command, "commands", None)
    if below is None:
        yield path, command
        return
    for name in below:
        yield from leaves(below[name], f"{path} {name}".strip())


def _section(command: Any, path: str) -> Iterator[str]:
    for name, leaf in leaves(command, path):
        context = leaf.context_class(leaf, info_name=f"metajudge {name}", **leaf.context_settings)
        text = (_escaped(" ".join(paragraph.split())) for paragraph in (leaf.help or "").strip().split("\n\n"))
        usage = " ".join((context.command_path, *leaf.collect_usage_pieces(context)))
        yield from (
            f"### {name}",
            "",
            *(line for paragraph in text for line in (paragraph, "")),
            "```",
            usage,
            "```",
            "",
        )
        examples = examples_of(name)
        if examples:
            yield from ("```", *examples, "```", "")
        for title, group in titled([one for one in leaf.get_params(context) if "--help" not in one.opts]):
            rows = [_row(one, context) for one in group if one.get_help_record(context) is not None]
            if rows:
                yield from (f"| {title.lower()} | |", "| --- | --- |", *rows, "")


def _row(one: "Parameter", context: "Context") -> str:
    name, text = one.get_help_record(context) or ("", "")
    return f"| `{name.replace('|', chr(92) + '|')}` | {_escaped(' '.join(text.split()))} |"


def _escaped(text: str) -> str:
    """Text in which nothing is read as a table, a link or a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[").replace("*", "\\*")


if __name__ == "__main__":
    sys.stdout.write(reference())
