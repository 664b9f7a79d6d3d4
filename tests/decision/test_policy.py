"""What a policy and its profiles are, and what is refused and why."""

import pytest

from metajudge.decision import Policy, load_policy, parse_policy
from metajudge.errors import PolicyError
from tests.decision.policy_texts import FOLDER, RISK, band, changed, problem, small


def test_the_digest_is_the_content():
    policy = load_policy("verdict")
    again = Policy.model_validate(policy.model_dump(mode="json"))
    assert again == policy
    assert again.digest == policy.digest
    text = FOLDER.joinpath("verdict.yaml").read_text("utf-8")
    assert parse_policy(changed(text, ("# one agent", "# a comment")), "x").digest == policy.digest
    assert parse_policy(text.replace("0.95", "0.96"), "x").digest != policy.digest
    assert parse_policy(text.replace("divided", "split"), "x").digest != policy.digest


def test_a_bad_band_is_not_also_called_no_band_at_all():
    text = small(bands=[band("APROVE", {"at_least": 0.5}), band("REJECT", {"below": 0.5})])
    assert "bands[0].action" in problem(text)
    assert "at least 1 item" not in problem(text)
    assert "at least 1 item" in problem(small(bands=[]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (small(bands=[]), "bands: "),
        (small(bands=[band(value={"at_least": 1.2})]), "bands[0].value: 1.2 lies outside 0..1"),
        (small(bands=[band(confidence={"below": -0.1})]), "bands[0].confidence: -0.1 lies outside 0..1"),
        (small(bands=[band(value={"below": 0})]), "nothing lies below 0"),
        (small(bands=[band(value={"at_least": 0.5, "below": 0.5})]), "the interval is empty"),
        (small(bands=[band(value={"at_least": 0.5, "below": 0.5 + 1e-10})]), "the interval is empty"),
        (small(bands=[band(value={"at_least": "0.5"})]), "must be a finite number (found '0.5')"),
        (small(bands=[band(value={"at_least": True})]), "must be a finite number (found True)"),
        (small(bands=[band(value={"at_most": 0.5})]), "unknown field; accepted: at_least, below"),
        (small(bands=[band("ACCEPT")]), "bands[0].action: "),
        (small(scale={"low": 0, "high": 10}), "a probability goes from 0 to 1, not 0..10"),
        (small(basis="score", scale={"low": 5, "high": 5}), "low (5) must be below high (5)"),
        (small(basis="score", scale={"low": 1, "high": 1 + 1e-10}), "must be below high"),
        (small(name="My policy"), "name: "),
        (small(version=2), "version: should be 1"),
        (small(without_confidence=[band(confidence={"below": 0.5})]), "remove it; confidence is missing here"),
        (
            small(without_confidence=[band(value={"below": 0.5})]),
            "without_confidence: gap: no band covers probability [0.5, 1]",
        ),
        (changed(RISK, ("basis: score", "basis: probability")), "a probability goes from 0 to 1"),
        ("", "the file is empty"),
        ("- a\n- b\n", "a policy is a mapping"),
        ("name: [", "not valid YAML"),
        (small() + "name: again\n", "key 'name' was already given"),
        ("!!python/object:os.system {}", "not valid YAML"),
    ],
)
def test_what_is_refused_and_where(text, said):
    assert said in problem(text)


def test_a_criterion_that_the_rubric_lacks_is_refused(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(RISK.replace("strategic_alignment", "strategic_fit"))
    with pytest.raises(PolicyError, match="the rubric 'risk_analysis' has no criterion 'strategic_fit'"):
        load_policy(path)


def test_a_scale_that_is_not_the_rubrics_is_refused(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(changed(RISK, ("scale: {low: 0, high: 10}", "scale: {low: 0, high: 20}")))
    with pytest.raises(PolicyError, match=r"scale 0\.\.20 is not the rubric's"):
        load_policy(path)


def test_weights_of_the_three_profiles_as_published():
    weights = {profile.name: list(profile.weights.values()) for profile in load_policy("risk_analysis").cases.profiles}
    assert weights == {
        "climate": [1.0, 1.5, 1.0, 1.0, 1.2, 1.5, 1.0, 1.3],
        "regulatory": [2.0, 1.0, 1.2, 1.3, 1.0, 1.8, 1.0, 1.0],
        "geopolitical": [1.5, 1.2, 1.3, 1.4, 1.5, 1.2, 1.6, 1.4],
    }


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
    plan = load_policy("risk_analysis").cases
    assert plan.profile_for("Réglementaire") == plan.profile_for("reglementaire")
    assert plan.profile_for("Réglementaire").name == "regulatory"
    assert plan.profile_for("cyber") is None
