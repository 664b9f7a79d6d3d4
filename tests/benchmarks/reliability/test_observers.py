from metajudge.benchmarks.reliability.analyse import analyse_records
from metajudge.benchmarks.reliability.clash_records import evaluations_of
from metajudge.benchmarks.reliability.run import Protocol, run_panel

from metajudge.clashes.clash import Judge
from tests.benchmarks.reliability.panels import panel, steady
from tests.doubles.reliability import fond_of, pair


async def test_an_observers_vote_is_in_no_figure():
    observer = Judge("gpt-4", fond_of("bad", "gpt-4"), own="A")
    clash = panel(*(judge.model for judge in steady().judges), observers=(observer,))
    done = await run_panel([pair(n) for n in range(3)], clash, Protocol(runs=1))
    assert all(len(record.votes) == 4 for record in done.records)
    for one in evaluations_of(done.records).evaluations:
        assert set(one.votes) == set(one.shown_first) == {"owl", "hawk", "wren"}
    found = analyse_records(done.records).figures
    assert [name for name in found if name.startswith("self.")] == ["self.first", "self.by_model.A"]
    assert found["self.by_model.A"].value == {"first": 0, "panel": 100, "difference": -100, "p": 0.25}
    assert found["self.first"].n == 3
    assert found["judges.fleiss_kappa"].definition.startswith("judges' first choices")
    assert found["unanimity.split"].n == 3
