"""Drafts in a store: made once, tried on what they have not seen, put in force by a person alone."""

import pytest

from metajudge.errors import InputError
from metajudge.feedback.drafting import DraftBook
from metajudge.feedback.drafts import DraftKind
from metajudge.feedback.rejudging import estimate_rejudging, held_out_records, rejudge
from metajudge.feedback.writing import write_draft
from metajudge.panels.config import panel_config
from metajudge.providers.scripted import ScriptedModel
from metajudge.session import Session
from metajudge.store import open_store
from tests.doubles.corrected_cases import CASES, REASON, RISK, filled, judge

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A filled store's file, to be copied by each test."""
    import asyncio

    where = tmp_path_factory.mktemp("made") / "s.duckdb"
    asyncio.run(filled(where))
    return where


@pytest.fixture
def where(made, tmp_path):
    copy = tmp_path / "s.duckdb"
    copy.write_bytes(made.read_bytes())
    return copy


def book(store):
    clock = iter(range(1000, 10**9))
    return DraftBook(store, clock=lambda: float(next(clock)))


async def test_drafts_are_made_once_of_one_half_and_nothing_changes(where):
    store = await open_store(where)
    drafts = await book(store).draft("risk_analysis")
    again = await book(store).draft("risk_analysis")
    assert [one.kind for one in drafts] == [DraftKind.OFFSET, DraftKind.LEVELS, DraftKind.INSTRUCTION]
    assert [one.draft_id for one in drafts] == [one.draft_id for one in again]
    assert len(await book(store).drafts("risk_analysis")) == 3
    assert drafts[0].policy.adjustment.offsets == {"completeness": -3.0}
    for one in drafts:
        assert set(one.drafted_on).isdisjoint(one.held_out)
        assert len(one.drafted_on) + len(one.held_out) == len(CASES)
    assert (await book(store).loop.active("risk_analysis")).digest == RISK.digest
    await store.close()


async def test_an_offset_is_tried_without_a_model_and_activated_only_when_compared(where):
    store = await open_store(where)
    drafts = book(store)
    (offset,) = await drafts.draft("risk_analysis", kinds=[DraftKind.OFFSET])
    with pytest.raises(InputError, match="was not compared yet"):
        await drafts.activate(offset.draft_id, by="ada")
    found = await drafts.replay(offset)
    assert (found.better, found.calls, found.score_error.after) == (True, 0, 0.0)
    with pytest.raises(InputError, match="give the name"):
        await drafts.activate(offset.draft_id, by=" ")
    done = await drafts.activate(offset.draft_id, by="ada")
    assert (await drafts.loop.active("risk_analysis")).digest == done.digest == offset.policy.digest
    assert (await drafts.loop.activations())[0].evidence == found.reason
    with pytest.raises(InputError, match="already in force"):
        await drafts.activate(offset.draft_id, by="ada")
    await store.close()


async def test_an_altered_draft_and_one_for_another_version_are_refused(where):
    store = await open_store(where)
    drafts = book(store)
    offset, levels, _ = await drafts.draft("risk_analysis")
    altered = levels.model_dump(mode="json") | {"draft_id": "0" * 12}
    await store.audit_log.append("draft", "risk_analysis", altered, now=1.0)
    with pytest.raises(InputError, match="differs from what was drafted"):
        await drafts.get("0" * 12)
    await drafts.replay(offset)
    await drafts.activate(offset.draft_id, by="ada")
    with pytest.raises(InputError, match="draft again"):
        await drafts.activate(levels.draft_id, by="ada")
    await store.close()


