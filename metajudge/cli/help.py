"""How a command's help is laid out: options under titles where there are many, examples, exit codes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter


EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "demo": ("", "--save sample.jsonl"),
    "audit": ("--demo", "grades.csv --labels people.csv --out audit", "logs/ --fail-on any"),
    "vet": (
        "verdicts.csv",
        "verdicts.jsonl --agent openai:gpt-4o-mini --agent anthropic:claude-haiku-4-5 --budget-usd 5",
        "verdicts.jsonl --calibration cal.json --policy verdict --out assessments.jsonl",
    ),
    "bench list": ("",),
    "bench judgebench": ("--data judgebench", "--data judgebench --grid published --dry-run"),
    "bench llmbar": ("--data llmbar", "--data llmbar --judge GPT-4/CoT --report llmbar.html"),
    "bench mtbench": ("--data mtbench", "--data mtbench --limit 200"),
    "bench realmistake": ("--data realmistake", "--data realmistake --limit 100"),
    "bench rewardbench2": ("--data rewardbench2", "--data rewardbench2 --signals order,peers"),
    "bench file": ("labelled.jsonl", "verdicts.csv --labels people.csv --report bench.html"),
    "bench agent_clash": ("--data agent_clash", "--data agent_clash --report c.html"),
    "bench reliability": (
        "--data pairs.jsonl --judge openai:gpt-4o-mini --dry-run",
        "--data pairs.jsonl --judge openai:gpt-4o-mini --runs 3 --report reliability.html",
    ),
    "bench perf": ("start", "million --judgments 10000 --runs 1", "voting --help"),
    "calibrate fit": (
        "--data labelled.jsonl --out cal.json",
        "--data verdicts.csv --labels people.csv --judge gpt-4o --out cal.json",
    ),
    "calibrate threshold": (
        "--calibration cal.json --data more.jsonl --target 0.9",
        "--calibration cal.json --data more.jsonl --target 0.9 --delta 0.05 --out cal-90.json",
    ),
    "calibrate show": ("cal.json", "cal.json --data labelled.jsonl"),
    "calibrate diagnose": ("--data labelled.jsonl", "--data labelled.jsonl --kind grade --signals peers,rationale"),
    "monitor": ("outcomes.jsonl --target 0.9", "--store metajudge.db --promise cal.json --json"),
    "diff": ("before.jsonl after.jsonl", "before.jsonl after.jsonl --labels people.csv"),
    "import": ("verdicts.xlsx", "verdicts.csv --map verdict=winner,question=prompt --yes"),
    "inspect": ("verdicts.csv", "export.json --map verdict=winner,question=prompt --save"),
    "judge": (
        "pairs.jsonl --judge openai:gpt-4o-mini --out verdicts.jsonl",
        "answers.jsonl --grade --judge openai:gpt-4o-mini --out grades.jsonl --dry-run",
    ),
    "clash": (
        "'Explain recursion' --candidate openai:gpt-4o --candidate openai:gpt-4o-mini --config panel.toml",
        "--responses answers.jsonl --judge openai:gpt-4o --report clash.html",
    ),
    "case": (
        "cases.jsonl --judge openai:gpt-4o-mini --policy risk_analysis",
        "cases.jsonl --judge openai:gpt-4o-mini --dry-run",
    ),
    "peers": (
        "--questions questions.jsonl --config models.toml --out games.jsonl --dry-run",
        "--rankings rankings.jsonl --rule kemeny --report peers.html",
    ),
    "rank": ("ballots.csv", "ballots.soc --rule kemeny --rule borda --json"),
    "policy list": ("", "--json"),
    "policy show": ("verdict", "risk_analysis --json"),
    "policy validate": ("mine.yaml", "policies/claims.yaml"),
    "policy simulate": ("verdict", "mine.yaml --on team.db --against verdict"),
    "review session": ("--reviewer ana", "--reviewer ana --blind --mine"),
    "review next": ("--reviewer ana", "--reviewer ana --category billing --json"),
    "review show": ("4f2a", "4f2a --blind"),
    "review claim": ("4f2a --reviewer ana", "4f2a --reviewer ana --lease 1800"),
    "review release": ("4f2a --reviewer ana", "4f2a --reviewer ben --store team.db"),
    "review decide": (
        "4f2a --reviewer ana --outcome approve",
        "4f2a --reviewer ana --outcome modify --verdict R2 --reason 'R2 answers the question'",
    ),
    "review amend": (
        "4f2a --reviewer ana --outcome reject --reason 'read it again'",
        "4f2a --reviewer ana --verdict R1=R2 --reason 'both are right'",
    ),
    "review comment": (
        "4f2a 'Both answers are incomplete' --reviewer ana",
        "4f2a 'See the policy' --reviewer ben --store team.db",
    ),
    "review assign": ("ana 4f2a 77c0", "ben --first 20 --category billing"),
    "review list": ("", "--status open --assigned ana --json"),
    "review stats": ("", "--reviewer ana"),
    "review export": ("--out reviews.jsonl", "--status decided --out decided.jsonl"),
    "review import": ("decisions.jsonl", "decisions.jsonl --reviewer ana"),
    "outcomes list": ("", "--kind case --since 2026-11-01 --json"),
    "outcomes show": ("9c1d", "9c1d --json"),
    "outcomes send": ("--webhook https://example.org/hook", "--webhook https://example.org/hook --all"),
    "outcomes receivers": ("", "--json"),
    "outcomes export": ("--out outcomes.jsonl", "--out outcomes.jsonl --since 2026-11-01"),
    "feedback report": ("", "--policy verdict --save"),
    "feedback disagreements": ("", "--policy verdict --json"),
    "feedback snapshots": ("", "--policy verdict --json"),
    "feedback propose": ("", "--policy verdict --json"),
    "feedback backtest": ("3", "3 --json"),
    "feedback activate": (
        "3 --by ana --reason 'backtest passed'",
        "3 --by ana --reason 'backtest passed' --store team.db",
    ),
    "feedback history": ("", "--policy verdict --json"),
    "feedback draft": (
        "--policy risk_analysis",
        "--policy risk_analysis --criterion completeness --model openai:gpt-4o --budget-usd 1",
    ),
    "feedback drafts": ("", "--policy risk_analysis --json"),
    "feedback rejudge": ("2 --judge openai:gpt-4o-mini --dry-run", "2 --judge openai:gpt-4o-mini --budget-usd 2"),
    "feedback compare": ("2", "2 --json"),
    "export preferences": ("--out pairs", "--guarantee 0.9,0.1 --split 0.9,0.05,0.05 --balance-length --out pairs"),
    "export check": ("pairs", "pairs --json"),
    "data fetch": ("judgebench --out data/judgebench", "llmbar --out data/llmbar"),
    "pull": (
        "mlflow --url http://127.0.0.1:5000 --project support --out verdicts",
        "phoenix --project default --since 24h --out verdicts",
    ),
    "push": (
        "mlflow assessments.jsonl --url http://127.0.0.1:5000 --dry-run",
        "phoenix assessments.jsonl --per-second 5",
    ),
    "show": ("knowledge-1/kestrel-mini/AB", "run-12 --store team.db"),
    "runs": ("", "--limit 5 --json"),
    "forget": ("knowledge-1 --dry-run", "claim-88 --yes --store team.db"),
    "store copy": ("metajudge.duckdb metajudge.db", "metajudge.db postgresql://me@db.example.org/metajudge --json"),
    "rubric list": ("",),
    "rubric show": ("short", "long --prompt"),
    "rubric validate": ("mine.yaml", "rubrics/support.yaml"),
    "rubric refine": (
        "short.yaml --model openai:gpt-4o --out mine.yaml",
        "short.yaml --model openai:gpt-4o --scenario 'customer support' --budget-usd 1",
    ),
    "schema": ("judgment", "assessment"),
    "init": ("", "panel.toml --agent openai:gpt-4o-mini --agent anthropic:claude-haiku-4-5"),
    "check": ("--agent openai:gpt-4o-mini", "--config metajudge.toml --json"),
    "doctor": ("", "--config metajudge.toml --online"),
    "mcp": ("", "--agent openai:gpt-4o-mini --folder verdicts"),
    "serve": ("", "--agent openai:gpt-4o-mini --port 8080 --workers 4"),
}
"""Command -> what follows it in examples."""

IMPLIED = {"bench file": "bench"}
"""Commands whose last word is implied by what follows -> as they are written."""


def examples_of(command: str) -> tuple[str, ...]:
    """Lines to paste; none for a group of commands."""
    written = IMPLIED.get(command, command)
    return tuple(f"metajudge {written} {line}".rstrip() for line in EXAMPLES.get(command, ()))


FEW = 14
"""A command with no more options lists them under one title."""

OPTIONS = "Options"
MODELS = "Models and method"
INPUT = "Input"
LABELS = "Labels"
TABLES = "Reading tables"
DECIDE = "Deciding"
OUTPUT = "Output"
SPEND = "Cost and speed"
BATCH = "Batches of the providers"
SELECT = "What is exported"

_TITLES: Mapping[str, str] = {
    name: title
    for title, names in {
        MODELS: (
            "agent config rubric strategy threshold families prompt-version temperature max-tokens effort "
            "thinking-budget criteria-model criteria-temperature criteria-max-tokens candidate candidates model "
            "observers voters judge-weight candidate-weight quorum repeats cycles regenerate ties with-reference "
            "keep-names attempts orders grade combined rule include-self evaluator without top-k resamples baseline "
            "grid signals kind pooled share folds no-early-exit seed seeds agent-scores prior"
        ),
        INPUT: "data questions rankings responses limit category reviews",
        LABELS: "labels on labels-map right human",
        TABLES: "map map-values prefix-ids strict unit",
        DECIDE: (
            "calibration allow-other-calibration policy review-sample audit-share reviewers no-label-free fail-under "
            "webhook target delta procedure most-per-question schedule looks accept-changed-labels by review "
            "within max-cost-usd max-latency-s"
        ),
        OUTPUT: "out json json-out report markdown store judgments details scores compare-people",
        SPEND: (
            "concurrency requests-per-minute dry-run budget-usd budget-calls budget-tokens budget-file workers "
            "keep-failures"
        ),
        BATCH: "batch batch-wait batch-live-below batch-size batch-poll",
        SELECT: (
            "run decision panel since until assessments accepted kept min-probability guarantee all ignore-decisions "
            "conflicts reconcile pairing quality-pairs by-label balance-length dedupe near-threshold decontaminate "
            "ngram from-grades pass-mark personal-data"
        ),
    }.items()
    for name in names.split()
}
"""Option -> the title it is listed under; others are listed last."""

ORDER = (SELECT, MODELS, INPUT, LABELS, TABLES, DECIDE, OUTPUT, SPEND, BATCH, "Other options")

_MODEL = "SPEC"
"""What the value of an option is called that names a model, whatever the option's name."""


