"""Filters: the same in files, stores, CLI and HTTP; a slip of the pen is an error, never an empty dataset."""

import time

import pytest
from pydantic import ValidationError

from metajudge.errors import ConfigurationError, InputError
from metajudge.exports.filters import Filters
from tests.exports.stored import exported_from, filled, vetted
from tests.exports.vetted import assessment, exported, judgment


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
