"""Which judgments are kept: probability and guarantee, filters, and what is taken from files and stores."""

import json
import time

import pytest
from pydantic import ValidationError

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.errors import ConfigurationError, InputError
from metajudge.exports import ExportRequest, Selection, check, export
from metajudge.exports.filters import Filters
from tests.doubles.crowds import crowd
from tests.doubles.promised import promise
from tests.exports.stored import exported_from, filled, vetted
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


def test_a_guarantee_of_the_calibration_file_serves_assessments_made_before_it_was_stored(tmp_path, calibration):
    judgments = [judgment(0), judgment(1)]
    vetted = [
        assessment(one, probability=p, calibration=calibration.digest)
        for one, p in zip(judgments, (0.7, 0.5), strict=True)
    ]
    selection, limits = guarantee_of(0.9, 0.1), calibration.with_guarantee(promise(target=0.9))
    _, rows = exported(tmp_path / "d", judgments, vetted, selection=selection, calibration=limits)
    assert [row["item_id"] for row in rows] == ["item-0"]


def test_a_guarantee_for_other_scores_is_refused(tmp_path, calibration):
    one = judgment(0)
    vetted = [assessment(one, probability=0.9, calibration="another")]
    with pytest.raises(InputError, match="1 probabilities came from another calibration"):
        exported(
            tmp_path / "d", [one], vetted, selection=guarantee_of(0.9, 0.1),
            calibration=calibration.with_guarantee(promise(target=0.9)),
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


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    said = [judgment(0, category="x"), judgment(1, category="y"), judgment(2, judge="jay", category="x"), judgment(3)]
    changes = [{}, {"action": "APPROVE"}, {"panel_digest": "q" * 32}, {"action": "REJECT"}]
    records = [
        (one, vetted(one, **change), f"run-{n}") for n, (one, change) in enumerate(zip(said, changes, strict=True))
    ]
    return filled(tmp_path_factory.mktemp("store") / "s.duckdb", records)


@pytest.mark.parametrize(
    ("filters", "items"),
    [
        ({}, {0, 1, 2}),
        ({"judges": ["jay"]}, {2}),
        ({"judges": ["jay", "owl"]}, {0, 1, 2}),
        ({"categories": ["x"]}, {0, 2}),
        ({"categories": ["x"], "judges": ["owl"]}, {0}),
        ({"decisions": ["APPROVE"]}, {1}),
        ({"runs": ["run-0", "run-2"]}, {0, 2}),
        ({"panels": ["q" * 32]}, {2}),
        ({"panels": ["p" * 8]}, {0, 1}),
        ({"since": "2020-01-01", "until": "2100-01-01T00:00:00Z"}, {0, 1, 2}),
    ],
)
def test_a_filter_takes_what_it_names_and_counts_the_rest(tmp_path, store, filters, items):
    result, rows = exported_from(store, tmp_path / "d", filters=filters)
    assert set(rows) == {f"item-{number}" for number in items}
    if len(items) < 3:
        first = result.steps[0]
        assert (first.name, first.before) == ("records", 4)
        assert first.before - first.after == first.dropped["filtered_out"] > 0


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"judges": ["owI"]}, "has no judge 'owI': there are jay, owl; did you mean owl?"),
        ({"runs": ["run-9"]}, "has no run 'run-9'"),
        ({"panels": ["abcdefgh"]}, "has no panel 'abcdefgh'"),
        ({"categories": ["z"]}, "has no category 'z': there are x, y"),
        ({"categories": ["x\x00'; DROP TABLE items"]}, "has no category"),
        ({"since": "2100-01-01"}, "meets every filter"),
        ({"until": "2001-01-01"}, "meets every filter"),
        ({"judges": ["jay"], "categories": ["y"]}, "meets every filter"),
        ({"decisions": ["REVIEW"]}, "meets every filter"),
    ],
)
def test_a_filter_that_matches_nothing_is_an_error_with_what_there_is(tmp_path, store, filters, said):
    with pytest.raises(InputError) as raised:
        exported_from(store, tmp_path / "d", filters=filters)
    assert said in str(raised.value)
    assert not (tmp_path / "d").exists()
    assert not (tmp_path / ".d.partial").exists()


