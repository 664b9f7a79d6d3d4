"""Amendments, comments, assignments and progress: rows are added, and everything that was said stays."""

import pytest

from metajudge.errors import InputError, ReviewError
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import Comment, Outcome
from tests.store.test_reviews import NOW, claimed, decision, review


async def decided(store, name="r1", **changes):
    await claimed(store, review_id=name)
    return await store.reviews.decide(decision(name, **changes), now=NOW + 7)


class TestAmendments:
    async def test_the_newest_counts_and_everything_stays(self, store):
        await store.reviews.open([review()])
        first = (await decided(store)).decisions[0]
        second = decision(outcome=Outcome.REJECT, reason="misread").model_copy(update={"decided_at": NOW + 60})
        state = await store.reviews.amend(second, now=NOW + 60)
        assert [one.outcome for one in state.decisions] == [Outcome.REJECT]
        assert [one.outcome for one in state.history] == [Outcome.APPROVE, Outcome.REJECT]
        assert state.decisions[0].amends == first.decision_id
        assert (await store.reviews.amend(second, now=NOW + 61)).history == state.history
        third = decision(reason="again").model_copy(update={"decided_at": NOW + 70})
        assert len((await store.reviews.amend(third, now=NOW + 70)).history) == 3
        shown = await store.show("r1")
        assert [one["outcome"] for one in shown["reviews"][0]["decisions"]] == ["approve", "reject", "approve"]

    async def test_an_amendment_needs_a_reason_and_a_decision_of_the_same_person(self, store):
        await store.reviews.open([review()])
        await decided(store)
        with pytest.raises(InputError, match="needs a reason"):
            await store.reviews.amend(decision(outcome=Outcome.REJECT), now=NOW)
        with pytest.raises(ReviewError, match="nothing to amend"):
            await store.reviews.amend(decision(reviewer="bob", outcome=Outcome.REJECT, reason="x"), now=NOW)

    async def test_an_amendment_of_a_decision_that_was_amended_meanwhile_is_refused(self, store):
        await store.reviews.open([review()])
        first = (await decided(store)).decisions[0]
        await store.reviews.amend(decision(outcome=Outcome.REJECT, reason="x"), now=NOW)
        late = decision(outcome=Outcome.CANNOT_TELL, reason="y", amends=first.decision_id)
        with pytest.raises(ReviewError, match="amended the decision meanwhile"):
            await store.reviews.amend(late, now=NOW)


async def test_comments_are_kept_in_order_and_forgotten_with_the_item(store):
    await store.reviews.open([review(content={"stage": {"output": "x"}}, subject="case")])
    await decided(store)
    await store.reviews.comment(Comment(review_id="r1", author="ada", at=NOW, text="see page 3"))
    await store.reviews.amend(decision(outcome=Outcome.REJECT, reason="quotes the text"), now=NOW)
    state = await store.reviews.comment(Comment(review_id="r1", author="bob", at=NOW + 1, text="agreed"))
    assert [(one.author, one.text) for one in state.comments] == [("ada", "see page 3"), ("bob", "agreed")]
    with pytest.raises(ReviewError, match="there is no review"):
        await store.reviews.comment(Comment(review_id="r9", author="ada", at=NOW, text="x"))
    await store.forget("item-r1")
    state = await store.reviews.get("r1", now=NOW)
    assert "page 3" not in state.model_dump_json()
    assert "quotes the text" not in state.model_dump_json()
    assert [one.outcome for one in state.decisions] == [Outcome.REJECT]


class TestAssignment:
    async def test_an_assigned_review_is_offered_first_and_to_nobody_else(self, store):
        await store.reviews.open([review("r1", margin=0.01), review("r2", margin=0.3)])
        assert await store.reviews.assign(["r2"], "bob", by="eve", now=NOW) == 1
        assert await store.reviews.assign(["r2"], "bob", by="eve", now=NOW) == 0
        assert await claimed(store, "bob") == "r2"
        assert await claimed(store, "ada") == "r1"
        await store.reviews.release("r2", "bob", now=NOW)
        with pytest.raises(ReviewError, match="assigned to bob"):
            await claimed(store, "ada", review_id="r2")
        page = await store.reviews.page(ReviewFilter(assigned="bob"), now=NOW)
        assert [one.review.review_id for one in page.reviews] == ["r2"]
        await store.reviews.assign(["r2"], "bob", by="eve", now=NOW, on=False)
        assert await claimed(store, "ada", review_id="r2") == "r2"

    async def test_one_unknown_review_assigns_none(self, store):
        await store.reviews.open([review("r1")])
        with pytest.raises(ReviewError, match="there is no review"):
            await store.reviews.assign(["r1", "r9"], "bob", by="eve", now=NOW)
        assert (await store.reviews.get("r1", now=NOW)).assigned == ()


async def test_progress_counts_what_is_left_for_the_person_and_times_decisions(store):
    await store.reviews.open([review(f"r{i}") for i in range(5)])
    await store.reviews.assign(["r4"], "bob", by="eve", now=NOW)
    for name, bulk in (("r0", False), ("r1", True)):
        await claimed(store, review_id=name, now=NOW - 12)
        await store.reviews.decide(decision(name, bulk=bulk), now=NOW)
    found = await store.reviews.progress("ada", now=NOW)
    assert (found.done, found.total, found.seconds, found.timed) == (2, 4, 12.0, 1)
    assert str(found) == "2 of 4, median 12 s a decision (n 1)"
    assert (await store.reviews.progress("bob", now=NOW)).total == 3


async def test_reviews_of_one_item_are_found(store):
    await store.reviews.open([review("r1", item_id="q"), review("r2", item_id="q"), review("r3")])
    page = await store.reviews.page(ReviewFilter(item_id="q"), now=NOW)
    assert [one.review.review_id for one in page.reviews] == ["r1", "r2"]
