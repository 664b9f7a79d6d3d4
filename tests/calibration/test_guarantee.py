"""Guaranteed thresholds: the promise is proven by simulation with known truth, and says what was tested."""

import math

import numpy as np
import pytest

from metajudge.calibration.guarantee import Abstention, Guarantee, guaranteed_threshold
from metajudge.calibration.labelled_sample import LabelledSample
from metajudge.calibration.looks import Looks, Schedule
from metajudge.calibration.procedures import Procedure
from metajudge.errors import InputError
from metajudge.stats.intervals import clopper_pearson_lower
from tests.calibration.populations import DELTA, SHAPES, violations


def allowed(repetitions, standard_errors=2):
    return DELTA + standard_errors * math.sqrt(DELTA * (1 - DELTA) / repetitions)


def procedures():
    grid = tuple(float(value) for value in (np.arange(59, -1, -1) + 0.5) / 60)
    yield Procedure(grid=grid)
    yield Procedure(grid=grid[5:])


@pytest.mark.parametrize("name", SHAPES)
def test_a_guarantee_is_not_broken_more_often_than_delta_fast(name):
    for procedure in procedures():
        rate = violations(SHAPES[name], procedure, np.random.default_rng(5), 2000)
        assert rate <= allowed(2000, 3)


RIGHT = [True] * 60


def numbered(count, size=1):
    return [f"q{number // size}" for number in range(count)]


def clustered(rng, questions=100, size=3):
    """Scores, labels and questions whose judgments lean together."""
    ease = rng.normal(size=questions).repeat(size)
    scores = ease + 0.6 * rng.normal(size=questions * size)
    return scores, rng.random(questions * size) < 1 / (1 + np.exp(-2 - 2 * ease)), numbered(questions * size, size)


REFERENCE = np.random.default_rng(99).normal(size=300) * 1.17


@pytest.mark.parametrize("anytime", [False, True])
def test_an_increasing_change_of_all_scores_changes_nothing_but_the_threshold(anytime):
    scores, correct, questions = clustered(np.random.default_rng(1))
    found = []
    for change in (lambda x: x, lambda x: 0.6 * x, lambda x: 1.6 * x - 3):
        one = guaranteed_threshold(
            change(scores), correct, questions, target=0.8, delta=0.2, anytime=anytime, reference=change(REFERENCE),
            reference_questions=numbered(300, 3),
        )  # fmt: skip
        found.append((one.kind, getattr(one, "kept", None), getattr(one, "errors", None)))
    assert found[0] == found[1] == found[2]


def test_order_of_rows_changes_nothing_and_no_seed_is_asked_for():
    scores, correct, questions = clustered(np.random.default_rng(8))
    at = np.random.default_rng(9).permutation(len(scores))
    mixed = [questions[one] for one in at]
    for more in ({}, {"reference": REFERENCE}, {"reference": REFERENCE, "anytime": True}):
        first = guaranteed_threshold(scores, correct, questions, target=0.8, delta=0.1, **more)
        assert guaranteed_threshold(scores[at], correct[at], mixed, target=0.8, delta=0.1, **more) == first
        assert isinstance(first, Guarantee)


def test_the_sentence_is_of_all_kept_judgments_with_its_whole_scope():
    scores, correct, questions = clustered(np.random.default_rng(1))
    found = guaranteed_threshold(scores, correct, questions, target=0.8, delta=0.1, reference=REFERENCE)
    kept = scores >= found.threshold
    assert (found.kept, found.errors) == (int(kept.sum()), int((kept & ~correct).sum()))
    assert found.kept_questions == len({one for one, held in zip(questions, kept, strict=True) if held})
    assert (found.questions, found.judgments, found.most_per_question, found.unit) == (100, 300, 3, "all_kept")
    said = found.meaning(["jay", "owl"])
    assert "with 90 % confidence at least 80 % of all of them are right on new questions like the 100" in said
    assert "with at most 3 judgments each" in said
    assert f"There it kept {found.kept} of 300 judgments" in said
    assert "Judgments by jay and owl, taken together and not each judge alone," in said


