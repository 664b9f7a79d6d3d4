"""Judges that are not independent: what is found without labels, what is not, and what the evidence does then."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from metajudge.evidence import dependence, local_dependence
from metajudge.evidence.class_answers import cells_of
from metajudge.evidence.columns import compare
from metajudge.evidence.dependence import dependence_of, sentences
from metajudge.evidence.local_dependence import PairTests, Sums, TextTests
from metajudge.evidence.verdicts import collected
from metajudge.types import Pairwise
from tests.doubles.dependent_judges import WORTH, judged


def found(judgments):
    facts = collected(judgments)
    return dependence_of(facts, facts.rules())


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_independent_judges_are_not_accused_however_hard_the_questions_are(spread):
    for seed in range(2):
        (group,) = found(judged(seed=seed, spread=spread)).groups
        assert (group.pairs, group.tested, group.counts_as) == ((), 10, 5.0)


def test_three_copies_of_five_are_found_and_count_once():
    names = ("ant", "bee", "cat")
    together = found(judged(copies=("ant-2", "ant-3"), judges=names))
    (group,) = together.groups
    assert {(pair.first, pair.second) for pair in group.pairs} == set(combinations(("ant", "ant-2", "ant-3"), 2))
    assert {pair.finding for pair in group.pairs} == {"copy"}
    assert together.copies == {"ant": "ant", "ant-2": "ant", "ant-3": "ant"}
    assert group.counts_as == pytest.approx(25 / 11)
    pair = group.pairs[0]
    assert (pair.same, pair.answers, pair.questions) == (1.0, 600, 300)
    assert pair.expected is not None
    assert 0.4 < pair.expected < 0.8
    told = sentences(group)
    assert told[0].startswith("The evidence (choice of 2) comes from 5 judges that count as 2.3 independent ones")
    assert "ant and ant-2 gave the same verdict on 100 % of 600 answers to 300 questions (expected of" in told[1]
    assert any("No precision can be promised" in line for line in told)


def test_a_follower_is_found_and_keeps_its_vote_and_too_few_others_are_said():
    together = found(judged(questions=600, copies=("follower",), follows=0.75, judges=tuple(WORTH)[:4]))
    (pair,) = together.groups[0].pairs
    assert ((pair.first, pair.second), pair.finding) == (("ant", "follower"), "follower")
    assert pair.interval is not None
    assert pair.interval[0] < 0.75 < pair.interval[1] + 0.1
    assert together.copies == {}
    assert "one follows the other in about" in sentences(together.groups[0])[1]
    together = found(judged(copies=("ant-2",), judges=("ant", "bee")))
    (pair,) = together.groups[0].pairs
    assert (pair.finding, pair.expected, pair.follows) == ("cannot be told", None, None)
    assert together.copies == {}
    assert together.groups[0].counts_as == 3.0
    (line,) = sentences(together.groups[0])
    assert line.startswith("ant, ant-2 gave the same verdict on 100 %")
    assert "no precision can be promised" in line


def test_copies_are_told_by_lengths_declared_variants_named_and_small_inputs_say_nothing():
    together = found(judged(copies=("a2", "a3", "a4"), judges=("ant", "bee")))
    assert {pair.finding for pair in together.groups[0].pairs} == {"cannot be told"}
    together = found(judged(copies=("ant-2",), judges=("ant",), rationale="word"))
    (pair,) = together.groups[0].pairs
    assert (pair.finding, pair.same_texts, pair.texts) == ("copy", 1.0, 600)
    assert together.copies == {"ant": "ant", "ant-2": "ant"}
    judgments = [one.model_copy(update={"rationale": "word " * 30}) for one in judged(judges=("ant", "bee"))]
    assert found(judgments).groups[0].pairs == ()
    meta = {"ant": {"judge_model": "m"}, "ant-2": {"judge_model": "m"}}
    together = found(judged(copies=("ant-2",), judges=tuple(WORTH)[:4], meta=meta))
    (pair,) = together.groups[0].pairs
    assert (pair.finding, pair.declared) == ("copy", True)
    assert (together.copies, together.possible) == ({}, frozenset())
    assert "1 pairs are one model under different names" in " ".join(sentences(together.groups[0]))
    assert found(judged(questions=29, copies=("ant-2",))).groups == ()
    assert found(judged(judges=("ant",))).groups == ()


def test_large_inputs_are_looked_at_by_evenly_spaced_questions(monkeypatch):
    monkeypatch.setattr(dependence, "MOST_RECORDS", 1_200)
    (group,) = found(judged(copies=("ant-2",), judges=tuple(WORTH)[:4])).groups
    assert group.questions == 120
    assert [pair.finding for pair in group.pairs] == ["copy"]


def test_the_order_of_the_records_plays_no_part_and_judges_that_never_vary_are_no_error():
    given = list(judged(questions=120, copies=("ant-2",), judges=tuple(WORTH)[:4]))
    mixed = [given[at] for at in np.random.default_rng(0).permutation(len(given))]
    one, other = found(given).groups[0], found(mixed).groups[0]
    assert (one.judges, one.tested, one.counts_as) == (other.judges, other.tested, other.counts_as)
    assert [pair.finding for pair in one.pairs] == [pair.finding for pair in other.pairs]
    given = [one.model_copy(update={"verdict": Pairwise("A", "B", 1)}) for one in judged(questions=60)]
    together = found(given)
    assert together.copies == {}
    assert together.groups[0].tested == 0


def test_a_clique_of_copies_cannot_outvote_and_is_no_evidence_for_itself():
    given = list(judged(copies=("ant-2", "ant-3"), judges=("ant", "bee", "cat")))
    facts = collected(given)
    rules = facts.rules()
    copies = dependence_of(facts, rules).copies
    alone = compare(facts, rules)
    together = compare(replace(facts, copies=copies), rules)
    peers = {name: set() for name in facts.judges}
    for row, judge in enumerate(facts.judge.tolist()):
        peers[facts.judges[judge]].add(together.peers.at(row).peers)
        assert alone.peers.at(row).peers == 4
    assert peers == {"ant": {2}, "ant-2": {2}, "ant-3": {2}, "bee": {2}, "cat": {2}}
    honest = [one for one in given if one.judge in ("ant", "bee", "cat")]
    less = collected(honest)
    plain = compare(less, rules)
    places = {name: row for row, name in enumerate(facts.judgment_ids)}
    for row, name in enumerate(less.judgment_ids):
        mine, theirs = together.peers.at(places[name]), plain.peers.at(row)
        assert mine.value == pytest.approx(theirs.value)


def test_too_many_judges_are_said(monkeypatch):
    monkeypatch.setattr(dependence, "MOST_JUDGES", 4)
    together = found(judged(questions=40))
    assert together.groups == ()
    assert together.not_compared is not None
    assert together.not_compared.startswith("5 judges are too many to be compared (4 at most)")


# The statistics of dependence: one shared factor is no dependence, and what is beyond it is measured in shares.
def measured(judgments):
    facts = collected(judgments)
    (cells,) = cells_of(facts, facts.rules())
    return cells


def test_tetrads_of_one_factor_vanish_exactly_and_a_pair_needs_two_others_that_are_not_one():
    worth = np.array([0.9, 0.8, 0.5, 0.7, 0.3])
    correlation = np.outer(worth, worth)
    np.fill_diagonal(correlation, 1.0)
    expected = local_dependence._expected(correlation[None], np.zeros((5, 5), dtype=bool))[0]
    above = np.triu_indices(5, 1)
    assert expected[above] == pytest.approx(correlation[above])
    correlation = np.full((1, 4, 4), 0.5)
    near = np.zeros((4, 4), dtype=bool)
    near[2, 3] = near[3, 2] = True
    expected = local_dependence._expected(correlation, near)[0]
    assert np.isnan(expected[0, 1])
    assert np.isnan(expected[0, 2])


@pytest.mark.slow
def test_what_follows_is_estimated_without_bias():
    shares = []
    for seed in range(4):
        judges = ("ant", "bee", "cat", "dog")
        cells = measured(judged(600, seed, copies=("fox",), follows=0.6, judges=judges))
        tests = PairTests.of(Sums.of(cells))
        shares.append(tests.follows[cells.judges.index("ant"), cells.judges.index("fox")])
    assert np.mean(shares) == pytest.approx(0.6, abs=0.12)


def test_p_values_are_corrected_and_symmetric_and_shares_of_same_answers_are_counted():
    cells = measured(judged(200, copies=("fox",), judges=("ant", "bee", "cat", "dog")))
    tests = PairTests.of(Sums.of(cells))
    for values in tests.adjusted.values():
        assert (values == values.T).all()
        assert ((values >= 0) & (values <= 1)).all()
    assert (tests.adjusted[0.75] >= tests.adjusted[0.4]).all()
    cells = measured(judged(100, copies=("fox",), judges=("ant", "bee")))
    sums = Sums.of(cells)
    ant, bee, fox = (cells.judges.index(name) for name in ("ant", "bee", "fox"))
    assert sums.same_share[ant, fox] == 1.0
    assert sums.same_share[ant, bee] < 1.0
    assert (sums.questions[ant, bee], sums.shared[ant, bee]) == (100, 200)


def test_lengths_are_compared_on_fewer_answers_where_there_are_many(monkeypatch):
    cells = measured(judged(200, copies=("fox",), judges=tuple(WORTH)[:3], rationale="word"))
    assert TextTests.of(cells).both.max() == 400
    monkeypatch.setattr(local_dependence, "MOST_COMPARED", 16 * 100)
    assert TextTests.of(cells).both.max() == 100
