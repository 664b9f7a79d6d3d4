"""Two or more examples of each command, as ``--help`` and the reference show them; a test parses every one."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "demo": ("demo", "demo --save sample.jsonl"),
    "audit": ("audit --demo", "audit grades.csv --labels people.csv --out audit", "audit logs/ --fail-on any"),
    "vet": (
        "vet verdicts.csv",
        "vet verdicts.jsonl --agent openai:gpt-4o-mini --agent anthropic:claude-haiku-4-5 --budget-usd 5",
        "vet verdicts.jsonl --calibration cal.json --policy verdict --out assessments.jsonl",
    ),
    "bench list": ("bench list",),
    "bench judgebench": (
        "bench judgebench --data judgebench",
        "bench judgebench --data judgebench --grid published --dry-run",
    ),
    "bench llmbar": ("bench llmbar --data llmbar", "bench llmbar --data llmbar --judge GPT-4/CoT --report llmbar.html"),
    "bench mtbench": ("bench mtbench --data mtbench", "bench mtbench --data mtbench --limit 200"),
    "bench realmistake": ("bench realmistake --data realmistake", "bench realmistake --data realmistake --limit 100"),
    "bench rewardbench2": (
        "bench rewardbench2 --data rewardbench2",
        "bench rewardbench2 --data rewardbench2 --signals order,peers",
    ),
    "bench file": ("bench labelled.jsonl", "bench verdicts.csv --labels people.csv --report bench.html"),
    "bench agent_clash": (
        "bench agent_clash --data agent_clash",
        "bench agent_clash --data agent_clash --report c.html",
    ),
    "bench reliability": (
        "bench reliability --data pairs.jsonl --judge openai:gpt-4o-mini --dry-run",
        "bench reliability --data pairs.jsonl --judge openai:gpt-4o-mini --runs 3 --report reliability.html",
    ),
    "bench perf": ("bench perf start", "bench perf million --judgments 10000 --runs 1", "bench perf voting --help"),
    "calibrate fit": (
        "calibrate fit --data labelled.jsonl --out cal.json",
        "calibrate fit --data verdicts.csv --labels people.csv --judge gpt-4o --out cal.json",
    ),
    "calibrate threshold": (
        "calibrate threshold --calibration cal.json --data more.jsonl --target 0.9",
        "calibrate threshold --calibration cal.json --data more.jsonl --target 0.9 --delta 0.05 --out cal-90.json",
    ),
    "calibrate show": ("calibrate show cal.json", "calibrate show cal.json --data labelled.jsonl"),
    "calibrate diagnose": (
        "calibrate diagnose --data labelled.jsonl",
        "calibrate diagnose --data labelled.jsonl --kind grade --signals peers,rationale",
    ),
    "monitor": ("monitor outcomes.jsonl --target 0.9", "monitor --store metajudge.db --promise cal.json --json"),
    "diff": ("diff before.jsonl after.jsonl", "diff before.jsonl after.jsonl --labels people.csv"),
    "import": ("import verdicts.xlsx", "import verdicts.csv --map verdict=winner,question=prompt --yes"),
    "inspect": ("inspect verdicts.csv", "inspect export.json --map verdict=winner,question=prompt --save"),
    "judge": (
        "judge pairs.jsonl --judge openai:gpt-4o-mini --out verdicts.jsonl",
        "judge answers.jsonl --grade --judge openai:gpt-4o-mini --out grades.jsonl --dry-run",
    ),
    "clash": (
        "clash 'Explain recursion' --candidate openai:gpt-4o --candidate openai:gpt-4o-mini --config panel.toml",
        "clash --responses answers.jsonl --judge openai:gpt-4o --report clash.html",
    ),
    "case": (
        "case cases.jsonl --judge openai:gpt-4o-mini --policy risk_analysis",
        "case cases.jsonl --judge openai:gpt-4o-mini --dry-run",
    ),
    "peers": (
        "peers --questions questions.jsonl --config models.toml --out games.jsonl --dry-run",
        "peers --rankings rankings.jsonl --rule kemeny --report peers.html",
    ),
    "rank": ("rank ballots.csv", "rank ballots.soc --rule kemeny --rule borda --json"),
    "policy list": ("policy list", "policy list --json"),
    "policy show": ("policy show verdict", "policy show risk_analysis --json"),
    "policy validate": ("policy validate mine.yaml", "policy validate policies/claims.yaml"),
    "policy simulate": ("policy simulate verdict", "policy simulate mine.yaml --on team.db --against verdict"),
    "review session": ("review session --reviewer ana", "review session --reviewer ana --blind --mine"),
    "review next": ("review next --reviewer ana", "review next --reviewer ana --category billing --json"),
    "review show": ("review show 4f2a", "review show 4f2a --blind"),
    "review claim": ("review claim 4f2a --reviewer ana", "review claim 4f2a --reviewer ana --lease 1800"),
    "review release": ("review release 4f2a --reviewer ana", "review release 4f2a --reviewer ben --store team.db"),
    "review decide": (
        "review decide 4f2a --reviewer ana --outcome approve",
        "review decide 4f2a --reviewer ana --outcome modify --verdict R2 --reason 'R2 answers the question'",
    ),
    "review amend": (
        "review amend 4f2a --reviewer ana --outcome reject --reason 'read it again'",
        "review amend 4f2a --reviewer ana --verdict R1=R2 --reason 'both are right'",
    ),
    "review comment": (
        "review comment 4f2a 'Both answers are incomplete' --reviewer ana",
        "review comment 4f2a 'See the policy' --reviewer ben --store team.db",
    ),
    "review assign": ("review assign ana 4f2a 77c0", "review assign ben --first 20 --category billing"),
    "review list": ("review list", "review list --status open --assigned ana --json"),
    "review stats": ("review stats", "review stats --reviewer ana"),
    "review export": ("review export --out reviews.jsonl", "review export --status decided --out decided.jsonl"),
    "review import": ("review import decisions.jsonl", "review import decisions.jsonl --reviewer ana"),
    "outcomes list": ("outcomes list", "outcomes list --kind case --since 2026-11-01 --json"),
    "outcomes show": ("outcomes show 9c1d", "outcomes show 9c1d --json"),
    "outcomes send": (
        "outcomes send --webhook https://example.org/hook",
        "outcomes send --webhook https://example.org/hook --all",
    ),
    "outcomes receivers": ("outcomes receivers", "outcomes receivers --json"),
    "outcomes export": (
        "outcomes export --out outcomes.jsonl",
        "outcomes export --out outcomes.jsonl --since 2026-11-01",
    ),
    "feedback report": ("feedback report", "feedback report --policy verdict --save"),
    "feedback disagreements": ("feedback disagreements", "feedback disagreements --policy verdict --json"),
    "feedback snapshots": ("feedback snapshots", "feedback snapshots --policy verdict --json"),
    "feedback propose": ("feedback propose", "feedback propose --policy verdict --json"),
    "feedback backtest": ("feedback backtest 3", "feedback backtest 3 --json"),
    "feedback activate": (
        "feedback activate 3 --by ana --reason 'backtest passed'",
        "feedback activate 3 --by ana --reason 'backtest passed' --store team.db",
    ),
    "feedback history": ("feedback history", "feedback history --policy verdict --json"),
    "feedback draft": (
        "feedback draft --policy risk_analysis",
        "feedback draft --policy risk_analysis --criterion completeness --model openai:gpt-4o --budget-usd 1",
    ),
    "feedback drafts": ("feedback drafts", "feedback drafts --policy risk_analysis --json"),
    "feedback rejudge": (
        "feedback rejudge 2 --judge openai:gpt-4o-mini --dry-run",
        "feedback rejudge 2 --judge openai:gpt-4o-mini --budget-usd 2",
    ),
    "feedback compare": ("feedback compare 2", "feedback compare 2 --json"),
    "export preferences": (
        "export preferences --out pairs",
        "export preferences --guarantee 0.9,0.1 --split 0.9,0.05,0.05 --balance-length --out pairs",
    ),
    "export check": ("export check pairs", "export check pairs --json"),
    "data fetch": ("data fetch judgebench --out data/judgebench", "data fetch llmbar --out data/llmbar"),
    "pull": (
        "pull mlflow --url http://127.0.0.1:5000 --project support --out verdicts",
        "pull phoenix --project default --since 24h --out verdicts",
    ),
    "push": (
        "push mlflow assessments.jsonl --url http://127.0.0.1:5000 --dry-run",
        "push phoenix assessments.jsonl --per-second 5",
    ),
    "show": ("show knowledge-1/kestrel-mini/AB", "show run-12 --store team.db"),
    "runs": ("runs", "runs --limit 5 --json"),
    "forget": ("forget knowledge-1 --dry-run", "forget claim-88 --yes --store team.db"),
    "store copy": (
        "store copy metajudge.duckdb metajudge.db",
        "store copy metajudge.db postgresql://me@db.example.org/metajudge --json",
    ),
    "rubric list": ("rubric list",),
    "rubric show": ("rubric show short", "rubric show long --prompt"),
    "rubric validate": ("rubric validate mine.yaml", "rubric validate rubrics/support.yaml"),
    "rubric refine": (
        "rubric refine short.yaml --model openai:gpt-4o --out mine.yaml",
        "rubric refine short.yaml --model openai:gpt-4o --scenario 'customer support' --budget-usd 1",
    ),
    "schema": ("schema judgment", "schema assessment"),
    "init": ("init", "init panel.toml --agent openai:gpt-4o-mini --agent anthropic:claude-haiku-4-5"),
    "check": ("check --agent openai:gpt-4o-mini", "check --config metajudge.toml --json"),
    "doctor": ("doctor", "doctor --config metajudge.toml --online"),
    "mcp": ("mcp", "mcp --agent openai:gpt-4o-mini --folder verdicts"),
    "serve": ("serve", "serve --agent openai:gpt-4o-mini --port 8080 --workers 4"),
}
"""Command -> example command lines, without the program's name."""

PROGRAM = "metajudge"


def examples_of(command: str) -> tuple[str, ...]:
    """Lines to paste; none for a group of commands."""
    return tuple(f"{PROGRAM} {line}" for line in EXAMPLES.get(command, ()))
