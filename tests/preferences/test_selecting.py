"""Which judgments are kept: probability and guarantee."""

import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.guarantee import Guarantee, default_procedure
from metajudge.calibration.table import build_table
from metajudge.errors import ConfigurationError, InputError
from metajudge.preferences import Selection
from tests.doubles.crowds import crowd
from tests.preferences.vetted import assessment, bar, dropped, exported, judgment


def guarantee_of(target, delta):
    return {"rule": "guarantee", "target": target, "delta": delta}


def test_min_probability_keeps_from_the_bound_on_and_says_who_has_none(tmp_path):
    judgments = [judgment(number) for number in range(4)]
    vetted = [assessment(one, False, probability=p) for one, p in zip(judgments, (0.8, 0.799, 0.95, None), strict=True)]
    result, rows = exported(
        tmp_path / "d", judgments, vetted, selection={"rule": "min_probability", "min_probability": 0.8}
    )
    assert [row["item_id"] for row in rows] == ["item-0", "item-2"]
    assert dropped(result) == {"below_min_probability": 1, "no_probability": 1}


def test_no_probability_at_all_is_an_error(tmp_path):
    with pytest.raises(InputError, match="none of the 1 assessments has a calibrated probability"):
        exported(tmp_path / "d", [judgment(0)], selection=guarantee_of(0.9, 0.1))


def test_the_guarantee_keeps_exactly_what_reaches_its_threshold(tmp_path):
    judgments = [judgment(number) for number in range(4)]
    vetted = [
        assessment(judgments[0], probability=0.8, guarantee=bar(0.8)),
        assessment(judgments[1], probability=0.8 - 1e-7, guarantee=bar(0.8)),
        assessment(judgments[2], probability=0.99, guarantee=bar(0.8, target=0.7)),
        assessment(judgments[3], probability=0.99),
    ]
    result, rows = exported(tmp_path / "d", judgments, vetted, selection=guarantee_of(0.9, 0.1))
    assert [row["item_id"] for row in rows] == ["item-0"]
    assert dropped(result) == {"below_guaranteed_threshold": 1, "no_guarantee": 2}
    assert "with 90 % confidence at least 90 % of such verdicts are right" in (tmp_path / "d" / "README.md").read_text()


def test_a_weaker_guarantee_than_asked_for_is_not_enough_and_the_labels_needed_are_said(tmp_path):
    one = judgment(0)
    vetted = [assessment(one, probability=0.9, guarantee=bar(target=0.8))]
    with pytest.raises(InputError, match=r"stored: 0.8 with delta 0.1.*At least 29 labelled questions"):
        exported(tmp_path / "d", [one], vetted, selection=guarantee_of(0.9, 0.1))


def test_with_labels_at_hand_the_abstention_says_how_many_more_are_needed(tmp_path):
    judgments = [judgment(number, label="A>B" if number % 10 else "B>A") for number in range(12)]
    vetted = [assessment(one, probability=0.9) for one in judgments]
    with pytest.raises(InputError, match=r"12 labelled questions here: No threshold can be guaranteed") as raised:
        exported(tmp_path / "d", judgments, vetted, selection=guarantee_of(0.8, 0.1))
    assert "Nothing was exported" in str(raised.value)
    assert not (tmp_path / "d").exists()


@pytest.fixture(scope="module")
def calibration():
    return fit_calibration(build_table(crowd(60), ["order", "strength", "peers"]), repeats=1)


def stored(threshold=0.6):
    return Guarantee(
        threshold=threshold, target=0.9, delta=0.1, questions=60, kept=40, errors=0, precision=1, lower=0.94,
        coverage=0.7, unit="one_per_question", seed=0, procedure=default_procedure(0.9),
    )  # fmt: skip


def test_a_guarantee_of_the_calibration_file_serves_assessments_made_before_it_was_stored(tmp_path, calibration):
    judgments = [judgment(0), judgment(1)]
    vetted = [
        assessment(one, probability=p, calibration=calibration.digest)
        for one, p in zip(judgments, (0.7, 0.5), strict=True)
    ]
    selection, limits = guarantee_of(0.9, 0.1), calibration.with_guarantee(stored())
    _, rows = exported(tmp_path / "d", judgments, vetted, selection=selection, calibration=limits)
    assert [row["item_id"] for row in rows] == ["item-0"]


def test_a_guarantee_for_other_scores_is_refused(tmp_path, calibration):
    one = judgment(0)
    vetted = [assessment(one, probability=0.9, calibration="another")]
    with pytest.raises(InputError, match="1 probabilities came from another calibration"):
        exported(
            tmp_path / "d", [one], vetted, selection=guarantee_of(0.9, 0.1),
            calibration=calibration.with_guarantee(stored()),
        )  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"rule": "min_probability"},
        {"rule": "accepted", "min_probability": 0.5},
        {"rule": "guarantee", "target": 0.9},
        {"rule": "min_probability", "min_probability": 1.5},
        {"rule": "guarantee", "target": 1.0, "delta": 0.1},
    ],
)
def test_a_selection_without_its_numbers_is_refused(wrong):
    with pytest.raises(ConfigurationError):
        Selection.model_validate(wrong)
