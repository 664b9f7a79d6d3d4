"""Recorded judgments: what evidence, scores, decisions, probabilities, thresholds, audits and benchmarks they give.

Runs where ``METAJUDGE_DATA`` names the folder of recorded data. Figures that no fit enters hold to 1e-9. Those of a fit
hold to 1e-6: the fit ends within about 1e-8 of itself with another linear algebra library.
"""

import json
import os
from pathlib import Path

import pytest

from tests.edges.arrays import check_arrays, fields, figures
from tests.stored.commands import inside, run

DATA = Path(os.environ.get("METAJUDGE_DATA", "")).absolute()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not os.environ.get("METAJUDGE_DATA"), reason="METAJUDGE_DATA names no folder of recorded data"),
]

SETS = ("judgebench", "llmbar", "mtbench", "realmistake", "themis_rewardbench2")
JUDGES = {
    "judgebench": (),
    "mtbench": (),
    "llmbar": ("--judge", "GPT-4/Vanilla_NoRules"),
    "realmistake": ("--judge", "gpt-4-0613/baseline_errordetection_prompt_3"),
    "themis_rewardbench2": ("--judge", "Skywork/Skywork-Critic-Llama-3.1-8B"),
}
"""Whose thresholds and benchmark figures are kept: one judge's in the large sets, since those of all take minutes."""

TARGETS = (".8", ".9")
FIT = 1e-6
SCORED = ("status", "final_score", "accepted", "kept", "do.action", "do.source", "signals.*.value", "signals.*.state")
DECIDED = (
    *("probability", "probability_marks", "final_score", "accepted", "kept", "do.action", "do.source"),
    *("decision.action", "decision.band", "decision.gate", "decision.margin", "decision.inputs.value"),
)


@pytest.fixture
def folder(tmp_path):
    with inside(tmp_path, "http://127.0.0.1:9"):
        yield tmp_path


def told(*words: object, codes: tuple[int, ...] = (0,)) -> str:
    done = run(*(str(word) for word in words))
    assert done.code in codes, done.stderr
    return done.stdout


def assessments(*words: object) -> list[dict]:
    told("vet", *words, "--out", "out.jsonl")
    return [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", SETS)
def test_free_evidence_scores_and_decisions(name, folder):
    check_arrays(f"{name}.vet", fields(assessments(DATA / name), SCORED, row="judgment_id"))


@pytest.mark.parametrize("name", SETS)
def test_probabilities_decisions_and_thresholds(name, folder):
    told("calibrate", "fit", "--data", DATA / name, "--share", ".4", "--out", "fit.json")
    thresholds = {}
    for target in TARGETS:
        look = ("--data", DATA / name, *JUDGES[name], "--target", target, "--labels-drawn", "random", "--json")
        (folder / "looked.json").write_bytes((folder / "fit.json").read_bytes())
        found = json.loads(told("calibrate", "threshold", "--calibration", "looked.json", *look, codes=(0, 1)))
        thresholds[f"target {target[1:]}"] = found
        if target == TARGETS[0]:
            (folder / "promised.json").write_bytes((folder / "looked.json").read_bytes())
    check_arrays(f"{name}.thresholds", figures(thresholds), tolerance=FIT)
    decided = assessments(DATA / name, "--calibration", "promised.json", "--policy", "verdict")
    check_arrays(f"{name}.calibrated", fields(decided, DECIDED, row="judgment_id"), tolerance=FIT)


@pytest.mark.parametrize("name", SETS)
def test_figures_of_an_audit(name, folder):
    check_arrays(f"{name}.audit", figures(json.loads(told("audit", DATA / name, "--json"))))


@pytest.mark.parametrize("name", SETS)
def test_figures_of_a_benchmark(name, folder):
    found = json.loads(told("bench", name.removeprefix("themis_"), "--data", DATA / name, *JUDGES[name], "--json"))
    check_arrays(f"{name}.bench", figures(found), tolerance=FIT)
