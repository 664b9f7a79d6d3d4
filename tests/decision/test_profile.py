"""Weights and stages of cases."""

import pytest

from metajudge.decision import load_policy
from tests.decision.policy_texts import RISK, changed, problem


def test_weights_of_the_three_profiles_as_published():
    weights = {profile.name: list(profile.weights.values()) for profile in load_policy("risk_analysis").cases.profiles}
    assert weights == {
        "climate": [1.0, 1.5, 1.0, 1.0, 1.2, 1.5, 1.0, 1.3],
        "regulatory": [2.0, 1.0, 1.2, 1.3, 1.0, 1.8, 1.0, 1.0],
        "geopolitical": [1.5, 1.2, 1.3, 1.4, 1.5, 1.2, 1.6, 1.4],
    }


def test_profiles_are_chosen_by_type_in_any_case_and_language():
    plan = load_policy("risk_analysis").cases
    assert plan.profile_for("Climate").name == "climate"
    assert plan.profile_for("climatique").name == "climate"
    assert plan.profile_for("Réglementaire").name == "regulatory"
    assert plan.profile_for("cyber") is None


def test_a_criterion_that_a_profile_misspells_is_refused_with_the_closest_name():
    said = problem(changed(RISK, ("traceability: 1.2", "traceabilty: 1.2")))
    assert "profiles[2].weights: no stage has a criterion 'traceabilty'" in said
    assert "did you mean traceability?" in said


def test_a_profile_that_forgets_a_criterion_is_refused():
    said = problem(changed(RISK, ("        strategic_alignment: 1.6\n", "")))
    assert "profiles[2].weights: no weight for strategic_alignment" in said


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("below: 0.7}", "below: 0.6}")], "gate: steps: gap: no step covers [0.6, 0.7)"),
        ([("value: {at_least: 0.7}", "value: {at_least: 0.65}")], "gate: steps: overlap"),
        ([("stage: relevance_check", "stage: relevance")], "there is no stage 'relevance'"),
        ([("[climatique, climatic]", "[regulatory]")], "are both for cases of type 'regulatory'"),
        ([("- name: regulatory", "- name: climate")], "the name 'climate' is given twice"),
        ([("overall_score: mean_of_stages", "overall_score: median")], "overall_score: should be 'mean_of_stages'"),
        ([("traceability: 1.5", "traceability: 0")], "must be a finite number above 0"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(pairs, said):
    assert said in problem(changed(RISK, *pairs))


@pytest.mark.parametrize("spelling", ["climate", "Climatique", "CLIMATIC", " climatique "])
def test_a_type_is_compared_without_case_and_accents(spelling):
    assert load_policy("risk_analysis").cases.profile_for(spelling).name == "climate"
    assert load_policy("risk_analysis").cases.profile_for("Réglementaire") == (
        load_policy("risk_analysis").cases.profile_for("reglementaire")
    )
