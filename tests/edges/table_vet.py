"""``vet`` and ``demo``: free evidence, agents by each strategy, calibrations, policies, and what they read and write."""

from tests.edges.series import FIT, Series, one_at_a_time, series
from tests.stored.commands import ANTHROPIC_STYLE, OPENAI_STYLE

_ANN = f"--agent ann={OPENAI_STYLE.format('ann-1')}"
_BEN = f"--agent ben={ANTHROPIC_STYLE.format('ben-1')}"
_MAP = (
    "--map verdict=winner,responses.A=output_1,responses.B=output_2,question=prompt,judge=judge_model,label=human,id=id"
)
_FIT = "calibrate fit --data made60.jsonl --out cal.json --seed 3"

_FREE: dict[str, Series] = {
    "vet_free": series("vet s12.jsonl --out o.jsonl --json >> o.jsonl"),
    "vet_free_text": series("vet s24.jsonl", "vet made12.jsonl", "vet unlabelled.jsonl"),
    "vet_free_made": series("vet made12.jsonl --threshold 4 --json"),
    "vet_unlabelled": series("vet unlabelled.jsonl --json"),
    "vet_right_without_labels": series("vet made60.jsonl", "vet made60.jsonl --no-label-free"),
    "vet_no_label_free": series("vet unlabelled.jsonl --no-label-free --json"),
    "vet_again": series("vet s12.jsonl --json", "vet s12.jsonl --json", "vet s24.jsonl"),
    "vet_limit": series("vet s24.jsonl --limit 5 --json"),
    "vet_one_of_the_judges": series("vet s24.jsonl --judge osprey-70b --json", "vet s24.jsonl --judge nobody --json"),
    "vet_dry_run": series(
        "vet s12.jsonl --dry-run --json",
        f"vet s12.jsonl --dry-run {_ANN} --json",
        "vet s12.jsonl --dry-run --agent openai:gpt-4o-mini --agent anthropic:claude-haiku-4-5",
    ),
    "vet_reports": series(
        "vet s12.jsonl --report r.html --report r.md --report r.json --markdown short.md >> r.html r.md r.json short.md"
    ),
    "vet_one_judge_one_order": series(
        "vet one_judge.jsonl --limit 4 --out o.jsonl --json >> o.jsonl", "vet one_judge.jsonl"
    ),
    "vet_ties": series(
        "vet ties.jsonl --limit 8 --out o.jsonl --json >> o.jsonl", "vet ties.jsonl --strict", "vet ties.jsonl"
    ),
    "vet_grades": series(
        "vet grades.jsonl --limit 6 --out o.jsonl --json >> o.jsonl", "vet grades.jsonl --right within:1"
    ),
    "vet_categories": series("vet categories.jsonl --limit 6 --out o.jsonl --json >> o.jsonl", "vet categories.jsonl"),
    "vet_rankings": series(
        "vet rankings.jsonl --limit 6 --out o.jsonl --json >> o.jsonl", "vet rankings.jsonl --right kendall>=0.5 --json"
    ),
    "vet_constant": series(
        "vet constant.jsonl", "vet one.jsonl", "vet no_verdicts.jsonl", "vet no_verdicts.jsonl --json"
    ),
    "vet_kinds": series("vet kinds.jsonl --json", "vet kinds.jsonl"),
    "vet_empty": series("vet empty.jsonl --json", "vet empty.jsonl --strict", "vet missing.jsonl"),
    "vet_bad_lines": series("vet broken.jsonl --json", "vet broken.jsonl --strict", "vet broken.jsonl"),
    "vet_unknown_option": series(
        "vet s6.jsonl --no-such-option",
        "vet",
        "vet s6.jsonl --strategy guessing",
        "vet s6.jsonl --threshold high",
        "vet s6.jsonl --rubric none",
        "vet s6.jsonl --policy nothing",
        "vet s6.jsonl --limit 0",
        "vet s6.jsonl --report r.docx",
        "no-such-command",
    ),
    "vet_csv": series(
        "vet verdicts.csv --out o.jsonl --json >> o.jsonl", f"vet verdicts.csv {_MAP} --json >> metajudge-inputs.toml"
    ),
    "vet_map_values": series(
        f"vet verdicts.csv {_MAP} --map-values A=B,B=A --json", "vet verdicts.csv --map verdict=nothing --json"
    ),
    "vet_tsv": series(f"vet verdicts.tsv {_MAP} --json"),
    "vet_json_array": series("vet verdicts.json --json"),
    "vet_parquet": series(f"vet verdicts.parquet {_MAP} --limit 3 --out o.parquet --json >> o.parquet"),
    "vet_labels_elsewhere": series(
        "vet unlabelled.jsonl --labels people.csv --json",
        "vet unlabelled.jsonl --labels people.csv --on item --labels-map label=label,item_id=item_id",
    ),
    "vet_fail_under": series(
        "vet made12.jsonl --fail-under precision=0.99",
        "vet made12.jsonl --fail-under kept=0.05 --fail-under precision=0.1",
        "vet made12.jsonl --fail-under kept=0.9",
        "vet unlabelled.jsonl --fail-under precision=0.5",
        "vet made12.jsonl --fail-under speed=1",
    ),
    "demo": series(
        "demo --no-report",
        "demo --save saved.jsonl --report demo.html >> demo.html",
        "demo --save saved.jsonl --no-report",
    ),
}

