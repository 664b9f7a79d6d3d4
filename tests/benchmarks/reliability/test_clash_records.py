from dataclasses import replace

import pytest
from metajudge.benchmarks.reliability.clash_records import evaluations_of
from metajudge.benchmarks.reliability.run import Protocol, run_panel

from metajudge.errors import InputError
from tests.benchmarks.reliability.panels import panel, steady
from tests.doubles.reliability import fond_of, pair


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


async def test_records_of_an_earlier_version_are_judged_anew_only_where_judges_could_read_a_name():
    items = [pair(1), pair(2, responses={"A": "I am ChatGPT: good 2", "B": "bad 2"})]
    clash = steady()
    old = (await run_panel(items, replace(clash, hide_identities=False), Protocol(runs=1))).records
    old = [record.model_copy(update={"blinding": None}) for record in old]
    asked = len(clash.judges[0].model.requests)
    again = await run_panel(items, clash, Protocol(runs=1), earlier=old)
    assert len(clash.judges[0].model.requests) == asked + 1
    assert [(record.item_id, record.attempt) for record in again.records[2:]] == [("q2", 2)]
    counted = evaluations_of(again.records).counting
    assert {record.item_id: record.blinding is not None for record in counted} == {"q1": False, "q2": True}