def test_questions_set_aside_or_with_more_judgments_than_declared_play_no_part_and_are_outside():
    scores, correct, questions = clustered(np.random.default_rng(2))
    found = guaranteed_threshold(scores, correct, questions, target=0.8, delta=0.1)
    assert found.questions == 85
    assert "45 scores without labels of 15 other questions, set aside" in found.procedure.origin
    used = set(LabelledSample.of(scores, correct, questions).set_aside()[0].names)
    flipped = [right if name in used else not right for right, name in zip(correct, questions, strict=True)]
    assert guaranteed_threshold(scores, flipped, questions, target=0.8, delta=0.1) == found
    asked = {"target": 0.85, "delta": 0.1, "reference": [0.9], "most_per_question": 1}
    found = guaranteed_threshold([0.9] * 63, [*RIGHT, False, False, False], [*numbered(60), *"aaa"], **asked)
    assert (found.questions, found.kept, found.errors, found.left_out, found.most_per_question) == (60, 60, 0, 1, 1)
    assert "with at most 1 judgment each" in found.meaning()
    assert "1 questions with more judgments are outside of it." in found.meaning()


def test_a_score_is_kept_alike_by_test_and_stamp_and_equal_scores_together():
    scores = [0.9 - 4e-10] * 30 + [0.9 - 6e-10] * 30 + [0.95] * 30
    found = guaranteed_threshold(scores, [True] * 90, numbered(90), target=0.85, delta=0.1, reference=[0.9])
    stamp = found.promise().stamp()
    assert found.kept == sum(stamp.keeps(one) for one in scores) == 60
    scores = [0.9] * 60 + [0.1] * 40
    found = guaranteed_threshold(
        scores, [True] * 60 + [False] * 40, numbered(100), target=0.85, delta=0.1, reference=scores
    )
    assert isinstance(found, Guarantee)
    assert (found.kept, found.errors) == (60, 0)
    assert found.lower == clopper_pearson_lower(60, 60, 0.9).low


def test_abstains_and_never_accepts_all_and_says_outside_a_ledger_that_looks_spend_confidence():
    n = 400
    found = guaranteed_threshold(np.linspace(0.01, 0.99, n), np.arange(n) % 2 == 0, numbered(n), target=0.9, delta=0.1)
    assert isinstance(found, Abstention)
    assert "keeps more than 90 % right" in found.reason
    assert "No threshold can be guaranteed" in found.meaning()
    found = guaranteed_threshold([0.93] * 20, [True] * 20, numbered(20), target=0.9, delta=0.1, reference=[0.93])
    assert isinstance(found, Abstention)
    assert "at most 20 questions are kept, and below 22 none can pass" in found.reason
    assert "looking again spends confidence" in found.meaning()


def test_labels_of_one_question_are_not_counted_as_independent():
    """Sixty judgments of six questions are six observations."""
    asked = {"target": 0.85, "delta": 0.1, "reference": [0.9], "reference_questions": ["r"]}
    assert isinstance(guaranteed_threshold([0.9] * 60, RIGHT, numbered(60), **asked), Guarantee)
    assert isinstance(guaranteed_threshold([0.9] * 60, RIGHT, numbered(60, 10), **asked), Abstention)


def test_a_look_is_tested_at_the_level_the_ledger_grants_and_the_same_look_spends_nothing():
    looks = Looks(schedule=Schedule(name="even", looks=4))
    asked = {"target": 0.85, "delta": 0.1, "reference": [0.9], "looks": looks}
    first = guaranteed_threshold([0.9] * 60, RIGHT, numbered(60), **asked)
    assert (first.look, first.level) == (1, 0.025)
    assert guaranteed_threshold([0.9] * 60, RIGHT, numbered(60), **asked) == first
    assert len(looks.entries) == 1
    weak = guaranteed_threshold([0.9] * 16, RIGHT[:16], numbered(16), target=0.85, delta=0.1, reference=[0.9])
    assert isinstance(weak, Guarantee)  # .85 ** 16 is below .1 and above .025
    even = Looks(schedule=Schedule(name="even", looks=4))
    found = guaranteed_threshold([0.9] * 16, RIGHT[:16], numbered(16), **{**asked, "looks": even})
    assert isinstance(found, Abstention)


def test_a_ledger_read_at_any_time_takes_an_e_process_alone():
    asked = {"target": 0.85, "delta": 0.1, "reference": [0.9], "looks": Looks(schedule=Schedule(name="anytime"))}
    with pytest.raises(InputError, match="by bets where its schedule is `anytime`, and only there"):
        guaranteed_threshold([0.9] * 60, RIGHT, numbered(60), **asked)
    assert guaranteed_threshold([0.9] * 60, RIGHT, numbered(60), anytime=True, **asked).kind == "guarantee"