_CALIBRATED: dict[str, Series] = {
    "vet_calibrated": series(
        _FIT, "vet mixed.jsonl --calibration cal.json --out o.jsonl --json >> o.jsonl", tolerance=FIT
    ),
    "vet_calibrated_text": series(_FIT, "vet made12.jsonl --calibration cal.json --report r.md >> r.md", tolerance=FIT),
    "vet_guaranteed": series(
        "calibrate fit --data made120.jsonl --out cal.json --share 0.5",
        "calibrate threshold --calibration cal.json --data made120.jsonl --target 0.75 --labels-drawn random --json",
        "vet made12.jsonl --calibration cal.json --policy verdict --json",
        "vet made12.jsonl --calibration cal.json",
        tolerance=FIT,
    ),
    "vet_shipped_calibration": series(
        "vet s24.jsonl --calibration shipped --json", "vet s24.jsonl --calibration shipped", tolerance=FIT
    ),
    "vet_calibration_of_others": series(
        _FIT,
        "vet s12.jsonl --calibration cal.json --json",
        "vet s12.jsonl --calibration cal.json --allow-other-calibration --json",
        "vet s12.jsonl --calibration none.json",
        tolerance=FIT,
    ),
    "vet_policy": series(
        "vet s6.jsonl --policy verdict_score --out o.jsonl --json >> o.jsonl", "vet s12.jsonl --policy verdict_score"
    ),
    "vet_policy_verdict": series(
        _FIT,
        "vet mixed.jsonl --judge ash --judge cedar --calibration cal.json --policy verdict --out o.jsonl --json >> o.jsonl",
        "vet made4.jsonl --policy verdict",
        tolerance=FIT,
    ),
    "vet_policy_sampled": series(
        "vet s24.jsonl --policy verdict_score --review-sample 0.5 --reviewers 2 --json",
        "review list",
        "review stats --json",
    ),
}

_ASKED: dict[str, Series] = {
    "vet_one_agent": series(
        f"vet s6.jsonl {_ANN} --limit 4 --out o.jsonl --json >> o.jsonl",
        f"vet s6.jsonl {_ANN} --json",
        f"vet s6.jsonl {_ANN}",
    ),
    "vet_average": series("vet s6.jsonl --config average.toml --limit 3 --out o.jsonl --json >> o.jsonl"),
    "vet_average_text": series("vet s12.jsonl --config average.toml --no-early-exit --report r.md >> r.md"),
    "vet_majority": series(
        "vet s6.jsonl --config majority.toml --limit 3 --out o.jsonl --json >> o.jsonl",
        "vet s6.jsonl --config majority.toml --no-early-exit --json",
    ),
    "vet_discussion": series("vet s6.jsonl --config discussing.toml --limit 3 --out o.jsonl --json >> o.jsonl"),
    "vet_discussion_summarised": series(
        "vet judgments.jsonl --config discussion.toml --limit 3 --out o.jsonl --json >> o.jsonl"
    ),
    "vet_rejudge": series(
        f"vet s6.jsonl {_ANN} --strategy rejudge --threshold 3 --limit 3 --out o.jsonl --json >> o.jsonl"
    ),
    "vet_routes": series("vet made4.jsonl --config routed.toml --limit 4 --judge ash --out o.jsonl --json >> o.jsonl"),
    "vet_panel_and_policy": series(
        "vet judgments.jsonl --config panel.toml --policy verdict_score --limit 3 --review-sample 1 --out o.jsonl --json >> o.jsonl"
    ),
    "vet_rubrics": series(
        *(f"vet s6.jsonl {_ANN} --rubric {name} --json" for name in ("short", "long", "binary", "baseline"))
    ),
    "vet_prompt_versions": series(
        *(f"vet s6.jsonl {_ANN} --prompt-version {version} --json" for version in (1, 2, 99))
    ),
    "vet_threshold": series(
        *(
            f"vet s12.jsonl {_ANN} {_BEN} --strategy weighted_average --threshold {at} --json"
            for at in ("4", "4.5", "5")
        )
    ),
    "vet_threshold_of_votes": series(
        *(f"vet s12.jsonl --config majority.toml --threshold {at} --json" for at in ("4", "5"))
    ),
    "vet_budget": series(
        f"vet s12.jsonl {_ANN} --budget-calls 3 --concurrency 1 --json", f"vet s12.jsonl {_ANN} --json"
    ),
    "vet_families": series(
        "vet s6.jsonl --agent anthropic:claude-1@http://models.test --families forbid --json",
        f"vet s6.jsonl {_ANN} --families whatever",
    ),
    "vet_agent_refused": series(
        "vet s6.jsonl --agent nobody:model",
        "vet s6.jsonl --agent openai:gpt-4o-mini",
        "vet s6.jsonl --config none.toml",
    ),
}

VETTING: dict[str, Series] = _FREE | _CALIBRATED | {name: one_at_a_time(one) for name, one in _ASKED.items()}
