"""Measuring: ``audit``, ``bench``, ``calibrate``, ``monitor``, ``diff``, ``inspect`` and ``import``."""

from tests.edges.series import FIT, Series, series
from tests.stored.commands import ANTHROPIC_STYLE, OPENAI_STYLE

_THREE = " ".join(
    f"--judge {name}={style.format(f'{name}-1')}"
    for name, style in (("jay", OPENAI_STYLE), ("kite", ANTHROPIC_STYLE), ("lark", OPENAI_STYLE))
)
_RECORDED = ("judgebench", "llmbar", "mtbench", "realmistake")
_FIT = "calibrate fit --data made60.jsonl --out cal.json --seed 3"
_SPLIT = "calibrate fit --data made120.jsonl --out cal.json --share 0.5"
_SCORES = "vet made12.jsonl --config average.toml --no-early-exit --out a.jsonl --json"

_AUDIT: dict[str, Series] = {
    "audit_sample": series("audit s24.jsonl"),
    "audit_made": series("audit made12.jsonl --json", "audit made12.jsonl --out out >> out/card.md"),
    "audit_page": series("audit made12.jsonl --out out >> out/report.html"),
    "audit_demo": series("audit --demo"),
    "audit_demo_fail_on": series("audit --demo --fail-on copy"),
    "audit_fail_on": series(
        "audit made12.jsonl --fail-on any",
        "audit made12.jsonl --fail-on position",
        "audit one_judge.jsonl --fail-on copy",
        "audit made12.jsonl --fail-on luck",
    ),
    "audit_unlabelled": series(
        "audit unlabelled.jsonl --out out >> out/to-label.csv", "audit unlabelled.jsonl --labels people.csv"
    ),
    "audit_labels_elsewhere": series("audit unlabelled.jsonl --labels people.csv"),
    "audit_one_judge": series("audit one_judge.jsonl --json"),
    "audit_ties": series("audit ties.jsonl", "audit ties.jsonl --right equal"),
    "audit_grades": series("audit grades.jsonl", "audit grades.jsonl --right within:1"),
    "audit_categories": series("audit categories.jsonl"),
    "audit_rankings": series("audit rankings.jsonl"),
    "audit_constant": series("audit constant.jsonl", "audit one.jsonl", "audit no_verdicts.jsonl"),
    "audit_table": series("audit verdicts.csv"),
    "audit_empty": series("audit empty.jsonl", "audit broken.jsonl --strict", "audit missing.jsonl", "audit"),
}

_BENCH: dict[str, Series] = {
    "bench_list": series("bench list"),
    "bench_judgebench": series(
        "bench judgebench --data judgebench1 --json", "bench judgebench --data judgebench", tolerance=FIT
    ),
    "bench_judgebench_threshold": series(
        "bench judgebench --data judgebench --judge hawk --threshold 4 --scores s.jsonl >> s.jsonl",
        "bench judgebench --data judgebench --limit 6 --seed 1",
        "bench judgebench",
        tolerance=FIT,
    ),
    "bench_judgebench_agents": series(
        f"bench judgebench --data judgebench --judge owl --agent ann={OPENAI_STYLE.format('ann-1')}", tolerance=FIT
    ),
    "bench_llmbar": series("bench llmbar --data llmbar", "bench llmbar --data judgebench", tolerance=FIT),
    **{
        f"bench_{name}_recorded": series(f"bench {name} --data $data/{folder or name} --limit 24", tolerance=FIT)
        for name, folder in {**dict.fromkeys(_RECORDED), "rewardbench2": "themis_rewardbench2"}.items()
    },
    "bench_file": series("bench plain.jsonl --judge ash --json", "bench file made12.jsonl --seeds 0", tolerance=FIT),
    "bench_file_calibrated": series(
        _FIT,
        "bench plain.jsonl --judge ash --calibration cal.json --seeds 0",
        "bench made12.jsonl --calibration cal.json --seeds 0",
        "bench made12.jsonl --seeds 0 --fail-under precision=0.99",
        tolerance=FIT,
    ),
    "bench_file_kinds": series("bench grades.jsonl --seeds 0", "bench categories.jsonl --seeds 0", tolerance=FIT),
    "bench_agent_clash": series("bench agent_clash --data agent_clash", "bench agent_clash"),
    "bench_reliability": series(
        f"bench reliability --data people_items.jsonl {_THREE} --dry-run",
        f"bench reliability --data items.jsonl {_THREE} --runs 2 --json",
    ),
    "bench_open_protocol": series(
        "bench entries --items made12.jsonl --out entries",
        "bench score entries/free-evidence.jsonl --items made12.jsonl",
        "bench table entries --items made12.jsonl",
        "bench withhold made4.jsonl --out pub --keep labels.jsonl",
        tolerance=FIT,
    ),
    "bench_perf": series("bench perf nothing"),
    "bench_transfer": series("bench transfer --data missing.jsonl"),
    "bench_live": series(
        "bench live run --budget-usd 20 --dry-run", "bench live verify nothing", "bench live merge nothing nowhere"
    ),
}

