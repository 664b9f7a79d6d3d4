"""Results and labels without texts: the same as in whole assessments and judgments."""

from functools import partial

import pytest

from metajudge.store import RunRecord
from metajudge.store import run_results as module
from metajudge.store.queries import judgments_of
from metajudge.store.run_results import current_results, run_results
from tests.doubles.judgments import assessed, judgment


def compared(one):
    return one.judgment_id, one.item_id, one.judgment_digest, one.panel_digest, one.accepted, one.final_score


@pytest.fixture
async def filled(store, monkeypatch):
    """Two runs, one of which repeats some judgments, and annotates some."""
    monkeypatch.setattr(module, "_SPAN", 3)
    for name in ("first", "second"):
        await store.start_run(RunRecord(name, "test", 1.0, "running", {}))
    for n, run in enumerate(["first", "first", "first", "second", "first", "second", "first"]):
        one = judgment(f"j{n % 3}")
        own = assessed(one, 1.0 + n, f"p{n // 5}")
        decided = own.model_copy(update={"probability": 0.4, "calibrated": True, "accepted": n % 4 == 0})
        await store.save_assessment(f"k{n % 3}", one, decided if n % 2 else own, run, own)
    return store


async def test_of_a_run_are_those_of_its_assessments(filled) -> None:
    for run in ("first", "second", "nobody"):
        whole = await filled.run_assessments(run)
        found = await filled.ask(partial(run_results, run_id=run))
        assert [one.number for one in found] == [number for number, _ in whole]
        assert [compared(one) for one in found] == [compared(one) for _, one in whole]


async def test_current_ones_are_the_newest_of_each_panel(filled) -> None:
    whole = [compared(one) for _, one in await filled.newest_assessments()]
    assert len({panel for _, _, _, panel, _, _ in whole}) == 2
    assert [compared(one) for one in await filled.ask(partial(current_results, panel=None))] == whole
    of_one = await filled.ask(partial(current_results, panel="p1"))
    assert [compared(one) for one in of_one] == [one for one in whole if one[3] == "p1"]


async def test_an_annotation_kept_as_a_whole_assessment_counts_as_that(store) -> None:
    await store.start_run(RunRecord("r", "test", 1.0, "running", {}))
    one = judgment("j")
    own = assessed(one, 1.0)
    decided = own.model_copy(update={"probability": 0.5, "calibrated": True})
    await store.save_assessment("k", one, decided, "r", own)
    whole = decided.model_copy(update={"final_score": 4.0}).model_dump_json(exclude={"do"})

    def as_before(connection):
        connection.execute("UPDATE annotations SET payload = $1", [whole])

    await store.audit_log._write(as_before)
    ((_, kept),) = await store.run_assessments("r")
    (found,) = await store.ask(partial(run_results, run_id="r"))
    assert compared(found) == compared(kept)
    assert found.final_score == 4.0


async def test_verdicts_and_labels_of_judgments_whose_texts_are_kept(store) -> None:
    given = [judgment("labelled"), judgment("bare", label=None), judgment("gone", item_id="gone")]
    for n, one in enumerate(given):
        await store.save_assessment(f"k{n}", one, assessed(one, 1.0), "r")
    await store.forget(given[2].item.id)
    digests = [one.digest for one in given]
    assert await store.ask(partial(judgments_of, digests=digests)) == dict(zip(digests[:2], given[:2], strict=True))
