"""The command that fits and measures the two numbers of the shipped default."""

import os
from pathlib import Path

import numpy as np
import pytest
from metajudge.benchmarks.shrink import Part, fitted, measured, read_parts
from scipy.special import expit

from metajudge.calibration.files import shipped_prior
from metajudge.calibration.shipped import Shrink


def part(name, of, level, slope, n=40_000):
    """Judgments whose log-odds of being right are ``level + slope x``."""
    rng = np.random.default_rng(len(name))
    odds = rng.normal(0, 1.5, n)
    return Part(name, of, "pairwise", odds, rng.random(n) < expit(level + slope * odds), "")


def test_the_numbers_that_made_the_labels_are_found_and_parts_share_their_sets_weight():
    one = fitted([part("one", "one", 0.3, 0.8)])
    assert (one.level, one.slope) == pytest.approx((0.3, 0.8), abs=0.03)
    alone, thrice = (part(name, of, *numbers) for name, of, numbers in (("a", "a", (1, 1)), ("b", "b", (-1, 1))))
    assert fitted([alone, thrice]).level == pytest.approx(fitted([alone, thrice, thrice, thrice]).level, abs=1e-3)


def test_each_set_is_measured_with_the_numbers_of_the_others():
    parts = [part("one", "one", 0.3, 0.8), part("two", "two", 1.0, 0.2), part("two b", "two", 0.5, 0.4)]
    first, *_ = measured(parts)
    other = fitted(parts[1:])
    right = np.where(parts[0].correct, 1, -1) * (other.level + other.slope * parts[0].odds)
    assert first.loss == pytest.approx(float(np.log1p(np.exp(-right)).mean()), abs=6e-4)
    rate = parts[0].correct.mean()
    assert first.base == pytest.approx(-(rate * np.log(rate) + (1 - rate) * np.log(1 - rate)), abs=6e-4)


@pytest.mark.skipif("METAJUDGE_DATA" not in os.environ, reason="METAJUDGE_DATA names no folder of recorded data")
def test_what_is_shipped_is_what_the_command_finds():
    parts = list(read_parts(Path(os.environ["METAJUDGE_DATA"])))
    shipped = shipped_prior()
    assert fitted(parts) == Shrink(level=shipped.level, slope=shipped.slope)
    assert measured(parts) == shipped.sets