def test_dates_are_the_times_of_vetting(tmp_path):
    said = [judgment(0), judgment(1)]
    filled(tmp_path / "s.duckdb", [(said[0], assessment(said[0]))])
    time.sleep(0.05)
    between = time.time()
    filled(tmp_path / "s.duckdb", [(judgment(5), assessment(judgment(5))), (said[1], assessment(said[1]))])
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(between, UTC).isoformat()
    _, rows = exported_from(tmp_path / "s.duckdb", tmp_path / "until", filters={"until": moment})
    assert set(rows) == {"item-0"}
    _, rows = exported_from(tmp_path / "s.duckdb", tmp_path / "since", filters={"since": moment})
    assert set(rows) == {"item-1", "item-5"}


@pytest.mark.parametrize("wrong", ["yesterday", "20261340", "", 20261101, 1.5, True, "2026-11-31"])
def test_what_is_no_date_is_refused_and_a_number_is_never_taken_for_seconds(wrong):
    with pytest.raises(ValidationError, match="no date such as"):
        Filters(since=wrong)


def test_a_span_that_holds_no_moment_is_refused():
    with pytest.raises(ConfigurationError, match="no judgment can match"):
        Filters(since="2026-01-02", until="2026-01-02T00:00:00+00:00")
    with pytest.raises(ValidationError):
        Filters(panels=("p",))
    with pytest.raises(ValidationError):
        Filters(decisions=("MAYBE",))


class TestFiles:
    def test_files_are_filtered_by_what_they_hold(self, tmp_path):
        said = [judgment(0, category="x"), judgment(1, judge="jay"), judgment(2, category="x")]
        found = [assessment(said[0]), assessment(said[1]), vetted(said[2], "APPROVE", panel_digest="q" * 32)]
        for number, (filters, items) in enumerate(
            [
                ({"judges": ["jay"]}, ["item-1"]),
                ({"categories": ["x"]}, ["item-0", "item-2"]),
                ({"panels": ["q" * 8]}, ["item-2"]),
                ({"decisions": ["APPROVE"]}, ["item-2"]),
            ]
        ):
            result, rows = exported(tmp_path / str(number), said, found, filters=filters)
            assert [row["item_id"] for row in rows] == items
            assert result.stats["read"]["filtered_out"] == 3 - len(items)

    @pytest.mark.parametrize(
        ("filters", "said"),
        [
            ({"judges": ["nobody"]}, "the input has no judge 'nobody'"),
            ({"decisions": ["REJECT"]}, "none of the 1 vetted judgments of the input"),
            ({"runs": ["r"]}, "in which run a judgment was vetted, so run cannot be applied"),
            ({"since": "2020-01-01", "until": "2030-01-01"}, "so since and until cannot be applied"),
        ],
    )
    def test_what_files_do_not_say_is_refused_and_not_passed_over(self, tmp_path, filters, said):
        with pytest.raises(InputError, match=said):
            exported(tmp_path / "d", [judgment(0)], filters=filters)


@pytest.fixture
def conflicting(tmp_path):
    """Two good items, and one whose id is used for two questions."""
    said = [judgment(0), judgment(1), judgment(2), judgment(2, judge="jay", question="Something else?")]
    said.append(judgment(3, category="old"))
    said.append(judgment(3, judge="jay", category="new"))
    return filled(tmp_path / "s.duckdb", [(one, assessment(one), one.judge) for one in said])


def test_an_item_with_two_contents_is_left_out_and_named_and_the_others_are_exported(tmp_path, conflicting):
    result, rows = exported_from(conflicting, tmp_path / "d")
    assert set(rows) == {"item-0", "item-1", "item-3"}
    assert rows["item-3"]["category"] == "new", "the same texts under a new category are no conflict"
    read = result.stats["read"]
    assert (read["conflicting_items"], read["conflicting_judgments"], read["conflicting_item_ids"]) == (
        1,
        2,
        ["item-2"],
    )
    assert result.steps[0].to_json() == {
        "step": "records", "unit": "judgments", "before": 6, "after": 4, "dropped": {"item_with_two_contents": 2},
    }  # fmt: skip
    card = (tmp_path / "d" / "README.md").read_text()
    assert "1 item ids stand for two different contents and were left out: `item-2`." in card
    assert check(tmp_path / "d").faults == []


