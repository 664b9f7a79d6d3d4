"""Facts as bytes and back."""

import numpy as np
import pytest

from metajudge.bulk.known_lines import packed, unpacked
from metajudge.evidence.facts import FactsBuilder, collected
from tests.evidence.made import made_input
from tests.evidence.test_facts import same


@pytest.mark.parametrize("seed", range(12))
def test_a_builder_takes_them_as_it_takes_judgments_one_by_one(seed: int) -> None:
    judgments = made_input(seed)[0]
    facts = collected(judgments)
    size, some = len(facts), np.random.default_rng(seed).random(len(facts)) < 0.5
    portions = [unpacked(packed(facts, np.flatnonzero(some))), unpacked(packed(facts, np.arange(size)[::-1]))]
    places = np.cumsum(some) - 1
    builder = FactsBuilder()
    for at in range(size):
        if some[at]:
            builder.extend(portions[0], places[at : at + 1])
        else:
            builder.add(judgments[at])
    assert same(builder.facts(), facts), "tables in the order of the judgments too"
    turned = FactsBuilder()
    turned.extend(portions[1], np.arange(size)[::-1])
    assert same(turned.facts(), facts)


def test_only_the_values_that_rows_need_are_kept() -> None:
    facts = collected(made_input(3)[0])
    rows = np.array([3, 1])
    some = unpacked(packed(facts, rows))
    assert [some.row(at) for at in range(2)] == [facts.row(at) for at in rows.tolist()]
    assert len(some.rationales) == len(set(facts.rationale[rows].tolist()))
    assert len(unpacked(packed(facts, rows[:0]))) == 0
