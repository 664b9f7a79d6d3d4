"""Policies by name and by file, bands and rounding."""

import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
import yaml

from metajudge.decision import BUILTIN_POLICIES, Policy, Range, list_policies, load_policy, parse_policy
from metajudge.decision.bands import Band, all_exact, changes, margin
from metajudge.decision.load import spellings
from metajudge.errors import PolicyError
from metajudge.types.interval import UNIT, Interval, exact
from tests.decision.policy_texts import FOLDER, RISK, band, changed, problem, small


def test_the_digest_is_the_content_and_a_bad_band_is_not_also_called_none():
    policy = load_policy("verdict")
    again = Policy.model_validate(policy.model_dump(mode="json"))
    assert again == policy
    assert again.digest == policy.digest
    text = FOLDER.joinpath("verdict.yaml").read_text("utf-8")
    assert parse_policy(changed(text, ("# one agent", "# a comment")), "x").digest == policy.digest
    assert parse_policy(text.replace("0.95", "0.96"), "x").digest != policy.digest
    assert parse_policy(text.replace("divided", "split"), "x").digest != policy.digest
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


def test_a_criterion_that_a_profile_misspells_or_forgets_is_refused(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(RISK.replace("strategic_alignment", "strategic_fit"))
    with pytest.raises(PolicyError, match="the rubric 'risk_analysis' has no criterion 'strategic_fit'"):
        load_policy(path)
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
        ([("traceability: 1.2", "traceabilty: 1.2")], "profiles[2].weights: no stage has a criterion 'traceabilty'"),
        ([("traceability: 1.2", "traceabilty: 1.2")], "did you mean traceability?"),
        ([("        strategic_alignment: 1.6\n", "")], "profiles[2].weights: no weight for strategic_alignment"),
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


# Policies by name and by file.
SCHEMA = json.loads(FOLDER.joinpath("policy.schema.json").read_text("utf-8"))


def test_every_shipped_file_is_listed_named_after_its_file_and_fits_the_schema():
    stems = {entry.name.removesuffix(".yaml") for entry in FOLDER.iterdir() if entry.name.endswith(".yaml")}
    assert stems == set(BUILTIN_POLICIES)
    assert [policy.name for policy in list_policies()] == list(BUILTIN_POLICIES)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for name in BUILTIN_POLICIES:
        data = yaml.safe_load(FOLDER.joinpath(f"{name}.yaml").read_text("utf-8"))
        jsonschema.Draft202012Validator(SCHEMA).validate(data)


def test_the_schema_file_is_the_models_own():
    """The file is for editors; `metajudge schema policy` writes it."""
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Policy.model_json_schema()}
    assert document == SCHEMA


def test_a_rubric_of_ones_own_is_found_beside_the_policy(tmp_path):
    rubric = files("metajudge.rubric_files.cases").joinpath("risk_analysis.yaml").read_text("utf-8")
    (tmp_path / "own.yaml").write_text(rubric.replace("name: risk_analysis", "name: own"))
    path = tmp_path / "mine.yaml"
    path.write_text(changed(RISK, ("rubric: risk_analysis", "rubric: ./own.yaml")))
    assert load_policy(path).cases.rubric == "./own.yaml"
    (tmp_path / "own.yaml").unlink()
    with pytest.raises(PolicyError, match=r"cases\.rubric: .*own\.yaml: cannot read the rubric"):
        load_policy(path)


def test_an_unknown_policy_is_answered_with_what_there_is_and_a_category_goes_by_every_name():
    with pytest.raises(PolicyError, match=r"unknown policy 'verdct'; built in are .*did you mean verdict"):
        load_policy("verdct")
    with pytest.raises(PolicyError, match="'climate' is a weight profile of policy 'risk_analysis'"):
        load_policy("climate")
    with pytest.raises(PolicyError, match="cannot read the policy"):
        load_policy("nowhere/mine.yaml")
    assert set(spellings("Climatique")) == {"climatique", "climate", "climatic"}
    assert spellings("Finance") == ("finance",)