def test_guarantees_of_earlier_versions_load_and_say_what_they_promised():
    old = {
        "kind": "guarantee", "threshold": 0.8, "target": 0.85, "delta": 0.1, "questions": 95, "kept": 60, "errors": 3,
        "precision": 0.95, "lower": 0.89, "coverage": 0.63, "unit": "one_per_question", "seed": 0,
        "procedure": {"name": "fallback", "grid": [0.9, 0.8], "starts": [0], "shares": [1.0], "origin": "given"},
    }  # fmt: skip
    found = Guarantee.model_validate(old)
    assert "right, one judgment drawn per question, on new questions like the 95" in found.meaning()
    assert "There it kept 60 of 95 questions (coverage 63 %), 57 of them right." in found.meaning()
    dumped = found.model_dump(mode="json")
    assert {key: dumped[key] for key in old} == old
    assert (
        "of the questions with any of them have no wrong one"
        in Guarantee.model_validate({**old, "unit": "any_wrong"}).meaning()
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"target": 1.0}, "target must lie strictly between"),
        ({"target": 0.0}, "target must lie strictly between"),
        ({"target": 85}, "did you mean 0.85"),
        ({"delta": 0.0}, "infinitely many labels"),
        ({"delta": 1.0}, "delta must lie strictly between"),
        ({"delta": float("nan")}, "delta must lie strictly between"),
        ({"scores": [0.5]}, "match one to one"),
        ({"scores": [0.5, float("nan")]}, "not a finite number"),
        ({"scores": [], "correct": [], "questions": []}, "no labelled judgment"),
        ({"questions": ["a", "a"], "most_per_question": 1}, "every question has more than the 1 judgments declared"),
        ({"most_per_question": 0}, "must be at least 1"),
        ({"anytime": True}, "bets need a reference"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(changes, said):
    given = {"scores": [0.5, 0.9], "correct": [True, False], "questions": ["a", "b"], "target": 0.9, "delta": 0.1}
    with pytest.raises(InputError, match=said):
        guaranteed_threshold(**{**given, **changes})


@pytest.mark.parametrize(
    "procedure", ["graphical", "one_error", "learn_then_test", "bonferroni", "log_odds", "this_file"]
)
def test_a_stored_threshold_by_a_procedure_of_earlier_versions_still_applies(procedure):
    given = {"target": 0.85, "delta": 0.1, "reference": [0.9]}
    found = guaranteed_threshold([0.9] * 60, RIGHT, numbered(60), **given).model_dump(mode="json")
    old = {"name": procedure, "grid": [0.9, 0.8, 0.7], "starts": [0, 2], "shares": [0.9, 0.1], "passes_on": False}
    stored = Guarantee.model_validate({**found, "procedure": old})
    assert stored.procedure.name == procedure
    assert stored.promise().stamp().keeps(0.9)


def test_a_promise_on_the_callers_word_says_so_and_one_of_a_recorded_draw_does_not():
    asked = {"target": 0.85, "delta": 0.1, "reference": [0.9]}
    stated = guaranteed_threshold([0.9] * 60, RIGHT, numbered(60), **asked)
    said = "with at most 1 judgment each, if the labelled questions were drawn at random, as stated."
    assert said in stated.meaning()
    assert stated.promise().stamp().stated_random
    drawn = guaranteed_threshold([0.9] * 60, RIGHT, numbered(60), stated_random=False, **asked)
    assert "as stated" not in drawn.meaning()
    assert "stated_random" not in drawn.model_dump()


def test_above_a_floor_questions_below_play_no_part_and_no_threshold_lies_there():
    scores, questions = [0.9] * 40 + [0.7] * 40 + [0.4] * 40, numbered(120)
    correct = [True] * 80 + [False] * 40
    asked = {"target": 0.8, "delta": 0.1, "reference": scores, "floor": 0.7}
    found = guaranteed_threshold(scores, correct, questions, **asked)
    assert (found.questions, found.kept, found.threshold, found.floor) == (80, 80, 0.7, 0.7)
    assert min(found.procedure.grid) == 0.7
    assert found.meaning().endswith("All have a judgment with a probability of 0.7 or more.")
    flipped = [*correct[:80], *[True] * 40]
    assert guaranteed_threshold(scores, flipped, questions, **asked) == found
    # A question with one judgment above the floor is there with all its judgments.
    both = guaranteed_threshold([0.9, 0.1] * 60, [True, False] * 60, numbered(120, 2), **asked | {"reference": [0.9]})
    assert (both.judgments, both.kept, both.most_per_question) == (120, 60, 2)


def test_one_labelled_question_is_too_few_and_no_crash():
    assert guaranteed_threshold([0.9], [True], ["q"], target=0.8, delta=0.1).kind == "abstention"
