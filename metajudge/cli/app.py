"""The command tree: a table of names and summaries; a command's module is imported when the command is used."""

import re
from collections import UserDict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import getdoc
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_group

from metajudge import __version__
from metajudge.cli.help import HelpfulCommand
from metajudge.runs.exit_codes import EPILOG

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter
    from typer._click.shell_completion import CompletionItem

VET = "Vet and measure"
JUDGE = "Produce verdicts"
REVIEW = "Decide and review"
DATA = "Data"
SETUP = "Set-up"


class Entry(NamedTuple):
    """A command of the tree.

    Attributes:
        name: of the command.
        place: ``module:attribute`` below ``metajudge.cli``; the attribute is a function or a typer application.
        summary: its line in ``metajudge --help``, of at most 63 characters; the start of the command's own help.
        title: of the group that it is listed under.
    """

    name: str
    place: str
    summary: str
    title: str


COMMANDS = (
    Entry("demo", "demo:demo", "Show what vetting does: 96 recorded judgments", VET),
    Entry("audit", "audit:audit", "Audit judges: agreement with people, biases, corrected rates", VET),
    Entry("vet", "vet:vet", "Vet judgments: score each one and decide which to keep", VET),
    Entry("bench", "bench:app", "Measure judges, and vetting of their judgments, on true labels", VET),
    Entry("calibrate", "calibrate:app", "Fit probabilities of being correct to labelled judgments", VET),
    Entry("monitor", "monitor:monitor", "Hold promised precisions against what happened after them", VET),
    Entry("diff", "diff:diff", "Compare two runs over the same judgments, paired", VET),
    Entry("inspect", "inspect:inspect", "Show a file's format and what its columns mean", VET),
    Entry("import", "import_table:import_table", "Say how the columns of a table are read as judgments", VET),
    Entry("judge", "judge:judge", "Judge pairs of responses, or grade them", JUDGE),
    Entry("clash", "clash:clash", "Compare models' answers", JUDGE),
    Entry("case", "case:case", "Judge cases", JUDGE),
    Entry("peers", "peers:peers", "Rank models by their own judgment", JUDGE),
    Entry("rank", "rank:rank", "Rank the candidates of a file of rankings", JUDGE),
    Entry("policy", "policy:app", "List, show, validate and simulate decision policies", REVIEW),
    Entry("review", "review:app", "Review what a policy sent to people: claim, decide, export", REVIEW),
    Entry("outcomes", "outcomes:app", "List the outcomes of judgments, clashes and cases", REVIEW),
    Entry("feedback", "feedback:app", "Compare a policy with people's decisions, propose a better one", REVIEW),
    Entry("export", "export:app", "Write preference datasets from vetted verdicts, and check them", REVIEW),
    Entry("data", "systems:app", "Fetch public benchmark data", DATA),
    Entry("pull", "systems:pull", "Fetch verdicts from where they live", DATA),
    Entry("push", "systems:push", "Put assessments beside the verdicts they are about", DATA),
    Entry("show", "records:show", "Explain what is stored under an id or a name", DATA),
    Entry("runs", "records:runs", "List runs, newest first", DATA),
    Entry("forget", "records:forget", "Redact the texts of an item or a case", DATA),
    Entry("store", "records:app", "Copy a whole store to another", DATA),
    Entry("rubric", "rubric:app", "List, show, validate and refine rubrics", DATA),
    Entry("schema", "schema:schema", "Print the JSON Schema of a record", DATA),
    Entry("init", "init:init", "Write a commented panel file for --config", SETUP),
    Entry("check", "doctor:check", "Ask every agent once about a tiny judgment", SETUP),
    Entry("doctor", "doctor:doctor", "Check what a run needs: packages, keys, store, panel file, disk", SETUP),
    Entry("mcp", "serve:mcp", "Serve assistants over MCP", SETUP),
    Entry("serve", "serve:serve", "Serve vetting over HTTP: POST /v1/vet, documented at /docs", SETUP),
)
"""Every command, in the order of ``metajudge --help``; commands with the same title are adjacent."""


_WIDTH = max(len(entry.name) for entry in COMMANDS)


class _Commands(UserDict[str, Any]):
    """The commands by name; a module is imported when its command is looked up."""

    def __getitem__(self, name: str) -> "Command":
        return _load(self.data[name])


@cache
def _load(entry: Entry) -> "Command":
    module, attribute = entry.place.split(":")
    loaded = getattr(import_module(f"metajudge.cli.{module}"), attribute)
    tree = typer.Typer(rich_markup_mode=None)
    if isinstance(loaded, typer.Typer):
        tree.add_typer(loaded, name=entry.name)
    else:
        tree.command(entry.name)(loaded)
    for command in _registered(tree):
        command.epilog = EPILOG
        command.cls = HelpfulCommand
        command.short_help = first_clause(command.help or getdoc(command.callback) or "")
    return get_group(tree).commands[entry.name]


def first_clause(text: str) -> str:
    """The first clause of a help text, short enough for a list of commands."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"[.:;](?= |$)", paragraph, maxsplit=1)[0]


def _registered(tree: typer.Typer) -> Iterator[typer.models.CommandInfo]:
    yield from tree.registered_commands
    for group in tree.registered_groups:
        if group.typer_instance is not None:
            yield from _registered(group.typer_instance)


class LazyGroup(TyperGroup):
    """Lists, completes and suggests commands from the table alone."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]  # typer's own, which it also types
        self.commands = _Commands({entry.name: entry for entry in COMMANDS})

    def list_commands(self, ctx: "Context") -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        for title, entries in groupby(COMMANDS, key=lambda entry: entry.title):
            with formatter.section(title):
                formatter.write_dl([(entry.name.ljust(_WIDTH), entry.summary) for entry in entries])

    def shell_complete(self, ctx: "Context", incomplete: str) -> "list[CompletionItem]":
        from typer._click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super(TyperGroup, self).shell_complete(ctx, incomplete)
        return [
            CompletionItem(entry.name, help=entry.summary) for entry in COMMANDS if entry.name.startswith(incomplete)
        ]


app = typer.Typer(
    name="metajudge",
    cls=LazyGroup,
    help="Vet the verdicts of LLM judges: score the judgments themselves and say which to trust.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # "[NAME=]" is no markup, and plain help costs half the start-up time
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"metajudge {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the trace of an error; also after the command, or METAJUDGE_DEBUG=1.")
    ] = False,
) -> None:
    """``--debug`` is read by :mod:`metajudge.cli.boundary` at any position; it is declared here for the help."""
