"""``metajudge check``: one small call per agent, to see that key, URL, model, schema mode and price are right."""

from typing import Annotated

import typer

from metajudge.cli.loop import run
from metajudge.cli.options import AgentOption, ConfigOption, JsonOption, echo_json, panel_from
from metajudge.runs.exit_codes import ExitCode
from metajudge.vetting.agent_check import AgentCheck, check_agents


def check(
    agent: AgentOption = None,
    config: ConfigOption = None,
    rubric: Annotated[str | None, typer.Option(help="The rubric to try.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask every agent once about a tiny judgment; exit code 1 if one cannot answer."""
    results = run(check_agents(panel_from(config, agent, rubric=rubric)))
    if as_json:
        echo_json({"agents": [result.to_json() for result in results]}, indent=True)
    else:
        for result in results:
            typer.echo(_line(result))
    raise typer.Exit(ExitCode.DONE if all(result.ok for result in results) else ExitCode.INCOMPLETE)


def _line(result: AgentCheck) -> str:
    answer = result.answer
    head = f"{answer.agent} at {result.endpoint}: "
    if answer.failure is not None:
        return f"{head}FAILED ({answer.failure.kind}) {answer.failure.message}"
    price = f"${answer.cost_usd:.6f}" if answer.cost_usd is not None else "price unknown"
    notices = "".join(f"\n  note: {notice}" for notice in result.notices)
    return f"{head}ok, output by {result.output}, {price}, {answer.latency_s:.2f} s{notices}"
