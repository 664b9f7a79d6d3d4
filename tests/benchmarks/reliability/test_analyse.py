import pytest
from metajudge.benchmarks.reliability.analyse import analyse_records
from metajudge.benchmarks.reliability.clash_records import read_clash_records
from metajudge.benchmarks.reliability.report import report_of
from metajudge.benchmarks.reliability.run import Protocol, run_panel

from metajudge.clashes.clash import Clash, Judge
from metajudge.errors import InputError
from metajudge.report.html import to_html
from tests.benchmarks.reliability.panels import steady
from tests.doubles.reliability import fond_of, pair


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


async def test_unlabelled_pairs_are_said_to_be_left_out():
    done = await run_panel([pair(1, label=None), pair(2)], steady(), Protocol(runs=1))
    found = analyse_records(done.records)
    assert any("1 without a human winner" in sentence for sentence in found.summary)
    done = await run_panel([pair(1, label="A=B")], steady(), Protocol(runs=1))
    with pytest.raises(InputError, match="nothing to compare with a human: 1 without a human winner"):
        analyse_records(done.records)


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
