import numpy as np
import pytest

from metajudge.audit.simulate import UNBIASED, SimulatedJudge, simulate
from metajudge.errors import InputError

ONE = {"osprey-70b": SimulatedJudge()}


def rate(judges, name, condition, **options):
    made = [one for one in simulate(judges, items=2000, seed=0, **options) if one.judge == name]
    return np.mean([condition(one) for one in made])


def test_a_seed_gives_the_same_judgments():
    one, other = (list(simulate(UNBIASED, items=20, seed=5)) for _ in range(2))
    assert one == other
    assert one != list(simulate(UNBIASED, items=20, seed=6))
    assert len({judgment.id for judgment in one}) == len(one) == 200


@pytest.mark.parametrize("kind", ["pairwise", "category"])
def test_accuracy_without_bias(kind):
    found = rate(ONE, "osprey-70b", lambda one: one.correct, kind=kind, orders="one")
    assert 0.7 < found < 0.82


def test_planted_biases_show():
    judges = {
        "first": SimulatedJudge(position=0.5),
        "long": SimulatedJudge(length=0.8),
        "heron-70b": SimulatedJudge(own_family=0.9),
        "copy": SimulatedJudge(copies="first"),
    }
    assert rate(judges, "first", lambda one: one.verdict.winner == one.order[0]) > 0.7
    assert rate(judges, "long", lambda one: len(one.item.responses[one.verdict.winner]) > 199) > 0.5
    own = [
        one.item.models[one.verdict.winner] == "heron-8b"
        for one in simulate(judges, items=500, seed=0)
        if one.judge == "heron-70b" and "heron-8b" in one.item.models.values()
    ]
    assert np.mean(own) > 0.8
    lenient = {"j": SimulatedJudge(lenient=0.6)}
    assert rate(lenient, "j", lambda one: str(one.verdict) == "pass", kind="category") > 0.7


def test_drift_takes_accuracy_away():
    made = list(simulate({"j": SimulatedJudge(drift=0.4)}, items=2000, seed=1, kind="category"))
    early, late = (np.mean([one.correct for one in part]) for part in (made[:700], made[-700:]))
    assert early - late > 0.2


def test_labels_people_and_questions():
    made = list(simulate(ONE, items=30, seed=0, kind="grade", labelled=0.5, annotators=3, per_question=3))
    assert sum(bool(one.item.labels) for one in made) == 15
    assert len(made[0].item.labels) == 3
    assert len({one.item.question for one in made}) == 10
    assert {one.verdict.value for one in made} <= {1, 2, 4, 5}


def test_refuses_what_makes_no_sense():
    with pytest.raises(InputError, match="before it"):
        list(simulate({"a": SimulatedJudge(copies="b")}, items=5, seed=0))
    with pytest.raises(InputError, match="at least one"):
        list(simulate(ONE, items=0, seed=0))
