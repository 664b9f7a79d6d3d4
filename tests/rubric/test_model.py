import math

import pytest

from metajudge.errors import RubricError
from metajudge.rubric import BUILTIN_RUBRICS, Scale, list_rubrics, load_rubric
from tests.rubric.documents import SEVEN, criterion, document, read


def test_digest_changes_with_content_and_weights_in_force_but_not_with_unused_sets():
    base = read(document())
    assert len({rubric.digest for rubric in list_rubrics()}) == len(BUILTIN_RUBRICS)
    assert base.digest == read(document()).digest
    assert base.digest == read(document(weight_sets={"other": {"first": 3, "second": 1}})).digest
    assert base.digest != read(document(description="Another.")).digest
    assert base.digest != read(document(scale={"low": 1, "high": 3, "step": 0.1})).digest
    assert base.digest != base.with_weights({"first": 3, "second": 1}).digest


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("short", "4eb959e65059829dd0a141863ff8cee2"),
        ("long", "66feb7b6e8dd9f0aa8f281cf06b5f5e7"),
        ("binary", "4e4c49b85292ebd6096961184bc25a74"),
        ("baseline", "2256a77be76924bd0c376f48ba01f023"),
    ],
)
def test_digests_of_stored_results_stay_as_they_are(name, digest):
    """A field added to rubrics must not give the rubrics of earlier results another identity."""
    assert load_rubric(name, prompt_set=1).digest == digest


def test_criteria_that_judge_a_rationale_are_in_the_digest_and_left_out_for_a_verdict_alone():
    plain = read(document())
    unmarked = read(document(criteria=[criterion("first", judges_rationale=False), criterion("second")]))
    marked = read(document(criteria=[criterion("first", judges_rationale=True), criterion("second")]))
    assert plain.digest == unmarked.digest != marked.digest
    short = load_rubric("short")
    alone = short.for_verdict_alone()
    assert alone.scored_names == ("accuracy", "fairness", "relevance")
    assert alone.weights == pytest.approx({"accuracy": 4 / 9, "fairness": 2 / 9, "relevance": 3 / 9})
    assert alone.for_verdict_alone() is alone
    assert alone.digest != short.digest
    assert load_rubric("short", "long").for_verdict_alone().weights["accuracy"] == pytest.approx(0.5)
    assert load_rubric("binary").for_verdict_alone().scored_names == ("correct",)


@pytest.mark.parametrize("marked", [(), ("first", "second")])
def test_a_rubric_stays_the_same_where_no_criterion_or_every_one_judges_a_rationale(marked):
    rubric = read(document(criteria=[criterion(one, judges_rationale=one in marked) for one in ("first", "second")]))
    assert rubric.for_verdict_alone() is rubric


def test_digests_are_of_what_is_asked_for_and_no_copy_keeps_an_old_one():
    for rubric in (*list_rubrics(prompt_set=1), load_rubric("baseline"), load_rubric("risk_analysis")):
        assert rubric.for_verdict_alone() is rubric
    cases = load_rubric("risk_analysis")
    assert cases.subject == "case"
    assert cases.digest != cases.model_copy(update={"asks": ()}).digest
    with pytest.raises(RubricError, match="only a rubric with subject 'case' may ask"):
        read(document(asks=["confidence"]))
    base = read(document())
    assert base.with_weights({"first": 20, "second": 20}).digest == base.digest
    assert load_rubric("short", "short").digest == load_rubric("short").digest
    base = read(document())
    assert base.digest
    assert base.weights["first"] == 0.5
    other = base.model_copy(update={"criteria": (base.criteria[0],)})
    assert other.digest != base.digest
    assert other.weights == {"first": 1.0}


@pytest.mark.parametrize(
    ("scale", "points"),
    [
        (Scale(), (1, 2, 3, 4, 5)),
        (Scale(low=0, high=10), tuple(range(11))),
        (Scale(low=1, high=3, step=0.5), (1, 1.5, 2, 2.5, 3)),
        (Scale(low=0, high=1, step=0.1), (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)),
        (Scale(low=-2, high=2), (-2, -1, 0, 1, 2)),
    ],
)
def test_points_of_a_scale(scale, points):
    assert scale.points == points
    assert [type(point) for point in scale.points] == [type(point) for point in points]
    assert all(scale.contains(point) for point in points)


def test_contains_only_its_points():
    scale = Scale(low=0, high=1, step=0.1)
    assert scale.contains(0.1 + 0.2)
    assert not scale.contains(0.35)
    assert not Scale().contains(0)
    assert not Scale().contains(6)
    assert not Scale().contains(4.5)
    assert not Scale().contains(True)
    assert not Scale().contains(math.nan)
    assert not Scale().contains(math.inf)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("medium", "no weight set 'medium'; it has short, long"),
        ({"accuracy": 1}, "weights: no weight for logical_soundness"),
        ({**dict.fromkeys(SEVEN, 1), "acuracy": 1}, "no criterion is called 'acuracy'; .*did you mean accuracy"),
        ({**dict.fromkeys(SEVEN, 1), "accuracy": 0}, r"weights\.accuracy: must be .* above 0 \(found 0\)"),
        ({**dict.fromkeys(SEVEN, 1), "accuracy": -0.1}, r"weights\.accuracy: must be .* above 0 \(found -0\.1\)"),
        ({**dict.fromkeys(SEVEN, 1), "accuracy": "1"}, r"weights\.accuracy: .*\(found '1'\)"),
        ({**dict.fromkeys(SEVEN, 1), "accuracy": True}, r"weights\.accuracy: .*\(found True\)"),
        ({**dict.fromkeys(SEVEN, 1), "accuracy": math.nan}, r"weights\.accuracy: .*\(found nan\)"),
        ([1, 2], "must be the name of a set or a mapping"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(RubricError, match=message):
        load_rubric("short", weights)


def test_a_rubric_without_criteria_takes_no_weights():
    with pytest.raises(RubricError, match="no criteria, so there is nothing to weigh"):
        load_rubric("baseline", "short")