@pytest.mark.parametrize("sees", [True, False])
async def test_level_texts_are_judged_anew_and_compared_with_people(where, sees):
    model = judge(sees=sees)
    async with Session([model], store=where) as session:
        drafts = book(session.store)
        (levels,) = await drafts.draft("risk_analysis", kinds=[DraftKind.LEVELS])
        with pytest.raises(InputError, match="models must judge anew"):
            await drafts.replay(levels)
        found = await rejudge(session, drafts, levels, now=1.0)
        assert found.better is sees
        assert found.score_error.before == 3
        assert found.score_error.after == (0 if sees else 3)
        assert found.judges == {"judge": "judge"}
        assert (
            len(model.requests) == found.calls == found.records
        )  # the first stage is known, and so is what was before
        again = await rejudge(session, drafts, levels, now=1.0)
        assert again.calls == 0
        assert len(await session.store.audit_log.entries("case")) == len(CASES)  # nothing is decided anew
        assert (await drafts.comparison(levels.draft_id)).score_error == found.score_error


async def test_other_judges_are_asked_under_both_versions(where):
    model = judge("other")
    async with Session([model], store=where) as session:
        drafts = book(session.store)
        (levels,) = await drafts.draft("risk_analysis", kinds=[DraftKind.LEVELS])
        found = await rejudge(session, drafts, levels, now=1.0)
        assert len(model.requests) == 3 * found.records  # the first stage's prompt is the same under both
        held = await held_out_records(session.store, drafts, levels, now=1.0)
        panel = panel_config({"agents": [{"name": "x", "model": "openai:gpt-4o-mini@http://localhost:1"}]})
        price = estimate_rejudging(panel, RISK, levels, held.records)
        assert price.calls == 4 * len(held.records)
        assert price.cost_usd > 0


async def test_a_forgotten_case_is_left_out_and_its_reasons_leave_the_drafts(where):
    store = await open_store(where)
    drafts = book(store)
    _, levels, told = await drafts.draft("risk_analysis")
    states = {case.review_id: case for case in await drafts.loop.cases("risk_analysis")}
    gone = levels.quotes[0]
    held = next(states[one].case_id for one in levels.held_out)
    assert REASON in str(levels.policy.cases.levels)
    await store.forget(gone)
    await store.forget(held)
    for one in (levels, told):
        kept = next(found for found in await drafts.drafts() if found.draft_id == one.draft_id)
        assert REASON not in kept.model_dump_json()
        with pytest.raises(InputError, match="differs from what was drafted"):
            await drafts.get(one.draft_id)
    left = await held_out_records(store, drafts, levels, now=1.0)
    assert left.left_out == {"its texts are not in the store": 1}
    await store.close()


async def test_a_model_writes_from_peoples_reasons_and_a_bad_reply_is_no_draft(where):
    store = await open_store(where)
    drafts = book(store)
    writer = ScriptedModel(['{"instruction": "Look for what follows from the first effect."}'], name="writer")
    found = await write_draft(drafts, writer, "risk_analysis", "completeness", DraftKind.INSTRUCTION)
    assert found.policy.cases.instructions == {"completeness": "Look for what follows from the first effect."}
    assert found.written_by == "writer"
    assert REASON in writer.requests[0].messages[0].text
    with pytest.raises(InputError, match="no usable text from bad"):
        await write_draft(
            drafts, ScriptedModel(["{}"] * 4, name="bad"), "risk_analysis", "completeness", DraftKind.LEVELS
        )
    await store.close()


async def test_ground_truth_comes_from_every_labelled_case_and_hides_with_the_labels(where):
    store = await open_store(where)
    report = await book(store).loop.report("risk_analysis")
    assert report.labelled == 36
    assert report.overall["ground_truth_reliability"].n == 0  # all of them were sent to people
    (confidence_error,) = [await _refusal(book(store))]
    assert "it stays as stated" in confidence_error
    shown = await store.show("c00")
    assert any(one["payload"].get("label") is True for one in shown["audit_log"])
    await store.close()


async def _refusal(drafts):
    with pytest.raises(InputError) as error:
        await drafts.draft("risk_analysis", kinds=[DraftKind.CONFIDENCE])
    return str(error.value)
