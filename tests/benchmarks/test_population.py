from collections import Counter

import pytest
from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.population import Population, stratified

from metajudge.errors import ConfigurationError
from tests.benchmarks.benches import bench_of
from tests.doubles.judgebench import CATEGORIES, game, pair

PUBLISHED = {
    f"{name[0]}{number}": name
    for name, size in {"Knowledge": 154, "Reasoning": 98, "Math": 56, "Coding": 42}.items()
    for number in range(size)
}


def members(judgments, **rule):
    member = Population(**rule).members()
    return [judgment.id for judgment in judgments if member(judgment)]


def test_the_first_game_is_the_one_in_the_items_own_order_and_repeats_of_it_do_not_count(folder):
    games = [
        game(0, "BA", "A>B", label="B>A"),
        game(0, "AB", "A>B"),
        game(1, "AB", "A>B"),
        game(1, "BA", "B>A", label="B>A"),
    ]
    judgments = list(Bench(Request("judgebench", folder([pair(0), pair(1)], games))).source.all())
    assert members(judgments, games="first") == ["p0/owl/AB", "p1/owl/AB"]
    again = judgments[1].model_copy(update={"id": "again"})
    assert members([judgments[1], again], games="first") == ["p0/owl/AB"]
    assert len(members(judgments)) == 4


def test_pairs_of_another_model_do_not_belong_to_a_population_that_names_its_models(folder):
    pairs = [pair(0, response_model="gpt-4o-2024-05-13"), pair(1, response_model="claude-3-5-sonnet")]
    judgments = list(bench_of(folder(pairs, [game(0, "AB", "A>B"), game(1, "AB", "A>B")])).source.all())
    assert members(judgments, responses_by=("gpt-4o-20*",)) == ["p0/owl/AB"]


@pytest.mark.parametrize("size", [4, 10, 80, 349])
def test_every_category_has_its_share_of_a_sample_and_at_least_one(size):
    drawn = stratified(PUBLISHED, size, seed=0)
    counts, whole = Counter(PUBLISHED[name] for name in drawn), Counter(PUBLISHED.values())
    assert len(drawn) == size
    for name in whole:
        assert counts[name] >= 1
        assert abs(counts[name] - size * whole[name] / 350) < 2


def test_the_sample_of_80_is_the_proportional_one():
    counts = Counter(PUBLISHED[name] for name in stratified(PUBLISHED, 80, seed=1))
    # 80 * (154, 98, 56, 42) / 350 = 35.2, 22.4, 12.8, 9.6
    assert counts == {"Knowledge": 35, "Reasoning": 22, "Math": 13, "Coding": 10}


def test_a_sample_depends_on_its_seed_and_not_on_the_order_of_the_input():
    backwards = dict(reversed(PUBLISHED.items()))
    assert stratified(PUBLISHED, 40, seed=5) == stratified(backwards, 40, seed=5)
    assert stratified(PUBLISHED, 40, seed=5) != stratified(PUBLISHED, 40, seed=6)
    assert stratified(PUBLISHED, 350, seed=5) == stratified(PUBLISHED, 400, seed=6) == frozenset(PUBLISHED)


def test_fewer_items_than_categories_are_refused():
    with pytest.raises(ConfigurationError, match="give at least 4"):
        stratified(PUBLISHED, 3, seed=0)


def test_every_judge_is_reported_on_the_same_sample_of_all_categories(small):
    rows = bench_of(small, limit=8, seed=2).observations.rows
    items = {judge: {row.item_id for row in rows if row.judge == judge} for judge in ("owl", "hawk")}
    assert items["owl"] == items["hawk"]
    assert len(items["owl"]) == 8
    assert {row.category for row in rows} == set(CATEGORIES)
    assert items["owl"] != {row.item_id for row in bench_of(small, limit=8, seed=3).observations.rows}
