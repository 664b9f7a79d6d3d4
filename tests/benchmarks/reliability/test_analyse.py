"""From records of a panel to its report: what is counted, left out and said."""

import pytest
from metajudge.benchmarks.reliability.analysis import analyse_records
from metajudge.benchmarks.reliability.records import evaluations_of, read_clash_records
from metajudge.benchmarks.reliability.report import report_of
from metajudge.benchmarks.reliability.run import Protocol, run_panel

from metajudge.clashes.clash import Clash, Judge
from metajudge.errors import InputError
from metajudge.report.html import to_html
from tests.doubles.reliability import fond_of, pair, panel, steady


async def test_records_survive_a_file_and_are_analysed_alone(tmp_path):
    items = [pair(n, label="B>A" if n % 3 == 0 else "A>B") for n in range(9)]
    done = await run_panel(items, steady(), Protocol(runs=2))
    path = tmp_path / "records.jsonl"
    path.write_text("".join(record.model_dump_json() + "\n" for record in done.records))
    found = analyse_records(read_clash_records(path))
    assert found.figures["run1.concordance"].value == pytest.approx(200 / 3)
    assert found.figures["retest.run1_run2.same"].value == 100
    assert found.figures["stability.classes"].value["stable_wrong"] == 3
    with path.open("a") as stream:
        stream.write('{"version": 1}\n')
    with pytest.raises(InputError, match=r"records\.jsonl:19: "):
        read_clash_records(path)


async def test_one_judge_or_one_model_under_several_names_is_never_called_unanimous():
    one = fond_of("good", "owl")
    for judges in ((Judge("a", one),), (Judge("a", one), Judge("b", one), Judge("c", one))):
        done = await run_panel([pair(n) for n in range(3)], Clash(judges), Protocol(runs=1))
        assert all(record.tally.triage == "escalate" for record in done.records)
        found = analyse_records(done.records)
        for name in ("unanimity.unanimous", "unanimity.split", "unanimity.fisher_p"):
            assert found.figures[name].value is None
            assert "cannot agree with itself" in found.figures[name].why
        assert any("No verdict is called unanimous" in sentence for sentence in found.summary)
        page = to_html(report_of(found.figures, title="Panel", summary=found.summary, provenance={}))
        assert "cannot agree with itself" in page


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


async def test_records_of_another_panel_are_not_gone_on_from():
    items = [pair(1)]
    done = await run_panel(items, steady(), Protocol(runs=1))
    with pytest.raises(InputError, match="another panel"):
        await run_panel(items, panel(fond_of("good", "crow")), Protocol(runs=1), earlier=done.records)
    with pytest.raises(InputError, match="another seed"):
        await run_panel(
            items, panel(*(j.model for j in steady().judges), seed=5), Protocol(runs=1), earlier=done.records
        )
    other = await run_panel(items, panel(fond_of("good", "crow")), Protocol(runs=1))
    with pytest.raises(InputError, match="different panels"):
        evaluations_of([*done.records, *other.records])
