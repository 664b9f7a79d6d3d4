"""Outcomes from stored decisions, on each database: made once, in order, under ids that follow from the decisions."""

import pytest

from metajudge.outcomes.model import OutcomeFilter, OutcomeName
from metajudge.reviews.review import HumanDecision, Outcome, PolicyUsed, Review
from metajudge.types import Action
from metajudge.types.decision import Decision, DecisionInputs

NOW = 1_700_000_000.0


def decided(assessment, action, policy="careful", digest="d1"):
    inputs = DecisionInputs(basis="score", value=4.0, confidence=0.9, confidence_rule="same_side")
    decision = Decision(
        action=action, policy=policy, policy_digest=digest, justification="the band says so", inputs=inputs, band=0
    )
    return assessment.model_copy(update={"decision": decision})


async def vet(store, records, n, action, digest="d1"):
    """Stores a decided judgment, with a review where people are to decide; returns its digest."""
    judgment = records.judgment(n)
    found = records.assessment(judgment, n)
    await store.save_assessment(records.key(n), judgment, decided(found, action, digest=digest), "run", found)
    return judgment.digest


async def ask_people(store, digest, n=0, reviewers=1, policy="d1", **changes):
    about = {"review_id": f"review-{n}", "subject_id": f"judgment-{n}", "item_id": f"item-{n}", "action": "REVIEW"}
    used = PolicyUsed(name="careful", digest=policy)
    review = Review(**about, subject_digest=digest, policy=used, opened_at=NOW, reviewers=reviewers, **changes)
    await store.reviews.open([review])
    return review


async def say(store, review, outcome, reviewer="ada", at=NOW + 60, **changes):
    decision = HumanDecision(
        review_id=review.review_id,
        reviewer=reviewer,
        outcome=outcome,
        decided_at=at,
        reason="my private words",
        **changes,
    )
    await store.reviews.import_decisions([decision])


async def all_of(store, **wanted):
    await store.outcomes.collect_all()
    return await store.outcomes.page(OutcomeFilter(**wanted))


@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        (Action.APPROVE, OutcomeName.APPROVED),
        (Action.REJECT, OutcomeName.REJECTED),
        (Action.REVIEW, OutcomeName.ESCALATED),
        (Action.REVIEW_PRIORITY, OutcomeName.ESCALATED),
    ],
)
async def test_a_policys_decision_is_an_outcome_once(store, records, action, outcome):
    digest = await vet(store, records, 1, action)
    (found,) = await all_of(store)
    assert (found.kind, found.subject_digest, found.outcome, found.by) == ("judgment", digest, outcome, "machine")
    await vet(store, records, 1, action)
    assert [one.event_id for one in await all_of(store, current=False)] == [found.event_id]


async def test_a_judgment_that_no_policy_decided_has_no_outcome(store, records):
    judgment = records.judgment(1)
    await store.save_assessment(records.key(1), judgment, records.assessment(judgment, 1), "run")
    assert await all_of(store) == []


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ([Outcome.APPROVE], OutcomeName.APPROVED),
        ([Outcome.MODIFY], OutcomeName.APPROVED_WITH_CHANGES),
        ([Outcome.REJECT], OutcomeName.REJECTED),
        ([Outcome.CANNOT_TELL], OutcomeName.ESCALATED),
        ([Outcome.APPROVE, Outcome.MODIFY], OutcomeName.APPROVED_WITH_CHANGES),
        ([Outcome.APPROVE, Outcome.REJECT], OutcomeName.ESCALATED),
        ([Outcome.REJECT, Outcome.CANNOT_TELL], OutcomeName.REJECTED),
    ],
)
async def test_people_give_what_was_escalated_its_final_outcome(store, records, said, outcome):
    review = await ask_people(store, await vet(store, records, 0, Action.REVIEW), reviewers=len(said))
    for number, one in enumerate(said):
        changes = {"verdict": "B>A"} if one is Outcome.MODIFY else {}
        await say(store, review, one, reviewer=f"person {number}", **changes)
        if number + 1 < len(said):
            assert [found.by for found in await all_of(store)] == ["machine"]
    (found,) = await all_of(store)
    (first, _) = reversed(await store.outcomes.page(OutcomeFilter(current=False)))
    assert (found.outcome, found.by, found.follows, found.amends) == (outcome, "people", first.event_id, None)
    assert [one["reviewer"] for one in found.people] == [f"person {number}" for number in range(len(said))]
    assert "private" not in found.model_dump_json()


async def test_an_id_follows_from_the_decisions_alone(reopen, tmp_path, records):
    from metajudge.store import open_store

    ids = []
    for store in (await reopen(), await open_store(tmp_path / "other.duckdb")):
        if ids:
            await vet(store, records, 5, Action.REJECT)  # other rows before it
        review = await ask_people(store, await vet(store, records, 0, Action.REVIEW))
        await store.outcomes.collect_all()
        await say(store, review, Outcome.APPROVE)
        await store.outcomes.collect_all()
        ids.append([one.event_id for one in await store.outcomes.about("judgment-0")])
        await store.close()
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2


