import json

from metajudge.benchmarks.reliability.analyse import analyse_records
from metajudge.benchmarks.reliability.report import report_of
from metajudge.benchmarks.reliability.run import Protocol, run_panel

from metajudge.report.html import to_html
from tests.benchmarks.reliability.panels import steady
from tests.doubles.reliability import pair


async def test_cycles_are_analysed_where_there_are_some():
    base = (await run_panel([pair(n) for n in range(4)], steady(), Protocol(runs=2))).records
    later = [
        record.model_copy(
            update={
                "cycle": 2,
                "key": record.key + "c2",
                "winner": "B" if record.item_id == "q0" else record.winner,
                "candidates": tuple(
                    one.model_copy(update={"text_digest": f"{one.text_digest}2"}) for one in record.candidates
                ),
            }
        )
        for record in base
    ]
    found = analyse_records([*base, *later]).figures
    assert (found["cycles.stable"].value, found["cycles.stable"].n) == (75, 4)
    assert found["cycles.digests"].value == {"all_different": 8, "repeated": 0, "all_equal": 0}
    assert found["cycles.variance"].value["judgment"] == 0
    assert found["cycles.variance"].value["generation"] > 0
    assert json.dumps(found["cycles.by_category"].value)
    unlabelled = [record.model_copy(update={"label": None}) for record in (*base, *later)]
    alone = analyse_records(unlabelled)
    assert alone.figures == {name: one for name, one in found.items() if name.startswith("cycles.")}
    page = to_html(report_of(alone.figures, title="Panel", summary=alone.summary, provenance={}))
    assert "Answers made anew" in page
