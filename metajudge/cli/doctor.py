"""``metajudge doctor``: prints the checks of what a run needs."""

import time
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.loop import run, say
from metajudge.cli.options import Agents, JsonOption, StoreOption, store_path, takes, tell
from metajudge.errors import MetajudgeError
from metajudge.panels.config import unused_sections
from metajudge.runs.exit_codes import ExitCode
from metajudge.settings import Settings
from metajudge.vetting import readiness as checks
from metajudge.vetting.agent_check import AgentCheck, check_agents

MARKS = {"ok": "ok", "note": "--", "warning": "!!", "error": "XX"}


@takes("agents", Agents, "strategy", "threshold", "families")
def check(agents: Agents, as_json: JsonOption = False) -> None:
    """Ask every agent once about a tiny judgment; exit code 1 if one cannot answer."""
    panel = agents.panel()
    if (unused := unused_sections(panel, "check")) is not None:
        say(unused)
    results = run(check_agents(panel))
    tell(as_json, {"agents": [result.to_json() for result in results]}, map(_line, results), indent=True)
    raise typer.Exit(ExitCode.DONE if all(result.ok for result in results) else ExitCode.INCOMPLETE)


def _line(result: AgentCheck) -> str:
    answer = result.answer
    head = f"{answer.agent} at {result.endpoint} ({result.endpoint.source}): "
    notices = "".join(f"\n  note: {notice}" for notice in result.notices)
    if answer.failure is not None:
        return f"{head}FAILED ({answer.failure.kind}) {answer.failure.message}{notices}"
    price = f"${answer.cost_usd:.6f}" if answer.cost_usd is not None else "price unknown"
    return f"{head}ok, output by {result.output}, {price}, {answer.latency_s:.2f} s{notices}"


def doctor(
    config: Annotated[Path | None, typer.Option(help="Panel file (TOML) to check, too.", metavar="FILE")] = None,
    store: StoreOption = None,
    online: Annotated[bool, typer.Option("--online", help="Also connect to the endpoints; sends no key.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check what a run needs: packages, keys, store, panel file, disk, clock.

    Exit code 1 if a check failed (XX); !! marks a warning. Keys are never printed. To test whether a
    model answers, and at what price, run `metajudge check`.
    """
    now = time.time()
    found = [*checks.check_python(), *checks.check_extras(), *checks.check_clock(now)]
    panel, of_panel = checks.load_panel(config)
    found += of_panel
    try:
        settings = Settings.load()
    except MetajudgeError as error:
        found.append(checks.Check("settings", "error", str(error)))
    else:
        found += [*checks.check_keys(settings, panel), *checks.check_addresses(settings, panel)]
        try:
            where = store_path(store)
        except MetajudgeError as error:
            found.append(checks.Check("store", "error", str(error)))
        else:
            found += [*run(checks.check_store(where, now)), *checks.check_drive(where), *checks.check_disk(where)]
        if online:
            found += checks.check_online(settings, panel, now)
    wrong = any(check.state == "error" for check in found)
    data = [{"name": check.name, "state": check.state, "said": check.finding} for check in found]
    lines = [f"{MARKS[check.state]}  {check.name:<12}  {check.finding}" for check in found]
    tell(as_json, {"ok": not wrong, "checks": data}, lines)
    raise typer.Exit(ExitCode.INCOMPLETE if wrong else ExitCode.DONE)
