from metajudge.benchmarks.reliability.analysis import analyse_records
from metajudge.benchmarks.reliability.records import evaluations_of
from metajudge.benchmarks.reliability.run import Protocol, run_panel

from tests.doubles.reliability import fond_of, pair, panel


async def test_the_targeted_third_run_takes_what_the_rule_says():
    judges = [fond_of("good", name, wrong=0.35, seed=seed) for seed, name in enumerate(("owl", "hawk", "wren"))]
    items = [pair(n) for n in range(20)]
    done = await run_panel(items, panel(*judges), Protocol(runs=2, targeted=True, third_size=12))
    third = [record.item_id for record in done.records if record.repeat == 3]
    assert sorted(third) == sorted(done.third.chosen)
    assert done.third.unstable
    found = analyse_records(done.records, 2, done.third)
    assert found.figures["third.chosen"].n == len(third)
    assert found.figures["run1.n"].value == found.figures["run2.n"].value == 20
    assert any("targeted run took" in sentence for sentence in found.summary)


async def test_what_could_not_be_asked_is_attempted_again_and_nothing_is_overwritten():
    items = [pair(n) for n in range(10)]
    models = [fond_of("good", name) for name in ("owl", "hawk", "wren")]
    flaky = fond_of("good", "owl", fails=0.5, seed=4)
    first = await run_panel(items, panel(flaky, *models[1:]), Protocol(runs=1))
    lost = [record for record in first.records if not record.everybody_asked]
    assert 0 < len(lost) < 10
    second = await run_panel(items, panel(*models), Protocol(runs=1), earlier=first.records)
    assert second.records[:10] == first.records
    assert [record.attempt for record in second.records[10:]] == [2] * len(lost)
    assert len(models[1].requests) == 10  # whoever answered is not asked again
    found = evaluations_of(second.records)
    assert len(found.evaluations) == 10
    assert all(None not in one.votes.values() for one in found.evaluations)
