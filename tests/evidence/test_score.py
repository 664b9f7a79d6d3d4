import itertools

import pytest

from metajudge.evidence.score import signal_score
from metajudge.types import SignalValue


def given(**values: float | None) -> dict[str, SignalValue]:
    return {name: SignalValue(value=value, state="test") for name, value in values.items()}


def score(**values: float | None) -> float:
    value = signal_score(given(**values)).value
    assert value is not None
    return value


def test_golden_values() -> None:
    # z = 1 + 0.5 + 3 * 0.5 = 3: 1 + 4 / (1 + e^-3)
    assert score(order=1, strength=2, peers=0.5, rationale=1) == pytest.approx(4.8102965)
    assert score(strength=1) == 3.0
    assert score(order=-1, strength=1, peers=-1) == pytest.approx(1.0719448)


def test_no_evidence_is_no_score_with_a_reason_never_the_middle_of_the_scale() -> None:
    for signals in ({}, given(order=None, peers=None, strength=None, rationale=None), given(length_ratio=1.0)):
        found = signal_score(signals)
        assert found.value is None
        assert "no evidence" in found.reason


def test_an_absent_signal_adds_nothing() -> None:
    assert score(order=1, peers=None) == score(order=1)
    assert "peers" not in signal_score(given(order=1, peers=None)).reason


def test_for_and_against_are_symmetric() -> None:
    for order, peers in itertools.product((-1, 0, 1), (-1, -0.25, 0, 0.5, 1)):
        assert score(order=order, peers=peers) + score(order=-order, peers=-peers) == pytest.approx(6)


def test_each_signal_moves_the_score_its_way() -> None:
    assert score(order=-1, peers=0) < score(order=0, peers=0) < score(order=1, peers=0)
    assert score(peers=-0.5) < score(peers=0.5)
    assert score(strength=0) < score(strength=1) < score(strength=2)
    assert score(peers=0.5, rationale=-1) < score(peers=0.5) == score(peers=0.5, rationale=1)


def test_nothing_passes_on_the_judges_own_word() -> None:
    assert score(order=1, strength=2, rationale=1) < 4.5


def test_a_contradicted_judgment_never_passes() -> None:
    assert score(order=1, strength=2, peers=1, rationale=-1) < 4.5


def test_what_it_takes_to_pass() -> None:
    assert score(order=1, strength=1, peers=1 / 3) > 4.5
    assert score(order=1, strength=1, peers=1 / 6) < 4.5
    assert score(order=None, strength=1, peers=0.5) < 4.5
    assert score(order=None, strength=1, peers=0.75) > 4.5


def test_always_on_the_scale_and_marked_uncalibrated() -> None:
    for order, strength, peers, rationale in itertools.product((-1, 1), (0, 2), (-1, 1), (-1, 1)):
        found = signal_score(given(order=order, strength=strength, peers=peers, rationale=rationale))
        assert found.value is not None
        assert 1 <= found.value <= 5
        assert found.reason.startswith("uncalibrated")


def test_own_consistency_alone_never_passes() -> None:
    assert score(order=1, repeats=1, variants=1) < 4.5
    assert score(peers=2 / 3) > 4.5 > score(peers=1 / 2, repeats=1)
