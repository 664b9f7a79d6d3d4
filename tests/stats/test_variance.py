import math

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.stats.stability import split_variance


def test_golden_by_hand() -> None:
    # cycles (0, 2), (4, 6): within ss 4 on 2 df, ms 2; between ss 2 (1-3)^2 + 2 (5-3)^2 = 16 on 1 df; (16 - 2) / 2 = 7
    found = split_variance({"p": [[0, 2], [4, 6]]})
    assert (found.judgment, found.generation) == pytest.approx((2, 7))
    assert found.generation_share == pytest.approx(7 / 9)
    assert (found.prompts, found.cycles, found.n) == (1, 2, 4)


def test_components_are_recovered_from_unequal_cycles() -> None:
    rng = np.random.default_rng(5)
    values = {
        str(p): [(p + c + rng.normal(0, 1, rng.integers(1, 5))).tolist() for c in rng.normal(0, 2, 4)]
        for p in range(600)
    }
    found = split_variance(values)
    assert found.generation == pytest.approx(4, rel=0.1)
    assert found.judgment == pytest.approx(1, rel=0.1)


def test_one_judgment_a_cycle_cannot_be_split() -> None:
    found = split_variance({"p": [[0], [1], [0]]})
    assert (found.generation, found.judgment, found.generation_share) == (None, None, None)
    assert "no cycle was judged twice" in found.reason
    alone = split_variance({"p": [[0, 1]]})
    assert alone.judgment == pytest.approx(0.5)
    assert alone.generation is None
    assert "two cycles" in alone.reason


def test_no_variance_has_no_share_and_a_negative_component_is_cut() -> None:
    constant = split_variance({"p": [[1, 1], [1, 1]]})
    assert (constant.generation, constant.judgment, constant.generation_share) == (0, 0, None)
    assert constant.reason
    assert split_variance({"p": [[0, 1], [0, 1]]}).generation == 0
    assert split_variance({}).reason
    with pytest.raises(InputError, match="prompt p"):
        split_variance({"p": [[math.nan, 1]]})
