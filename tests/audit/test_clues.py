from datetime import UTC, datetime

import pytest

from metajudge.audit.clues import PROMPTS, VERSIONS, iso, named, time_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "meta",
    [
        {"time": "2026-03-01T12:00:00+00:00"},
        {"timestamp": "2026-03-01T12:00:00Z"},
        {"created_at": "2026-03-01T12:00:00"},
        {"tstamp": NOON},
        {"time": NOON * 1000},
        {"time": str(NOON)},
        {"time": "soon", "date": "2026-03-01T12:00:00"},
        {"time": datetime(2026, 3, 1, 12, tzinfo=UTC)},
    ],
)
def test_times_in_their_usual_forms(meta):
    assert time_of(meta) == NOON


@pytest.mark.parametrize("meta", [{}, {"time": "soon"}, {"time": True}, {"time": -5}, {"time": None}, {"other": 5}])
def test_what_is_no_time_is_none(meta):
    assert time_of(meta) is None


def test_iso_is_utc():
    assert iso(NOON) == "2026-03-01T12:00:00+00:00"


def test_names_of_versions_and_prompts():
    assert named({"version": 2}, VERSIONS) == "2"
    assert named({"judge_version": " a ", "version": "b"}, VERSIONS) == "a"
    assert named({"prompt": "x" * 200, "template": "short"}, PROMPTS) == "short"
    assert named({"prompt": "x" * 200}, PROMPTS) is None
    assert named({"version": True}, VERSIONS) is None
