"""The recorded study, where METAJUDGE_DATA names its folder. Expected values were counted by hand-written loops over the
lines, apart from this package's code, or are the paper's where it is right."""

import os
from pathlib import Path

import pytest
from metajudge.benchmarks.agent_clash.figures import PUBLISHED, agrees
from metajudge.benchmarks.agent_clash.records import load_study
from metajudge.benchmarks.agent_clash.report import recompute

DATA = os.environ.get("METAJUDGE_DATA")
pytestmark = pytest.mark.skipif(DATA is None, reason="METAJUDGE_DATA does not name the folder of recorded data")

COUNTS = {
    "exp1.n": (100, 100),
    "exp1.n_valid": (99, 100),
    "exp1.matches": (88, 100),
    "exp1.unique_comparisons": (95, 100),
    "exp2.models": (27, 260),
    "exp2.pairs": (81, 260),
    "t6.run1.matches": (76, 100),
    "t6.run2.matches": (75, 100),
    "audit.candidate_votes": (190, 359),
    "audit.fewer_than_panel": (7, 360),
    "audit.ties": (4, 390),
    "audit.invalid_rankings": (4, 390),
    "audit.unpublished_attempts": (54, 444),
}

SHARES = {
    "t2.strong": (71, 74),
    "t2.weak": (17, 25),
    "t7.gemini-1.5-flash": (3, 3),
    "t7.gpt-4o-aug": (2, 3),
    "t8.same": (91, 100),
    "run3.still_wrong": (19, 20),
    "run3.unstable": (5, 9),
    "run3.lowconf": (3, 31),
    "majority.concordance": (76, 100),
    "self.first": (141, 252),
    "self.expected": (151, 252),
    "self_published.first": (124, 220),
    "ablation.mtbench.openai/gpt-5.2-pro": (88, 99),
    "ablation.arena.anthropic/claude-opus-4.5": (78, 100),
    "ablation.google/gemini-2.5-pro": (153, 199),
    "ablation.panel": (164, 199),
    "unanimity.unanimous": (140, 162),
    "unanimity.split": (24, 37),
    "split.by_judge.anthropic/claude-opus-4.5": (25, 37),
    "split.by_judge.openai/gpt-5.2-pro": (23, 37),
    "e2e.stable": (6, 10),
    "audit.position.google/gemini-2.5-pro": (208, 440),
    "audit.position.openai/gpt-4-turbo": (18, 18),
}

NUMBERS = {
    "exp1.kappa_side": 0.7639280294818989,
    "exp1.kappa_model": 0.8561806656101427,
    "t2.chi2": 14.77641891891892,
    "t2.chi2_yates": 12.082347972972974,
    "t2.odds_ratio": 11.137254901960784,
    "t2.risk_ratio": 1.4109697933227343,
    "exp1.sign_p_exact": 2 * sum((165, 55, 11, 1)) / 2**11,
    "t6.run1.kappa": 0.5201919232307077,
    "t6.run2.kappa": 0.5007987220447284,
    "t8.kappa_verdict": 0.8197115384615383,
    "t8.kappa_match": 0.7567567567567566,
    "t8.mcnemar_exact": 1.0,
    "run3.still_wrong_p": 21 / 2**20,
    "t9.z": 2.208816,
    "t9.p": 0.02720035,
    "ablation.gain_vs_random": 100 * (164 - (163 + 165 + 153) / 3) / 199,
    "ablation.gain_vs_worst": 100 * (164 - 153) / 199,
    "split.panel_gain": 100 * (24 - 25) / 37,
    "unanimity.fisher_p": 0.0036870192825294284,
    "exp1.mean_time": 39.63434343434344,
    "cost.total": 51.698656575,
    "e2e.cost": 3.9949882,
}


INTERVALS = {
    "t1.gpt-4": (88.3, 100.0),
    "t1.claude-v1": (77.3, 99.2),
    "t1.gpt-3.5-turbo": (74.2, 97.7),
    "t1.vicuna-13b-v1.2": (50.5, 89.8),
    "t1.alpaca-13b": (35.9, 91.8),
    "t1.llama-13b": (0.0, 65.8),
    "t2.strong": (88.7, 98.6),
    "t2.weak": (48.4, 82.8),
    "t7.chatgpt-4o": (52.9, 97.8),
    "t7.gemini-1.5-pro-exp": (48.7, 97.4),
    "t7.gpt-4o": (57.8, 95.7),
    "t7.gemini-1.5-pro": (43.6, 97.0),
    "t7.claude-3-opus": (30.1, 95.4),
    "t7.claude-3.5-sonnet": (42.4, 87.3),
    "t7.yi-large": (20.8, 93.9),
    "t7.mistral-large-2": (23.1, 88.2),
    "t7.deepseek-v2": (15.0, 85.0),
}
"""Wilson intervals as the paper prints them in tables 1, 2 and 7."""


@pytest.fixture(scope="module")
def found():
    return recompute(load_study(Path(DATA or "")))


def test_counts_shares_and_statistics(found):
    for name, (value, n) in COUNTS.items():
        assert (found[name].value, found[name].n) == (value, n), name
    for name, (hits, n) in SHARES.items():
        assert found[name].value == pytest.approx(100 * hits / n), name
        assert found[name].n == n, name
    for name, value in NUMBERS.items():
        assert found[name].value == pytest.approx(value, rel=1e-4), name


def test_every_difference_to_the_paper_is_explained_by_a_computation(found):
    differing = [name for name, paper in PUBLISHED.items() if not agrees(found[name].value, paper)]
    assert len(differing) == 31
    for name in differing:
        why = str(found[name].why)
        assert "No computation" not in why, name
        assert "not the ones it was printed from" not in why, name
    by_statement = {"elo.direction", "audit.candidate_votes", "audit.fewer_than_panel"}
    assert all("The paper's figure is" in str(found[name].why) for name in set(differing) - by_statement)


def test_the_papers_intervals_are_reproduced(found):
    for name, printed in INTERVALS.items():
        assert found[name].ends == pytest.approx(printed, abs=0.0501), name


def test_models_and_lists(found):
    assert found["exp1.human_winners"].value["gpt-4"] == 30
    assert found["exp1.human_winners"].value["llama-13b"] == 2
    assert found["t8.matrix"].value == {
        "both_match": 71, "only_run1_matches": 5, "only_run2_matches": 4, "neither_matches": 20
    }  # fmt: skip
    assert found["stability.classes"].value == {"stable_right": 71, "stable_wrong": 20, "unstable": 9}
    assert len(found["exp2.chronic_pairs"].value) == 3
    assert found["exp2.chronic_pairs"].value["claude-3.5-sonnet vs gemini-1.5-pro"]["wrong_in_both_runs"] == 2
    assert found["self.by_model.gpt-4"].value["first"] == pytest.approx(100 * 31 / 44)
    assert found["e2e.by_difficulty"].value["easy"] == {"stable": 1, "split": 3, "n": 4, "share_stable": 25.0}
    low, high = found["t6.combined_clustered"].ends
    assert 66 < low < 69 < 81 < high < 84
