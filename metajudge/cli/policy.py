"""``metajudge policy``: list, show, validate and simulate decision policies."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.loop import with_store
from metajudge.cli.options import JsonOption, echo_lines, tell
from metajudge.decision import CasePlan, Policy, list_policies, load_policy
from metajudge.feedback.simulation import Simulation
from metajudge.feedback.simulation import simulate as simulated
from metajudge.runs.exit_codes import ExitCode


def policy_lines(policy: Policy) -> Iterator[str]:
    """A policy as text."""
    yield f"{policy.title} ({policy.name}, over {policy.basis} {policy.scale})"
    yield f"digest {policy.digest}"
    yield ""
    yield " ".join(policy.description.split())
    yield ""
    yield from (f"{index}: {band}\n   {band.justification}" for index, band in enumerate(policy.bands))
    if policy.without_confidence:
        yield "\nWithout a confidence:"
        yield from (f"   {band}\n   {band.justification}" for band in policy.without_confidence)
    yield f"\nWithout a {policy.basis} -> {policy.missing.value.action}"
    if not policy.without_confidence:
        yield f"Without a confidence, where it matters -> {policy.missing.confidence.action}"
    if policy.uses_quotes:
        yield f"Without a quote to verify, where it matters -> {policy.missing.quotes.action}"
    if policy.adjustment is not None and policy.adjustment.confidence is not None:
        curve = policy.adjustment.confidence
        yield f"Stated confidence is calibrated: logit c' = {curve.intercept:+.3g} + {curve.slope:.3g} logit c"
    if policy.cases is None:
        yield f"Confidence: the agents' agreement ({policy.agreement})"
    else:
        yield from _plan_lines(policy.cases)


def _plan_lines(plan: CasePlan) -> Iterator[str]:
    yield f"\nCases by rubric {plan.rubric}; several judges: {plan.judges}"
    yield f"Overall score: {plan.overall_score}; overall confidence: {plan.overall_confidence}"
    for stage in plan.stages:
        yield f"Stage {stage.name}: {', '.join(stage.criteria)}"
    told = [("Company", plan.company), ("Priorities", "; ".join(plan.priorities)), ("Language", plan.language)]
    yield from (f"{name}: {text}" for name, text in told if text)
    yield from (f"Instruction about {name}: {text}" for name, text in plan.instructions.items())
    yield from (
        f"Level {point:g} of {name}: {text}" for name, own in plan.levels.items() for point, text in own.items()
    )
    if plan.gate is not None:
        gate = plan.gate
        of = f"{gate.field} stated by" if gate.value == "stated" else "score of"
        steps = ", ".join(f"{step.value} {step.step}" for step in gate.steps)
        yield f"Gate: {of} {gate.stage}: {steps}; if missing: {gate.missing}"
    width = max(len(name) for name in plan.criteria)
    yield "\n" + " ".join([f"{'weights':<{width}}", *(f"{profile.name:>12}" for profile in plan.profiles)])
    for name in plan.criteria:
        yield " ".join([f"{name:<{width}}", *(f"{profile.weights[name]:>12g}" for profile in plan.profiles)])
    for profile in plan.profiles:
        if profile.types:
            yield f"{profile.name} is also for cases of type {', '.join(profile.types)}"


def simulation_lines(found: Simulation, policy: Policy, other: Policy | None) -> Iterator[str]:
    """The changes of a simulation, as text."""
    before = "the recorded decisions" if other is None else f"policy {other.name}"
    yield f"{found.total} {found.subject}: policy {policy.name} decides {found.changed} differently from {before}."
    if not found.total and not found.skipped:
        maker = "case" if found.subject == "cases" else "vet"
        yield f"The store has no {found.subject}, which this policy applies to: run `metajudge {maker}` first."
    for (old, new), count in sorted(found.transitions.items()):
        yield f"  {count:>6}  {old} -> {new}{'' if old != new else ' (as before)'}"
        if old == new:
            continue
        for one in found.examples[old, new]:
            numbers = ", ".join(f"{name} {one[name]:.4g}" for name in ("value", "confidence") if one[name] is not None)
            yield f"          {one['id']}: {numbers or 'no number'}: {one['why']}"
    if found.missing:
        yield f"{found.missing} of them lack a number that the policy uses."
    for reason, count in sorted(found.skipped.items()):
        yield f"{count} not decided: {reason}"


app = typer.Typer(
    help="List, show, validate and simulate decision policies.", no_args_is_help=True, rich_markup_mode=None
)

PolicyArgument = Annotated[str, typer.Argument(help="A built-in name or a YAML file.", metavar="POLICY")]


@app.command("list")
def list_all(as_json: JsonOption = False) -> None:
    """List the built-in policies with their weight profiles."""
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    for policy in list_policies():
        profiles = [] if policy.cases is None else [profile.name for profile in policy.cases.profiles]
        plain = {name: getattr(policy, name) for name in ("name", "digest", "basis")}
        rows.append(plain | {"scale": policy.scale.model_dump(), "profiles": profiles, "title": policy.title})
        lines.append(f"{policy.name:<24} {policy.basis:<11} {policy.scale!s:<6} {policy.digest}")
        lines.append(f"{'':<24} {' '.join(policy.description.split())}")
        lines += [f"{'':<24} profiles: {', '.join(profiles)}"] if policy.cases is not None else []
    tell(as_json, {"policies": rows}, lines)


@app.command("show")
def show(name: PolicyArgument, as_json: JsonOption = False) -> None:
    """Show a policy: bands, rules for missing values, stages, weights, digest."""
    policy = load_policy(name)
    if as_json:
        typer.echo(policy.model_dump_json())
        return
    echo_lines(policy_lines(policy))


@app.command("validate")
def validate(file: Annotated[Path, typer.Argument(help="A policy of your own, in YAML.", metavar="FILE")]) -> None:
    """Check a policy file and its rubric; exit 2 with every problem found."""
    policy = load_policy(file)
    typer.echo(f"{file}: valid; {policy.name}, {len(policy.bands)} bands over {policy.basis}, digest {policy.digest}")


@app.command("simulate")
def simulate(
    name: PolicyArgument,
    on: Annotated[str | None, typer.Option(help="Store; default as for vet.", metavar="STORE")] = None,
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
    tell(as_json, found.to_json(), simulation_lines(found, policy, other))
    raise typer.Exit(ExitCode.DONE if found.total else ExitCode.INCOMPLETE)
