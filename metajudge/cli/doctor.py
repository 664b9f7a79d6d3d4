"""``metajudge doctor``: prints the checks of what a run needs."""

import time
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.loop import run
from metajudge.cli.options import JsonOption, StoreOption, echo_json, store_path
from metajudge.errors import MetajudgeError
from metajudge.runs.exit_codes import ExitCode
from metajudge.settings import Settings
from metajudge.vetting import readiness as checks

MARKS = {"ok": "ok", "note": "--", "warning": "!!", "error": "XX"}


def doctor(
    config: Annotated[
        Path | None, typer.Option("--config", help="Panel file (TOML) to check, too.", metavar="FILE")
    ] = None,
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
        where = store_path(store)
    except MetajudgeError as error:
        found.append(checks.Check("settings", "error", str(error)))
    else:
        found += [*checks.check_keys(settings, panel), *run(checks.check_store(where, now)), *checks.check_disk(where)]
        if online:
            found += checks.check_online(settings, panel, now)
    wrong = any(check.state == "error" for check in found)
    if as_json:
        data = [{"name": check.name, "state": check.state, "said": check.finding} for check in found]
        echo_json({"ok": not wrong, "checks": data})
    else:
        for check in found:
            typer.echo(f"{MARKS[check.state]}  {check.name:<12}  {check.finding}")
    raise typer.Exit(ExitCode.INCOMPLETE if wrong else ExitCode.DONE)
