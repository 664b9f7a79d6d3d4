"""Which judgments are kept: probability and guarantee."""

import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.guarantee import Guarantee
from metajudge.calibration.procedures import Procedure
from metajudge.calibration.table import build_table
from metajudge.errors import ConfigurationError, InputError
from metajudge.exports import ExportRequest, Selection, export
from tests.doubles.crowds import crowd
from tests.exports.stored import filled
from tests.exports.vetted import assessment, bar, dropped, exported, judgment


def guarantee_of(target, delta):
    return {"rule": "guarantee", "target": target, "delta": delta}


def test_no_probability_at_all_is_an_error(tmp_path):
    with pytest.raises(InputError, match="none of the 1 assessments has a calibrated probability"):
        exported(tmp_path / "d", [judgment(0)], selection=guarantee_of(0.9, 0.1))


def scoped(judges, threshold=0.8):
    return bar(threshold).model_copy(update={"judges": judges, "unit": "one_per_question", "questions": 85})


def test_a_promise_for_all_together_is_printed_once_and_never_per_judge(tmp_path):
    judges = ("gamma", "heron", "owl")
    judgments = [judgment(number, judge=judges[number % 3]) for number in range(6)]
    vetted = [assessment(one, probability=0.9, guarantee=scoped(judges)) for one in judgments]
    result, rows = exported(tmp_path / "d", judgments, vetted, selection=guarantee_of(0.9, 0.1))
    assert len(rows) == 6
    promise, limits = result.stats["guarantees"]
    card = (tmp_path / "d" / "README.md").read_text()
    assert card.count("confidence at least 90 %") == 1
    assert "with 90 % confidence at least 90 % of them are right" in card
    assert promise in card
    assert limits in card
    (data,) = result.stats["promises"]
    assert (data["judges"], data["pooled"], data["sentence"]) == (list(judges), True, promise)


@pytest.mark.parametrize(
    "mark", ["absent_signal", "unknown_category", "other_judge", "question_seen_in_fit", "seen_in_fit"]
)
def test_what_lies_outside_the_domain_is_not_exported_under_the_promise_though_an_old_record_is_stamped(tmp_path, mark):
    judgments = [judgment(number) for number in range(2)]
    vetted = [
        assessment(judgments[0], probability=0.99, guarantee=scoped(("owl",)), probability_marks=(mark,)),
        assessment(judgments[1], probability=0.99, guarantee=scoped(("owl",))),
    ]
    result, rows = exported(tmp_path / "d", judgments, vetted, selection=guarantee_of(0.9, 0.1))
    assert [row["item_id"] for row in rows] == ["item-1"]
    assert dropped(result) == {"outside_calibration_domain": 1}
    with pytest.raises(InputError, match="1 judgments lie outside their calibration's domain"):
        exported(tmp_path / "e", judgments[:1], vetted[:1], selection=guarantee_of(0.9, 0.1))


def test_from_a_store_the_promise_has_the_same_scope_and_the_same_judgments_are_left_out(tmp_path):
    judgments = [judgment(number, judge="gamma") for number in range(3)]
    marks = ((), ("absent_signal",), ())
    vetted = [
        assessment(one, probability=0.9, guarantee=scoped(("gamma", "owl")), probability_marks=mark)
        for one, mark in zip(judgments, marks, strict=True)
    ]
    filled(tmp_path / "s.duckdb", zip(judgments, vetted, strict=True))
    request = ExportRequest(selection=guarantee_of(0.9, 0.1))
    by_store = export(tmp_path / "store", request, store=tmp_path / "s.duckdb")
    by_files = export(tmp_path / "files", request, judgments=judgments, assessments=vetted)
    assert by_store.stats["promises"] == by_files.stats["promises"]
    assert sum(by_store.rows.values()) == sum(by_files.rows.values()) == 2


def test_a_weaker_guarantee_than_asked_for_is_not_enough_and_says_what_to_do(tmp_path):
    one = judgment(0)
    vetted = [assessment(one, probability=0.9, guarantee=bar(target=0.8))]
    with pytest.raises(InputError, match=r"stored: 0.8 with delta 0.1.*at least 22 labelled questions that are kept"):
        exported(tmp_path / "d", [one], vetted, selection=guarantee_of(0.9, 0.1))
    assert not (tmp_path / "d").exists()


@pytest.fixture(scope="module")
def calibration():
    return fit_calibration(build_table(crowd(60), ["order", "strength", "peers"]), repeats=1)


def stored(threshold=0.6):
    return Guarantee(
        threshold=threshold, target=0.9, delta=0.1, questions=60, kept=40, errors=0, precision=1, lower=0.94,
        coverage=0.7, unit="one_per_question", seed=0, procedure=Procedure(grid=(0.9,)),
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
