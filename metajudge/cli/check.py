"""``metajudge check``: one small call per agent, to see that key, URL, model, schema mode and price are right."""

from typing import Annotated, Any

import typer

from metajudge.cli.loop import run
from metajudge.cli.options import AgentOption, ConfigOption, JsonOption, panel_from
from metajudge.runs.exit_codes import ExitCode


def check(
    agent: AgentOption = None,
    config: ConfigOption = None,
    rubric: Annotated[str | None, typer.Option(help="The rubric to try.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask every agent once about a tiny judgment; exit code 1 where one cannot answer."""
    import orjson

    panel = panel_from(config, agent, rubric=rubric)
    results = run(_check(panel))
    if as_json:
        typer.echo(orjson.dumps(results, option=orjson.OPT_INDENT_2).decode())
    else:
        for result in results:
            typer.echo(_line(result))
    raise typer.Exit(ExitCode.DONE if all(result["ok"] for result in results) else ExitCode.INCOMPLETE)


async def _check(panel: Any) -> list[dict[str, Any]]:
    from metajudge.errors import ConfigurationError
    from metajudge.providers.prices import find_price
    from metajudge.providers.spec import parse_agent_spec
    from metajudge.vetting.engine import Engine

    if not panel.agents:
        raise ConfigurationError("nothing to check: give --agent PROVIDER:MODEL or a --config with agents")
    results = []
    for agent in panel.agents:
        alone = panel.model_copy(
            update={"agents": (agent,), "strategy": "single", "routes": {}, "discussion": type(panel.discussion)()}
        )
        async with Engine(panel=alone) as engine:
            said = (await engine.vet(_probe())).agents[0]
            spec = parse_agent_spec(agent.spec())
            priced = agent.price is not None or find_price(spec) is not None
            results.append(
                {
                    "agent": said.agent,
                    "endpoint": str(spec.endpoint),
                    "ok": said.failure is None,
                    "failure": None if said.failure is None else said.failure.model_dump(mode="json"),
                    "reported_model": said.reported_model,
                    "output": engine.output_mode(spec),
                    "price_known": priced,
                    "cost_usd": said.cost_usd,
                    "calls": said.calls,
                    "latency_s": said.latency_s,
                    "notices": list(engine.notices),
                }
            )
    return results


def _probe() -> Any:
    from metajudge.types import Judgment

    return Judgment.model_validate(
        {
            "id": "check",
            "item": {"id": "check", "question": "What is 2 + 2?", "responses": {"A": "4", "B": "5"}},
            "judge": "check",
            "verdict": "A>B",
            "rationale": "2 + 2 is 4, as response A says; response B is wrong.",
        }
    )


def _line(result: dict[str, Any]) -> str:
    head = f"{result['agent']} at {result['endpoint']}: "
    if not result["ok"]:
        return f"{head}FAILED ({result['failure']['kind']}) {result['failure']['message']}"
    price = f"${result['cost_usd']:.6f}" if result["cost_usd"] is not None else "price unknown"
    notices = "".join(f"\n  note: {notice}" for notice in result["notices"])
    return f"{head}ok, output by {result['output']}, {price}, {result['latency_s']:.2f} s{notices}"
