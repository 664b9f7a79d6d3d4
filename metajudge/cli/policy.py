"""``metajudge policy``: list, show, validate and simulate decision policies."""

from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.options import JsonOption, echo_json
from metajudge.cli.policy_report import policy_lines, simulation_lines
from metajudge.cli.stored import with_store
from metajudge.decision import list_policies, load_policy
from metajudge.feedback.simulation import simulate as simulated
from metajudge.runs.exit_codes import ExitCode

app = typer.Typer(
    help="List, show, validate and simulate decision policies.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

PolicyArgument = Annotated[str, typer.Argument(help="A built-in name or a YAML file.", metavar="POLICY")]


@app.command("list")
def list_all(as_json: JsonOption = False) -> None:
    """List the built-in policies with their weight profiles."""
    policies = list_policies()
    if as_json:
        rows = [
            {
                "name": policy.name,
                "digest": policy.digest,
                "basis": policy.basis,
                "scale": policy.scale.model_dump(),
                "profiles": [] if policy.cases is None else [profile.name for profile in policy.cases.profiles],
                "title": policy.title,
            }
            for policy in policies
        ]
        echo_json({"policies": rows})
        return
    for policy in policies:
        typer.echo(f"{policy.name:<24} {policy.basis:<11} {policy.scale!s:<6} {policy.digest}")
        typer.echo(f"{'':<24} {' '.join(policy.description.split())}")
        if policy.cases is not None:
            typer.echo(f"{'':<24} profiles: {', '.join(profile.name for profile in policy.cases.profiles)}")


@app.command("show")
def show(name: PolicyArgument, as_json: JsonOption = False) -> None:
    """Show a policy: bands, rules for missing values, stages, weights, digest."""
    policy = load_policy(name)
    if as_json:
        typer.echo(policy.model_dump_json())
        return
    for line in policy_lines(policy):
        typer.echo(line)


@app.command("validate")
def validate(file: Annotated[Path, typer.Argument(help="A policy of your own, in YAML.", metavar="FILE")]) -> None:
    """Check a policy file and its rubric; exit 2 with every problem found."""
    policy = load_policy(file)
    typer.echo(f"{file}: valid; {policy.name}, {len(policy.bands)} bands over {policy.basis}, digest {policy.digest}")


@app.command("simulate")
def simulate(
    name: PolicyArgument,
    on: Annotated[str | None, typer.Option("--on", help="Store; default as for vet.", metavar="STORE")] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Compare with this policy; default: with the decisions that were made.", metavar="POLICY"),
    ] = None,
    examples: Annotated[int, typer.Option(help="Examples shown of each change.", min=0, max=100)] = 3,
    as_json: JsonOption = False,
) -> None:
    """Simulate a policy on everything in a store; no model is asked and nothing is changed.

    A policy over verdicts is applied to the newest assessment of every judgment by every panel, one with a section
    `cases` to the judged cases whose criteria it has.

    Exit code 1: the store has no records that this policy applies to.
    """
    policy = load_policy(name)
    other = None if against is None else load_policy(against)
    found = with_store(
        on,
        lambda store: simulated(store, policy, other, examples=examples),
        maker="vet` or `metajudge case",
        option="--on",
    )
    if as_json:
        echo_json(found.to_json())
    else:
        for line in simulation_lines(found, policy, other):
            typer.echo(line)
    raise typer.Exit(ExitCode.DONE if found.total else ExitCode.INCOMPLETE)