class HelpfulCommand(TyperCommand):
    """A command whose help has titled options and examples."""

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Writes arguments, then options: in the order of the code, under their titles where there are many."""
        for title, group in titled(self.get_params(ctx)):
            records = [record for one in group if (record := one.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Writes the examples, each on one line to paste, then the exit codes."""
        examples = examples_of(" ".join(ctx.command_path.split()[1:]))
        if examples:
            with formatter.section("Examples"):
                for line in examples:
                    formatter.write(f"  {line}\n")
        super().format_epilog(ctx, formatter)


def titled(params: "Sequence[Parameter]") -> "Iterator[tuple[str, list[Parameter]]]":
    """Arguments, then options by title, in the order of :data:`ORDER`; one title where there are few."""
    yield "Arguments", [one for one in params if one.param_type_name == "argument"]
    options = [one for one in params if one.param_type_name == "option"]
    if len(options) <= FEW:
        yield OPTIONS, options
        return
    groups: dict[str, list[Parameter]] = {}
    for one in options:
        groups.setdefault(_title(one), []).append(one)
    for title in ORDER:
        if title in groups:
            yield title, groups[title]


def _title(option: "Parameter") -> str:
    name = option.opts[0].removeprefix("--")
    if getattr(option, "metavar", None) == _MODEL:
        return MODELS
    if name == "judge":
        return INPUT
    return _TITLES.get(name, ORDER[-1])
