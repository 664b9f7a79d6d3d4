from metajudge.benchmarks.observations import Observation, Observations
from metajudge.benchmarks.out_of_fold_scores import OutOfFold


def rows(count, right):
    return Observations(
        [
            Observation(f"j{n}", f"i{n}", f"q{n}", "owl", "", "A", right(n), {}, None, kind="category")
            for n in range(count)
        ]
    )


def fitted(observations, value):
    run = {row.judgment_id: value(at) for at, row in enumerate(observations.rows)}
    return OutOfFold(run, [run], {"category": ("peers",)}, {})


def selected(found, observations):
    return {one.name: one for one in found.selections(observations, found.score(observations))}


def test_a_row_that_aims_at_a_precision_keeps_what_the_other_half_guarantees():
    observations = rows(400, lambda n: n % 2 == 0 or n % 40 == 1)
    found = fitted(observations, lambda n: 0.95 if n % 2 == 0 else 0.2)
    aimed = selected(found, observations)["aims at 90 % precision"]
    assert aimed.kept.tolist() == [n % 2 == 0 for n in range(400)]
    assert aimed.threshold.origin == "guaranteed, set on the other half of the questions"


def test_with_too_few_questions_no_threshold_is_guaranteed_and_nothing_kept():
    observations = rows(10, lambda n: n % 2 == 0)
    aimed = selected(fitted(observations, lambda n: 0.95 if n % 2 == 0 else 0.2), observations)
    assert not aimed["aims at 90 % precision"].kept.any()
    assert "calibrated out of fold, best 40 %" in {one.column for one in aimed.values()}


def test_where_a_judgment_has_no_probability_there_are_no_rows():
    observations = rows(4, lambda n: True)
    found = OutOfFold({"j0": 0.9}, [{"j0": 0.9}], {}, {"grade": "too few questions"})
    assert selected(found, observations) == {}
    assert any("kind grade: too few questions" in one for one in found.meaning)
