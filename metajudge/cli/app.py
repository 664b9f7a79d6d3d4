"""The command tree; what a command needs is imported when it runs, so that ``--help`` is instant."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from metajudge import __version__
from metajudge.cli import (
    bench,
    calibrate,
    case,
    check,
    clash,
    data,
    demo,
    diff,
    doctor,
    export,
    feedback,
    init,
    inspect,
    judge,
    local,
    peers,
    policy,
    rank,
    records,
    review,
    rubric,
    schema,
    serve,
    store,
    vet,
)
from metajudge.runs.exit_codes import EPILOG

app = typer.Typer(
    name="metajudge",
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
    """``--debug`` is read by :mod:`metajudge.cli.boundary`, wherever it stands; here it is for the help."""


app.command("demo")(demo.demo)
app.command("init")(init.init)
app.command("vet")(vet.vet)
app.command("judge")(judge.judge)
app.command("clash")(clash.clash)
app.command("case")(case.case)
app.command("peers")(peers.peers)
app.command("rank")(rank.rank)
app.command("bench")(bench.bench)
app.command("diff")(diff.diff)
app.command("show")(records.show)
app.command("runs")(records.runs)
app.command("forget")(records.forget)
app.command("check")(check.check)
app.command("doctor")(doctor.doctor)
app.command("inspect")(inspect.inspect)
app.command("schema")(schema.schema)
app.command("serve")(serve.serve)
app.add_typer(store.app, name="store")
app.add_typer(local.app, name="local")
app.add_typer(rubric.app, name="rubric")
app.add_typer(policy.app, name="policy")
app.add_typer(calibrate.app, name="calibrate")
app.add_typer(data.app, name="data")
app.add_typer(export.app, name="export")
app.add_typer(review.app, name="review")
app.add_typer(feedback.app, name="feedback")


def _commands(tree: typer.Typer) -> Iterator[Any]:
    yield from tree.registered_commands
    for group in tree.registered_groups:
        if group.typer_instance is not None:
            yield from _commands(group.typer_instance)


for _command in _commands(app):
    _command.epilog = EPILOG