def test_a_filter_that_leaves_one_content_ends_the_conflict_and_does_not_mix_texts(tmp_path, conflicting):
    result, rows = exported_from(conflicting, tmp_path / "d", filters={"judges": ["jay"]})
    assert rows["item-2"]["question"] == "Something else?"
    assert result.stats["read"]["conflicting_items"] == 0
    assert result.stats["read"]["filtered_out"] == 4
    result = export(tmp_path / "run", store=conflicting, run="owl")
    assert result.rows == {"train": 4}


def test_by_category_the_judgments_of_the_other_content_do_not_vote(tmp_path):
    one = judgment(0, category="x")
    other = judgment(0, judge="jay", verdict="B>A", question="Something else?", category="y")
    conflicting = filled(tmp_path / "s.duckdb", [(said, assessment(said)) for said in (one, other)])
    _, rows = exported_from(conflicting, tmp_path / "d", filters={"categories": ["x"]})
    assert (rows["item-0"]["judge"], rows["item-0"]["chosen_id"]) == ("owl", "A")


def test_conflicts_are_refused_where_that_is_asked_for(tmp_path, conflicting):
    with pytest.raises(InputError, match="stand for two different contents, the first 'item-2'"):
        exported_from(conflicting, tmp_path / "d", conflicts="refuse")
    assert not (tmp_path / "d").exists()


def test_only_conflicting_items_leave_nothing_and_say_so(tmp_path):
    said = [judgment(2), judgment(2, judge="jay", question="Something else?")]
    with pytest.raises(InputError, match=r"2 item with two contents were dropped\. Give each content its own item id"):
        export(tmp_path / "d", store=filled(tmp_path / "s.duckdb", [(one, assessment(one)) for one in said]))


def test_an_empty_store_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match="contains no vetted judgments yet: vet some"):
        export(tmp_path / "d", store=filled(tmp_path / "s.duckdb", []))


def test_a_judgment_of_several_panels_counts_once_with_the_newest_row(tmp_path):
    said = judgment(0)
    rows = [vetted(said, None, True), vetted(said, None, True), vetted(said, None, False, panel_digest="q" * 32)]
    result, found = exported_from(
        filled(tmp_path / "s.duckdb", [(said, row) for row in rows] + [(judgment(1), assessment(judgment(1)))]),
        tmp_path / "d",
    )
    assert set(found) == {"item-1"}
    assert result.stats["read"]["superseded"] == 2
    assert sum(step.before for step in result.steps if step.name == "selection") == 2


def test_a_judgment_without_a_probability_is_counted_and_not_lost(tmp_path):
    said = [judgment(0), judgment(1)]
    records = [(said[0], assessment(said[0], probability=0.9, guarantee=bar())), (said[0], assessment(said[0]))]
    records.append((said[1], assessment(said[1])))
    result, rows = exported_from(
        filled(tmp_path / "s.duckdb", records), tmp_path / "d",
        selection={"rule": "min_probability", "min_probability": 0.8},
    )  # fmt: skip
    assert set(rows) == {"item-0"}
    assert {reason: n for step in result.steps for reason, n in step.dropped.items() if n} == {"no_probability": 1}


def test_the_request_with_its_filters_is_on_record(tmp_path, conflicting):
    exported_from(conflicting, tmp_path / "d", filters={"judges": ["owl"], "since": "2020-01-01"})
    request = json.loads((tmp_path / "d" / "manifest.json").read_text())["request"]
    assert request["filters"]["judges"] == ["owl"]
    assert "(only judge owl, since 2020-01-01T00:00:00+00:00)" in (tmp_path / "d" / "README.md").read_text()
