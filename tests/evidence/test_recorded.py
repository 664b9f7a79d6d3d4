import numpy as np

from metajudge.evidence.recorded import Recorded, compared
from metajudge.types import parse_verdict
from tests.evidence.verdicts import said

RECORDED = Recorded.of(
    [[said("zoe", "AB", "A>B"), said("amy", "BA", None)], [said("zoe", "A", 4)], [said("bob", "BA", "A>B")]],
    {"zoe": "m", "bob": "m"},
)


def test_columns_have_places_in_tables() -> None:
    assert RECORDED.item.tolist() == [0, 0, 1, 2]
    assert [RECORDED.judges[code] for code in RECORDED.judge] == ["zoe", "amy", "zoe", "bob"]
    assert RECORDED.verdict.tolist() == [0, -1, 1, 0]
    assert RECORDED.names.tolist() == [2, 0, 1]
    assert RECORDED.shown.tolist() == [0, 0, 1]
    assert not RECORDED.pairs_only


def test_variants_are_other_names_of_one_known_model() -> None:
    judge, other = np.array([0, 0, 0, 1, 1]), np.array([2, 0, 1, 0, 1])
    assert RECORDED.are_variants(judge, other).tolist() == [True, False, False, False, False]


def test_chosen_records_have_items_numbered_anew() -> None:
    some = RECORDED.select(np.array([3, 0, 1]))
    assert (some.item.tolist(), some.items, len(some)) == ([1, 0, 0], 2, 3)
    assert some.pairs_only
    assert some.names is RECORDED.names


def test_two_verdicts_are_compared_once() -> None:
    verdicts, calls = [parse_verdict("A>B"), parse_verdict("B>A")], []

    def compare(one: object, other: object) -> float | None:
        calls.append((one, other))
        return None if one == other else 1.0

    own = np.array([0, 0, 1, 0])
    found = compared(own, np.array([1, 1, 0, 0]), verdicts, verdicts, compare)
    assert found[:3].tolist() == [1, 1, 1]
    assert np.isnan(found[3])
    assert len(calls) == 3
