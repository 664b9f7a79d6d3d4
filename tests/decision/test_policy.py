"""What a policy is, and what is refused and why."""

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
        (small(bands=[band(value={"at_least": "0.5"})]), "must be a finite number (found '0.5')"),
        (small(bands=[band(value={"at_least": True})]), "must be a finite number (found True)"),
        (small(bands=[band(value={"at_most": 0.5})]), "unknown field; accepted: at_least, below"),
        (small(bands=[band("ACCEPT")]), "bands[0].action: "),
        (small(scale={"low": 0, "high": 10}), "a probability goes from 0 to 1, not 0..10"),
        (small(basis="score", scale={"low": 5, "high": 5}), "low (5) must be below high (5)"),
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