_CALIBRATE: dict[str, Series] = {
    "calibrate_fit": series(_FIT, "calibrate show cal.json --json", "calibrate show cal.json", tolerance=FIT),
    "calibrate_fit_options": series(
        "calibrate fit --data made60.jsonl --out a.json --signals peers,order --judge ash",
        "calibrate fit --data made60.jsonl --out b.json --pooled --folds 4",
        "calibrate fit --data made60.jsonl --out c.json --per-judge",
        "calibrate fit --data made12.jsonl --out d.json --prior shipped",
        "calibrate show d.json --json",
        tolerance=FIT,
    ),
    "calibrate_refused": series(
        "calibrate fit --data made4.jsonl --out a.json",
        "calibrate fit --data unlabelled.jsonl --out a.json",
        "calibrate fit --data kinds.jsonl --out a.json",
        "calibrate fit --data made60.jsonl --out a.json --signals luck",
        "calibrate fit --data made60.jsonl",
        "calibrate show none.json",
        tolerance=FIT,
    ),
    "calibrate_grades": series(
        "calibrate fit --data grades.jsonl --out g.json", "calibrate show g.json --json", tolerance=FIT
    ),
    "calibrate_threshold": series(
        _SPLIT,
        "calibrate threshold --calibration cal.json --data made120.jsonl --target 0.7 --labels-drawn random --json",
        "calibrate threshold --calibration cal.json --data made120.jsonl --target 0.8 --labels-drawn random --json",
        "calibrate threshold --calibration cal.json --data made120.jsonl --target 0.99 --labels-drawn random",
        "calibrate show cal.json --json",
        tolerance=FIT,
    ),
    "calibrate_threshold_options": series(
        _SPLIT,
        "calibrate threshold --calibration cal.json --data made120.jsonl --target 0.7 --labels-drawn random --judge ash --out one.json --json",
        "calibrate threshold --calibration cal.json --data made120.jsonl --target 0.7",
        "calibrate plan made120.jsonl --for 0.7 --calibration cal.json --questions 20",
        "calibrate threshold --calibration cal.json --data made120.jsonl --target 0.7 --labels to-label.csv",
        "calibrate threshold --calibration cal.json --data made120.jsonl --target 2",
        tolerance=FIT,
        slow=True,
    ),
    "calibrate_history": series(
        "vet made60.jsonl --strategy signals --calibration none --json",
        "calibrate history --judge ash",
        "calibrate history",
        "calibrate history --judge ash --activate 0",
        "calibrate history --judge nobody",
        tolerance=FIT,
    ),
    "calibrate_weights": series(_SCORES, "calibrate weights --data made12.jsonl --agent-scores a.jsonl", tolerance=FIT),
    "calibrate_cascade": series(
        _SCORES,
        "calibrate cascade --data made12.jsonl --agent-scores a.jsonl --stage ann --stage ben --out plan.json",
        tolerance=FIT,
    ),
}

_OTHERS: dict[str, Series] = {
    "monitor_file": series(
        "monitor decisions.jsonl --target 0.9 --json",
        "monitor decisions.jsonl --target 0.9",
        "monitor decisions.jsonl --target 0.5 --delta 0.05",
        "monitor decisions.jsonl",
        tolerance=FIT,
    ),
    "monitor_promise": series(
        _SPLIT,
        "calibrate threshold --calibration cal.json --data made120.jsonl --target 0.7 --labels-drawn random --json",
        "vet made12.jsonl --calibration cal.json --policy verdict --review-sample 1 --json",
        "monitor --json",
        "monitor --next 4 --for drift --json",
        "monitor --store none.db",
        tolerance=FIT,
    ),
    "diff_files": series(
        "vet s24.jsonl --out a.jsonl --json",
        "vet s24.jsonl --threshold 3 --out b.jsonl --json",
        "diff a.jsonl b.jsonl --labels s24.jsonl --json",
        "diff a.jsonl b.jsonl",
        "diff a.jsonl missing.jsonl",
    ),
    "diff_runs": series(
        "vet s12.jsonl --json",
        "vet s12.jsonl --threshold 3 --json",
        "diff $0.run_id $1.run_id --json",
        "diff $0.run_id $1.run_id --seed 4",
    ),
    "inspect_formats": series(
        *(
            f"inspect {name} --records 1 --json"
            for name in ("s6.jsonl", "verdicts.csv", "verdicts.tsv", "verdicts.json", "verdicts.parquet")
        ),
        "inspect kinds.jsonl --records 0 --json",
        "inspect empty.jsonl",
        "inspect missing.csv",
    ),
    "inspect_table": series(
        "inspect verdicts.csv", "inspect people.csv --json", "inspect verdicts.csv --save >> metajudge-inputs.toml"
    ),
    "import_table": series(
        "import verdicts.csv --yes >> metajudge-inputs.toml", "vet verdicts.csv --json", "import people.csv --yes"
    ),
    "import_others": series(
        "import verdicts.tsv --yes",
        "import verdicts.parquet --yes",
        "import s6.jsonl --yes",
        "import empty.jsonl --yes",
    ),
}

MEASURING: dict[str, Series] = _AUDIT | _BENCH | _CALIBRATE | _OTHERS
