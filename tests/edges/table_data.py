"""Data and set-up: what is stored, other systems, rubrics, schemas, and what a run needs."""

from typing import Any

from tests.edges.series import Series, series
from tests.stored.commands import OPENAI_STYLE

_ANN = f"--agent ann={OPENAI_STYLE.format('ann-1')}"
_AT = "--per-second 1000"
_VET = f"vet s6.jsonl {_ANN} --concurrency 1 --out a.jsonl --json"
_ID = "knowledge-1/osprey-70b/AB"
_PROJECTS = {
    "mlflow": "--project interop",
    "phoenix": "--project default",
    "langfuse": "",
    "langsmith": "--project interop",
    "argilla": "--project interop",
}
_SCHEMAS = ("judgment", "assessment", "case", "case_result", "policy", "audit", "vet_summary")

_CHECKED = ("python", "panel", "keys", "store")


def _checks(found: dict[str, Any]) -> dict[str, Any]:
    """What ``doctor`` finds of what a test decides; disk, clock and packages are the machine's."""
    checks = {one["name"]: one for one in found["json"]["checks"]}
    return {"exit": found["exit"], "checks": {name: checks[name]["state"] for name in _CHECKED if name in checks}}


def _code(found: dict[str, Any]) -> dict[str, Any]:
    return {"command": found["command"], "exit": found["exit"]}


_STORED: dict[str, Series] = {
    "show": series(_VET, f"show {_ID} --json", f"show {_ID}", "show nothing"),
    "show_free": series(
        "vet s12.jsonl --policy verdict_score --json", f"show {_ID}", "show knowledge-1", "show verdict_score"
    ),
    "show_vote": series("vet s6.jsonl --config majority.toml --concurrency 1", f"show {_ID}", f"show {_ID} --json"),
    "show_run": series(_VET, "show $0.run_id", "show $0.run_id --report r.md >> r.md"),
    "runs": series(_VET, "vet s12.jsonl --json", "runs --json", "runs --limit 1", "runs --store none.db"),
    "forget": series(
        _VET,
        "forget knowledge-1 --dry-run",
        "forget knowledge-1",
        "forget knowledge-1 --yes",
        f"show {_ID} --json",
        "forget nothing --yes",
    ),
    "store_copy": series(
        _VET,
        "store copy store.db other.db --json",
        "store copy store.db other.db",
        "runs --store other.db --json",
        "store copy none.db third.db",
    ),
}

_SYSTEMS: dict[str, Series] = {
    **{
        f"pull_{system}": series(
            f"pull {system} --url ${system} {project} --out in {_AT} --json",
            f"pull {system} --url ${system} {project} --out in {_AT} --json",
            "vet in --out a.jsonl --json",
            f"push {system} a.jsonl --url ${system} {project} {_AT} --dry-run --json",
            f"push {system} a.jsonl --url ${system} {project} {_AT} --json",
            f"push {system} a.jsonl --url ${system} {project} {_AT}",
        )
        for system, project in _PROJECTS.items()
    },
    "pull_refused": series(
        "pull wandb --out in",
        "pull mlflow --out in --url http://127.0.0.1:9 --since soon",
        "push wandb a.jsonl",
        "push mlflow none.jsonl --url http://127.0.0.1:9",
        "push mlflow a.jsonl --link https://x.test",
    ),
    "data_fetch": series("data fetch judgebench --out data --source nowhere", "data fetch nothing --out data"),
}

_RUBRICS: dict[str, Series] = {
    "rubric_list": series("rubric list"),
    "rubric_show": series(
        *(f"rubric show {name}" for name in ("short", "long", "binary", "baseline")),
        "rubric show long --prompt",
        "rubric show short --prompt --prompt-version 1",
        "rubric show none",
    ),
    "rubric_validate": series(
        "rubric validate good_rubric.yaml", "rubric validate bad_rubric.yaml", "rubric validate missing.yaml"
    ),
    "rubric_of_ones_own": series(
        f"vet s6.jsonl {_ANN} --rubric good_rubric.yaml --limit 2 --out o.jsonl --json >> o.jsonl"
    ),
    "rubric_refine": series(
        f"rubric refine basic.yaml --model {OPENAI_STYLE.format('refiner-1')} --out mine.yaml >> mine.yaml",
        "rubric validate mine.yaml",
        "rubric refine missing.yaml --model openai:x",
    ),
    **{f"schema_{name}": series(f"schema {name}") for name in _SCHEMAS},
    "schema_refused": series("schema nothing", "schema"),
}

_SETUP: dict[str, Series] = {
    "init": series(
        "init panel-a.toml --agent openai:gpt-4o-mini --agent anthropic:claude-haiku-4-5 >> panel-a.toml",
        "init panel-b.toml --strategy signals >> panel-b.toml",
        "init panel-b.toml --strategy signals",
        "init panel-c.toml",
        f"init panel-d.toml {_ANN} --rubric baseline --threshold 4 --seed 5",
        "vet s6.jsonl --config panel-d.toml --json",
    ),
    "check": series(f"check {_ANN} --json", "check --config average.toml", "check", "check --agent nobody:x"),
    "doctor": series(
        "doctor --json", "doctor --config none.toml --json", "doctor --config average.toml --json", part=_checks
    ),
    "local": series(
        "local list --folder models --json",
        "local remove tiny.gguf --folder models",
        "local install --folder models",
        part=_code,
        slow=True,
    ),
    "mcp": series("mcp --config none.toml", "mcp --no-such-option"),
    "serve": series(
        "serve --port 99999", "serve --config none.toml", "serve --agent nobody:x", "serve --new-key ci --scope nothing"
    ),
    "version": series("--version", "vet s6.jsonl --debug --json"),
}

DATA_COMMANDS: dict[str, Series] = _STORED | _SYSTEMS | _RUBRICS | _SETUP