async def test_a_decision_that_returns_to_an_earlier_one_is_a_new_event(store, records):
    for digest, action in (("d1", Action.APPROVE), ("d2", Action.REJECT), ("d1", Action.APPROVE)):
        await vet(store, records, 1, action, digest)
    newest, middle, first = await all_of(store, current=False)
    assert [one.is_current for one in (newest, middle, first)] == [True, False, False]
    assert (newest.amends, middle.amends, first.amends) == (middle.event_id, first.event_id, None)
    assert len({newest.event_id, middle.event_id, first.event_id}) == 3


async def test_what_people_decided_stands_when_a_machine_decides_again(store, records):
    review = await ask_people(store, await vet(store, records, 0, Action.REVIEW))
    await say(store, review, Outcome.REJECT)
    await vet(store, records, 0, Action.APPROVE, "d2")
    (found,) = await all_of(store)
    assert (found.outcome, found.by) == (OutcomeName.REJECTED, "people")


async def test_an_audit_that_nobody_can_tell_leaves_what_the_machine_decided(store, records):
    review = await ask_people(store, await vet(store, records, 0, Action.APPROVE), origin="audit")
    await say(store, review, Outcome.CANNOT_TELL)
    (found,) = await all_of(store)
    assert (found.outcome, found.by) == (OutcomeName.APPROVED, "machine")


async def test_an_audit_that_disagrees_amends_what_a_receiver_acted_on(store, records):
    review = await ask_people(store, await vet(store, records, 0, Action.APPROVE), origin="audit")
    (first,) = await all_of(store)
    await say(store, review, Outcome.REJECT)
    (found,) = await all_of(store)
    assert (found.outcome, found.amends) == (OutcomeName.REJECTED, first.event_id)


async def test_an_amendment_is_a_new_event_that_names_the_amended_one(store, records):
    review = await ask_people(store, await vet(store, records, 0, Action.REVIEW))
    await say(store, review, Outcome.APPROVE)
    amended = HumanDecision(
        review_id=review.review_id, reviewer="ada", outcome="reject", decided_at=NOW + 90, reason="looked again"
    )
    await store.reviews.amend(amended, now=NOW + 90)
    escalated, approved, rejected = reversed(await all_of(store, current=False))
    assert [one.outcome.value for one in (escalated, approved, rejected)] == ["escalated", "approved", "rejected"]
    assert (approved.amends, rejected.amends) == (None, approved.event_id)
    assert [one.is_current for one in (escalated, approved, rejected)] == [False, False, True]


async def test_a_record_that_is_no_decision_has_no_outcome_and_stops_nothing(store, records, caplog):
    await store.audit_log.append("case", "case-1", {"decision": {"action": "SHRED"}}, now=NOW)
    digest = await vet(store, records, 0, Action.APPROVE)
    assert [one.subject_digest for one in await all_of(store)] == [digest]
    assert "is no decision and has no outcome" in caplog.text


async def test_a_mistake_in_a_change_is_undone_and_told_and_the_store_goes_on(store, records, monkeypatch):
    digest = await vet(store, records, 0, Action.APPROVE)
    with monkeypatch.context() as broken:
        broken.setattr("metajudge.store.outcomes.findings", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await store.outcomes.collect()
    assert [one.subject_digest for one in await all_of(store)] == [digest]


async def test_an_outcome_follows_the_newest_one_on_its_content_also_after_reopening(reopen, records):
    store = await reopen()
    for n in range(4):
        await vet(store, records, n, Action.REVIEW)
    await store.close()  # stored, and no outcome yet
    store = await reopen()
    first = {one.subject_digest: one.event_id for one in await all_of(store)}
    store = await reopen(store)
    for n in range(5):
        await vet(store, records, n, Action.APPROVE, digest="d2")
        await store.outcomes.collect_all()
    found = await all_of(store)
    assert len(found) == 5
    assert {one.subject_digest: one.follows for one in found} == {**first, found[0].subject_digest: None}
    await vet(store, records, 0, Action.REJECT, digest="d3")
    assert len(await all_of(store)) == 5


async def test_a_page_finds_what_fits_far_below_and_marks_what_was_replaced(store, records):
    await vet(store, records, 0, Action.REJECT)
    for n in range(1, 60):
        await vet(store, records, n, Action.REVIEW)
    await store.outcomes.collect_all()
    await vet(store, records, 1, Action.APPROVE, digest="d2")
    await store.outcomes.collect_all()

    async def page(before=None, **wanted):
        return await store.outcomes.page(OutcomeFilter(**wanted), before=before, limit=1)

    assert [one.subject_id for one in await page(outcome=OutcomeName.REJECTED)] == [records.judgment(0).id]
    assert await page(outcome=OutcomeName.REJECTED, kind="case") == []
    names = [records.judgment(n).id for n in range(60)]
    seen, before = [], None
    while found := await page(before):
        seen.append(found[0].subject_id)
        before = found[0].number
    assert seen == [names[1], *names[:1:-1], names[0]]
    history = await store.outcomes.page(OutcomeFilter(current=False), limit=100)
    assert [one.subject_id for one in history if not one.is_current] == [names[1]]
