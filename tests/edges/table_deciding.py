"""Deciding and reviewing: ``policy``, ``review``, ``outcomes``, ``feedback`` and ``export``."""

import csv
import io
from typing import Any

from tests.edges.inputs import item
from tests.edges.series import FIT, Series, series
from tests.stored.commands import ANTHROPIC_STYLE, OPENAI_STYLE

_VET = "vet made4.jsonl --limit 6 --policy verdict_score --review-sample 1"
_JUDGES = f"--judge jay={OPENAI_STYLE.format('jay-1')} --judge kite={ANTHROPIC_STYLE.format('kite-1')}"
_NEXT = "review next --reviewer ada --json"


def decided(text: str) -> str:
    """A table of reviews that a person decided: shown verdicts by the labels of made questions, blind ones by turns."""
    rows = list(csv.DictReader(io.StringIO(text)))
    for number, row in enumerate(rows):
        shown = row["subject_id"].count("/") == 2
        right = item(int(row["item_id"][1:]))["label"] == row["verdict"] if shown else number % 4 > 0
        row.update(outcome="approve" if right else "reject", reviewer="ada")
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _by_subject(found: dict[str, Any]) -> dict[str, Any]:
    """With outcomes by their subject: cases are decided as replies arrive."""
    if "outcomes" in (given := found.get("json", {})):
        given["outcomes"] = sorted(
            ({**one, "number": "*"} for one in given["outcomes"]), key=lambda one: one["subject_id"]
        )
    return found


_POLICY: dict[str, Series] = {
    "policy_list": series("policy list --json", "policy list"),
    "policy_show": series(
        *(f"policy show {name} --json" for name in ("verdict", "verdict_score", "risk_analysis")),
        "policy show verdict",
        "policy show none",
    ),
    "policy_validate": series(
        "policy validate good_policy.yaml", "policy validate bad_policy.yaml", "policy validate missing.yaml"
    ),
    "policy_simulate": series(
        _VET,
        "policy simulate verdict_score --json",
        "policy simulate verdict --against verdict_score --json",
        "policy simulate verdict_score",
        "policy simulate risk_analysis",
        "policy simulate verdict_score --on none.db",
    ),
    "policy_of_ones_own": series(
        "vet s12.jsonl --policy good_policy.yaml --json",
        "policy simulate good_policy.yaml --against verdict_score --json",
    ),
}

_REVIEW: dict[str, Series] = {
    "review_decide": series(
        _VET,
        _NEXT,
        "review decide $1.review_id --reviewer ada --outcome approve --json",
        "review decide $1.review_id --reviewer ada --outcome approve --json",
        "review amend $1.review_id --reviewer ada --outcome reject --reason 'read it again' --json",
        "review comment $1.review_id 'Both are incomplete' --reviewer ada",
        "review show $1.review_id",
        "review stats --reviewer ada --json",
        "review list --status decided --json",
    ),
    "review_modify": series(
        _VET,
        f"~{_NEXT}",
        "review decide $1.review_id --reviewer ada --outcome modify --verdict R2 --reason 'R2 answers it' --json",
        "~review next --reviewer ada --json",
        "review decide $3.review_id --reviewer ada --outcome cannot_tell --json",
        "review decide $3.review_id --reviewer ada --outcome perhaps",
        "outcomes list --json",
        "outcomes show $1.subject_id --json",
    ),
    "review_claim": series(
        _VET,
        "review list --json",
        "review claim $1.reviews.0.review.review_id --reviewer ada",
        "review claim $1.reviews.0.review.review_id --reviewer ben",
        "review release $1.reviews.0.review.review_id --reviewer ben",
        "review release $1.reviews.0.review.review_id --reviewer ada",
        "review claim nothing --reviewer ada",
        "review show nothing",
    ),
    "review_assign": series(
        _VET,
        "review assign ana --first 2 --by ben",
        "review list --assigned ana --json",
        "review next --reviewer ana --mine --json",
        "review assign ana $2.reviews.0.review.review_id --remove --by ben",
        "review list --assigned ana --json",
    ),
    "review_blind": series(
        "vet made4.jsonl --limit 6 --policy verdict_score --review-sample 1",
        "review next --reviewer ada --blind --json",
        "review decide $1.review_id --reviewer ada --verdict R1 --json",
        "review next --reviewer ada --by-item",
        "review list --blind --limit 2",
    ),
    "review_two_people": series(
        "vet made4.jsonl --limit 6 --policy verdict_score --review-sample 1 --reviewers 2",
        "~review next --reviewer ada --json",
        "review decide $1.review_id --reviewer ada --outcome approve --json",
        "review claim $1.review_id --reviewer ben",
        "review decide $1.review_id --reviewer ben --outcome reject --json",
        "review stats --json",
    ),
    "review_export": series(
        _VET, "review export --out r.csv >> r.csv", "review export --out r.jsonl --blind", "review export --out r.txt"
    ),
    "review_import": series(_VET, "review export --out r.csv", "review import r.csv", edits={"r.csv": decided}),
    "review_empty": series(
        "review list --json", "review next --reviewer ada", "review stats --json", "review session --reviewer ada"
    ),
}

