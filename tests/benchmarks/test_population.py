from collections import Counter

from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.observations import Population, stratified

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


def test_the_sample_of_80_is_the_proportional_one():
    counts = Counter(PUBLISHED[name] for name in stratified(PUBLISHED, 80, seed=1))
    # 80 * (154, 98, 56, 42) / 350 = 35.2, 22.4, 12.8, 9.6
    assert counts == {"Knowledge": 35, "Reasoning": 22, "Math": 13, "Coding": 10}


def test_a_sample_depends_on_its_seed_and_not_on_the_order_of_the_input():
    backwards = dict(reversed(PUBLISHED.items()))
    assert stratified(PUBLISHED, 40, seed=5) == stratified(backwards, 40, seed=5)
    assert stratified(PUBLISHED, 40, seed=5) != stratified(PUBLISHED, 40, seed=6)
    assert stratified(PUBLISHED, 350, seed=5) == stratified(PUBLISHED, 400, seed=6) == frozenset(PUBLISHED)


def test_every_judge_is_reported_on_the_same_sample_of_all_categories(small):
    seen = bench_of(small, limit=8, seed=2).observations
    items = {judge: set(seen.only({judge}).of("item")) for judge in ("owl", "hawk")}
    assert items["owl"] == items["hawk"]
    assert len(items["owl"]) == 8
    assert set(seen.of("category")) == set(CATEGORIES)
    assert items["owl"] != set(bench_of(small, limit=8, seed=3).observations.of("item"))