# Bands cover every number once: gaps and overlaps are named exactly.
VERIFIED = FOLDER.joinpath("risk_analysis_verified.yaml").read_text("utf-8")
REJECT = band("REJECT", {"below": 0.5})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (small(bands=[band("APPROVE", {"at_least": 0.6}), REJECT]), "gap: no band covers probability [0.5, 0.6)"),
        (
            small(bands=[band("APPROVE", {"at_least": 0.4}), REJECT]),
            "overlap: bands[0] and bands[1] both cover probability [0.4, 0.5)",
        ),
        (
            changed(RISK, ("confidence: {below: 0.85}", "confidence: {below: 0.84}")),
            "gap: no band covers score [8.5, 10] with confidence [0.84, 0.85)",
        ),
        (
            changed(RISK, ("confidence: {at_least: 0.80}", "confidence: {at_least: 0.75}")),
            "overlap: bands[2] and bands[3] both cover score [7, 8.5) with confidence [0.75, 0.8)",
        ),
        (
            small(bands=[band("APPROVE", {"at_least": 0.5, "below": 1}), REJECT]),
            "gap: no band covers probability exactly 1",
        ),
        (small(bands=[band("APPROVE", {"at_least": 0.5}, {"below": 1.0}), REJECT]), "with confidence exactly 1"),
        (
            changed(VERIFIED, ("quotes: {at_least: 0.75, below: 0.9}", "quotes: {at_least: 0.8, below: 0.9}")),
            "no band covers score [8.5, 10] with confidence [0.85, 1] with a share of verified quotes in [0.75, 0.8)",
        ),
        (
            changed(VERIFIED, ("quotes: {below: 0.75}", "quotes: {below: 0.8}")),
            "overlap: bands[1] and bands[5] both cover score [8.5, 10] with confidence [0.85, 1] with a share of "
            "verified quotes in [0.75, 0.8)",
        ),
        (changed(VERIFIED, ("{at_least: 0.9}", "{at_least: 90}")), "bands[0].quotes: 90 lies outside 0..1"),
    ],
)
def test_a_gap_or_an_overlap_names_its_exact_place(text, said):
    assert said in problem(text)


def test_bands_nearer_than_the_rounding_leave_no_gap_and_the_margin_is_the_smallest_change():
    parse_policy(small(bands=[band("APPROVE", {"at_least": 0.5 + 1e-12}), band("REJECT", {"below": 0.5})]), "x")
    text = small(bands=[band("APPROVE", {"at_least": 0.5 + 1e-8}), band("REJECT", {"below": 0.5})])
    assert "gap" in problem(text)
    high = Band(action="APPROVE", value=Interval(at_least=0.5), confidence=Interval(at_least=0.8), justification="x")
    unsure = Band(action="REVIEW", value=Interval(at_least=0.5), confidence=Interval(below=0.8), justification="x")
    low = Band(action="REJECT", value=Interval(below=0.5), justification="x")
    assert margin([high, unsure, low], UNIT, 0.7, 0.95) == 0.15
    assert margin([high, unsure, low], UNIT, 0.7, 0.5) == 0.2
    assert margin([low, high.model_copy(update={"confidence": Interval()})], UNIT, 0.7, None) == 0.2
    assert margin([Band(action="REVIEW", justification="x")], UNIT, 0.7, None) is None
    bands = load_policy("risk_analysis_verified").bands
    assert margin(bands, Range(low=0, high=10), 9.9, 0.99, 0.92) == 0.02
    (near, *_) = changes(bands, Range(low=0, high=10), 9.9, 0.99, 0.92)
    assert (near.axis, near.bound, near.below, near.action) == ("quotes", 0.9, True, "REVIEW")


# Numbers are compared after rounding to 1e-9.
def test_many_numbers_are_rounded_as_each_alone():
    random = np.random.default_rng(1)
    halves = (random.integers(0, 10**9, 500) + 0.5) / 1e9
    far = [1e4, 123456.7890123455, -9.87654321e15, 1e300, np.inf, -np.inf, np.nan, 0.0, -0.0, -4e-10]
    values = np.concatenate(
        [random.random(500), halves, -halves, np.nextafter(halves, 1), 1e4 * random.random(500), far]
    )
    assert all_exact(values).tobytes() == np.array([exact(value) for value in values.tolist()]).tobytes()
