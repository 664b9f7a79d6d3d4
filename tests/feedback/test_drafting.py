"""Drafts in a store: tried on what they have not seen, put in force by a person alone."""

import pytest

from metajudge.errors import InputError
from metajudge.feedback.changes import Comparison, DraftKind, Paired, draft_id
from metajudge.feedback.drafting import DraftBook, write_draft
from metajudge.feedback.rejudging import held_out_records, rejudge
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


@pytest.fixture
async def store(where):
    opened = await open_store(where)
    yield opened
    await opened.close()


def book(store):
    clock = iter(range(1000, 10**9))
    return DraftBook(store, clock=lambda: float(next(clock)))


def stored(draft, kind):
    """A draft as an earlier version kept it."""
    data = RISK.model_dump(mode="json")
    if kind == "levels":
        data["cases"]["levels"] = {"completeness": {"7": "Not where people found gaps."}}
    else:
        change = (
            {"offsets": {"completeness": -3.0}}
            if kind == "offset"
            else {"confidence": {"intercept": 0.0, "slope": 0.5}}
        )
        data["adjustment"] = change
    policy = RISK.model_validate(data)
    name = draft_id(draft.base_digest, policy, draft.drafted_on)
    return draft.model_copy(update={"draft_id": name, "kind": DraftKind(kind), "change": kind, "policy": policy})


@pytest.mark.parametrize("kind", ["offset", "levels", "confidence"])
async def test_drafts_of_earlier_versions_are_listed_and_not_tried(store, kind):
    drafts = book(store)
    (told,) = await drafts.draft("risk_analysis")
    old = await drafts.keep(stored(told, kind))
    assert old in await drafts.drafts("risk_analysis")
    assert await drafts.get(old.draft_id) == old
    with pytest.raises(InputError, match="draft an instruction with"):
        await drafts.to_try(old.draft_id)
    with pytest.raises(InputError, match="was not compared yet"):
        await drafts.activate(old.draft_id, by="ada")
    earlier = Paired(
        definition="mean", before=0.3, after=0.2, difference=-0.1, low=-0.2, high=-0.05, n=20, questions=20
    )  # fmt: skip
    compared = Comparison(draft_id=old.draft_id, better=True, reason="r", records=20, confidence_error=earlier)
    await drafts.keep_comparison(old, compared)
    assert (await drafts.comparison(old.draft_id)).confidence_error == earlier
    assert (await drafts.activate(old.draft_id, by="ada")).digest == old.policy.digest


async def test_an_altered_draft_and_one_for_another_version_are_refused(where):
    model = judge(sees=True)
    async with Session([model], store=where) as session:
        drafts = book(session.store)
        (told,) = await drafts.draft("risk_analysis")
        (material,) = await drafts.material("risk_analysis", "completeness")
        other = await drafts.keep(drafts.made(material, "Look twice.", "ada"))
        altered = told.model_dump(mode="json") | {"draft_id": "0" * 12}
        await session.store.audit_log.append("draft", "risk_analysis", altered, now=1.0)
        with pytest.raises(InputError, match="differs from what was drafted"):
            await drafts.get("0" * 12)
        await rejudge(session, drafts, told, now=1.0)
        with pytest.raises(InputError, match="give the name"):
            await drafts.activate(told.draft_id, by=" ")
        await drafts.activate(told.draft_id, by="ada")
        with pytest.raises(InputError, match="already in force"):
            await drafts.activate(told.draft_id, by="ada")
        with pytest.raises(InputError, match="draft again"):
            await drafts.activate(other.draft_id, by="ada")


@pytest.mark.parametrize("sees", [True, False])
async def test_an_instruction_is_judged_anew_and_compared_with_people(where, sees):
    model = judge(sees=sees)
    async with Session([model], store=where) as session:
        drafts = book(session.store)
        (told,) = await drafts.draft("risk_analysis")
        found = await rejudge(session, drafts, told, now=1.0)
        assert found.better is sees
        assert found.score_error.before == 3
        assert found.score_error.after == (0 if sees else 3)
        assert found.judges == {"judge": "judge"}
        assert (
            len(model.requests) == found.calls == found.records
        )  # the first stage is known, and so is what was before
        again = await rejudge(session, drafts, told, now=1.0)
        assert again.calls == 0
        assert len(await session.store.audit_log.entries("case")) == len(CASES)  # nothing is decided anew
        assert (await drafts.comparison(told.draft_id)).score_error == found.score_error


async def test_a_forgotten_case_is_left_out_and_its_reasons_leave_the_drafts(store):
    drafts = book(store)
    (told,) = await drafts.draft("risk_analysis")
    states = {case.review_id: case for case in await drafts.cases("risk_analysis")}
    gone = told.quotes[0]
    held = next(states[one].case_id for one in told.held_out)
    assert REASON in str(told.policy.cases.instructions)
    await store.forget(gone)
    await store.forget(held)
    (kept,) = await drafts.drafts()
    assert REASON not in kept.model_dump_json()
    with pytest.raises(InputError, match="differs from what was drafted"):
        await drafts.get(told.draft_id)
    _, left = await held_out_records(drafts, told, now=1.0)
    assert left == {"its texts are not in the store": 1}


async def test_a_model_writes_from_peoples_reasons_and_a_bad_reply_is_no_draft(store):
    drafts = book(store)
    writer = ScriptedModel(['{"instruction": "Look for what follows from the first effect."}'], name="writer")
    found = await write_draft(drafts, writer, "risk_analysis", "completeness")
    assert found.policy.cases.instructions == {"completeness": "Look for what follows from the first effect."}
    assert found.written_by == "writer"
    assert REASON in writer.requests[0].messages[0].text
    with pytest.raises(InputError, match="no usable text from bad"):
        await write_draft(drafts, ScriptedModel(["{}"] * 4, name="bad"), "risk_analysis", "completeness")


async def test_ground_truth_comes_from_every_labelled_case_and_hides_with_the_labels(store):
    report = await book(store).report("risk_analysis")
    assert report.labelled == 36
    assert report.overall["ground_truth_reliability"].n == 0  # all of them were sent to people
    shown = await store.show("c00")
    assert any(one["payload"].get("label") is True for one in shown["audit_log"])