_OUTCOMES: dict[str, Series] = {
    "outcomes": series(
        _VET,
        "outcomes list --json",
        "outcomes list --outcome approved --by machine --limit 2 --json",
        "outcomes list",
        "outcomes export --out o.csv >> o.csv",
        "outcomes export --out o.jsonl --history >> o.jsonl",
        "outcomes show nothing",
        "outcomes list --kind nothing",
    ),
    "outcomes_cases": series(f"case cases.jsonl {_JUDGES}", "outcomes list --kind case --json", part=_by_subject),
    "outcomes_sent": series(
        _VET,
        "outcomes send --webhook $hook --all --json",
        "outcomes receivers --json",
        "outcomes send --webhook $hook --json",
        "outcomes receivers",
        "outcomes send",
        environment={"METAJUDGE_WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
    ),
}

_FEEDBACK: dict[str, Series] = {
    "feedback_report": series(
        _VET,
        f"~{_NEXT}",
        "review decide $1.review_id --reviewer ada --outcome approve --json",
        f"~{_NEXT}",
        "review decide $3.review_id --reviewer ada --outcome reject --json",
        "feedback report --json",
        "feedback report --policy verdict_score --save",
        "feedback snapshots --json",
        "feedback disagreements --direction too_strict",
        "feedback propose --json",
    ),
    "feedback_loop": series(
        "feedback report --store decided.db",
        "feedback propose --store decided.db --json",
        "~feedback history --store decided.db --json",
        "feedback backtest $2.proposals.0.proposal_id --store decided.db",
        "feedback activate $2.proposals.0.proposal_id --store decided.db --by ana --reason 'backtest passed'",
        "feedback history --store decided.db",
        "feedback disagreements --store decided.db --direction too_lenient",
        tolerance=FIT,
        slow=True,
    ),
    "feedback_of_few": series(
        "vet made4.jsonl --policy good_policy.yaml --review-sample 1",
        "review export --out r.csv",
        "review import r.csv",
        "feedback report",
        "feedback disagreements --json",
        "feedback propose",
        "feedback backtest 1",
        "feedback activate 1 --by ana",
        "feedback history --json",
        "feedback compare 1",
        edits={"r.csv": decided},
        tolerance=FIT,
    ),
    "feedback_refused": series(
        "feedback report",
        "feedback disagreements --json",
        "feedback propose",
        "feedback backtest 3",
        "feedback activate 3 --by ana",
        "feedback compare 2",
        "feedback snapshots --json",
        "feedback history --json",
        "feedback drafts --json",
    ),
    "feedback_drafts": series(
        f"case cases.jsonl {_JUDGES} --audit-share 1",
        "feedback draft --policy risk_analysis --json",
        "feedback drafts --json",
        f"feedback rejudge 1 {_JUDGES} --dry-run",
        "feedback compare 1",
    ),
}

_EXPORT: dict[str, Series] = {
    "export_preferences": series(
        "vet s24.jsonl --threshold 2 --json",
        "export preferences --out trl --json",
        "export check trl --json",
        "export preferences --out trl",
        "export preferences --out all --all --reconcile majority --format jsonl >> all/data/train-00000-of-00001.jsonl",
        "export check all",
        "export check nothing",
    ),
    "export_formats": series(
        "vet made4.jsonl --threshold 3",
        *(
            f"export preferences --out {name} --format {name} >> {name}/data/train-00000-of-00001.{ending}"
            for name in ("trl", "trl-conversational", "ultrafeedback", "kto", "jsonl", "parquet")
            for ending in ("jsonl" if name == "jsonl" else "parquet",)
        ),
        "export preferences --out no --format word",
    ),
    "export_judgments": series(
        "vet made4.jsonl --threshold 3",
        "export preferences --kind judgments --out pairs --json >> pairs/data/train-00000-of-00001.parquet",
        "export preferences --kind judgments --pairing all --by-label --all --out more --json",
    ),
    "export_choices": series(
        "vet made12.jsonl --threshold 3",
        "export preferences --out a --split 0.5,0.25,0.25 --seed 2 --json",
        "export preferences --out b --reconcile majority --balance-length --dedupe --json",
        "export preferences --out c --judge ash --category Sums --json",
        "export preferences --out d --max-length 5 --json",
        "export preferences --out e --min-probability 0.5 --json",
        "export preferences --out f --decontaminate s6.jsonl --personal-data flag --json",
        slow=True,
    ),
    "export_file": series(
        "vet s24.jsonl --threshold 3 --out a.jsonl --json",
        "export preferences --assessments a.jsonl --judgments s24.jsonl --out p --json",
        "export preferences --assessments a.jsonl --out q",
    ),
    "export_grades": series(
        "vet answers.jsonl --threshold 1 --json",
        "export preferences --from-grades --out a --format jsonl --json >> a/data/train-00000-of-00001.jsonl",
        "export preferences --format kto --pass-mark 3 --out b --json",
    ),
    "export_reviewed": series(
        _VET,
        f"~{_NEXT}",
        "review decide $1.review_id --reviewer ada --outcome approve --json",
        "export preferences --out a --format jsonl --json >> a/data/train-00000-of-00001.jsonl",
        "export preferences --out b --ignore-decisions --json",
        "export preferences --out c --decision APPROVE --json",
    ),
    "export_guaranteed": series(
        "calibrate fit --data made120.jsonl --out cal.json --share 0.5",
        "calibrate threshold --calibration cal.json --data made120.jsonl --target 0.75 --labels-drawn random --json",
        "vet made12.jsonl --calibration cal.json --json",
        "export preferences --guarantee 0.75,0.1 --calibration cal.json --out a --json",
        "export preferences --guarantee 0.9,0.1 --out b",
        tolerance=FIT,
    ),
}

DECIDING: dict[str, Series] = _POLICY | _REVIEW | _OUTCOMES | _FEEDBACK | _EXPORT
