"""The review queue in a store: nobody's decision is lost, nothing is decided twice, and all that was said stays."""

import asyncio
import random

import pytest

from metajudge.decision import load_policy
from metajudge.errors import InputError, ReviewError
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import Comment, HumanDecision, Outcome, PolicyUsed, Review, ReviewOrigin, ReviewStatus
from metajudge.store.reviews import spellings_in
from metajudge.types import parse_verdict

NOW = 1_000_000.0
POLICY = PolicyUsed(name="careful", digest="p1")


def review(name="r1", **changes):
    fields = {
        "review_id": name,
        "subject_id": f"judgment-{name}",
        "subject_digest": f"digest-{name}",
        "item_id": f"item-{name}",
        "judge": "owl",
        "category": "Math",
        "action": "REVIEW",
        "policy": POLICY,
        "opened_at": NOW,
    }
    return Review(**fields | changes)


def decision(name="r1", reviewer="ada", outcome=Outcome.APPROVE, **changes):
    return HumanDecision(review_id=name, reviewer=reviewer, outcome=outcome, decided_at=NOW, **changes)


async def claimed(store, reviewer="ada", now=NOW, **options):
    found = await store.reviews.claim(reviewer, now=now, **options)
    return None if found is None else found.review.review_id


class TestOrder:
    async def test_priority_then_margin_then_age(self, store):
        await store.reviews.open(
            [
                review("old", opened_at=NOW - 9),
                review("urgent", priority=0, margin=0.4),
                review("close", margin=0.01),
                review("far", margin=0.3),
                review("young", opened_at=NOW - 1),
            ]
        )
        found = []
        while (name := await claimed(store)) is not None:
            found.append(name)
            await store.reviews.decide(decision(name), now=NOW)
        assert found == ["urgent", "close", "far", "old", "young"]

    async def test_pages_go_through_the_whole_queue_once(self, store):
        await store.reviews.open([review(f"r{i:02}", margin=i % 3 / 10) for i in range(23)])
        names, cursor = [], None
        while True:
            page = await store.reviews.page(ReviewFilter(), now=NOW, limit=5, cursor=cursor)
            names += [one.review.review_id for one in page.reviews]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(names) == len(set(names)) == 23

    async def test_a_wrong_cursor_is_an_error(self, store):
        with pytest.raises(InputError, match="no page continues"):
            await store.reviews.page(ReviewFilter(), now=NOW, cursor="nowhere")

    async def test_filters(self, store):
        await store.reviews.open([review("a"), review("b", judge="wren"), review("c", category="Code")])
        assert await claimed(store, wanted=ReviewFilter(judge="wren")) == "b"
        page = await store.reviews.page(ReviewFilter(status=ReviewStatus.OPEN, category="Code"), now=NOW)
        assert [one.review.review_id for one in page.reviews] == ["c"]
        mine = await store.reviews.page(ReviewFilter(reviewer="ada"), now=NOW)
        assert [one.review.review_id for one in mine.reviews] == ["b"]


class TestClaims:
    async def test_opening_again_changes_nothing(self, store):
        assert await store.reviews.open([review(), review("r2")]) == 2
        assert await store.reviews.open([review(priority=0), review("r3")]) == 1
        assert (await store.reviews.get("r1", now=NOW)).review.priority == 1

    async def test_rows_are_opened_as_reviews_are(self, store):
        many = [review(f"r{i:02}", margin=None if i % 2 else i / 10, judge=None, policy=None) for i in range(20)]
        assert await store.reviews.open_rows([one.row for one in many]) == 20
        new = review("new", priority=0, origin=ReviewOrigin.AUDIT, inclusion=0.05, action="APPROVE")
        again = [review("r03", priority=0).row, review("new").row, new.row]
        assert await store.reviews.open_rows(again) == 1
        assert await store.reviews.open_rows([]) == 0
        assert (await store.reviews.get("new", now=NOW)).review == new
        assert [(await store.reviews.get(one.review_id, now=NOW)).review for one in many] == many

    async def test_asking_again_renews_the_own_lease(self, store):
        await store.reviews.open([review(), review("r2")])
        assert await claimed(store, "ada", lease_s=10) == "r1"
        assert await claimed(store, "ada", now=NOW + 5, lease_s=10) == "r1"
        state = await store.reviews.get("r1", now=NOW + 12)
        assert state.status is ReviewStatus.CLAIMED

    async def test_an_expired_lease_frees_the_review(self, store):
        await store.reviews.open([review()])
        assert await claimed(store, "ada", lease_s=10) == "r1"
        assert await claimed(store, "bob", now=NOW + 11) == "r1"

    async def test_deciding_on_an_expired_lease_is_refused_and_nothing_is_recorded(self, store):
        await store.reviews.open([review()])
        await claimed(store, "ada", lease_s=10)
        with pytest.raises(ReviewError, match="expired") as caught:
            await store.reviews.decide(decision(), now=NOW + 11)
        assert caught.value.reason == "lease_expired"
        assert (await store.reviews.get("r1", now=NOW + 11)).decisions == ()

    @pytest.mark.parametrize("lease_s", [0, -1, float("nan"), float("inf"), 1e300])
    async def test_a_lease_lasts_and_ends_and_one_that_does_not_leaves_the_store_in_order(self, store, lease_s):
        await store.reviews.open([review()])
        with pytest.raises(InputError, match="a lease lasts above 0 s and up to 30 days"):
            await store.reviews.claim("ada", now=NOW, lease_s=lease_s)
        assert await claimed(store, "bob") == "r1"

    @pytest.mark.parametrize("name", ["", "  ", "a" * 201, "a\x00b"])
    async def test_a_name_that_is_none_is_refused(self, store, name):
        with pytest.raises(InputError, match="not a valid reviewer name"):
            await store.reviews.claim(name, now=NOW)

    async def test_space_around_a_name_makes_no_second_person(self, store):
        await store.reviews.open([review(reviewers=2)])
        assert await claimed(store, "ada") == "r1"
        await store.reviews.decide(decision(), now=NOW)
        assert await claimed(store, "ada ") is None

    async def test_a_claimed_review_is_given_to_no_other_reviewer(self, store):
        await store.reviews.open([review()])
        assert await claimed(store, "ada") == "r1"
        assert await claimed(store, "bob") is None
        with pytest.raises(ReviewError, match="claimed by others") as caught:
            await store.reviews.claim("bob", review_id="r1", now=NOW)
        assert caught.value.reason == "claimed_by_other"


class TestDecisions:
    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"outcome": "modify"}, "needs the corrected verdict or scores"),
            ({"outcome": "approve", "verdict": "A>B"}, "cannot carry a corrected verdict"),
            ({"outcome": "approve", "reviewer": ""}, "at least 1 character"),
            ({"outcome": "modify", "scores": {"accuracy": float("nan")}}, "finite number"),
        ],
    )
    def test_a_decision_that_makes_no_sense(self, fields, said):
        with pytest.raises(ValueError, match=said):
            HumanDecision(**{"review_id": "r", "reviewer": "ada", "decided_at": NOW, **fields})

    async def test_survive_closing(self, reopen):
        opened = await reopen()
        await opened.reviews.open([review()])
        await claimed(opened)
        said = decision(outcome=Outcome.MODIFY, verdict=parse_verdict("B>A"), scores={"accuracy": 2.0}, reason="no")
        await opened.reviews.decide(said, now=NOW)
        again = await reopen(opened)
        kept = said.model_copy(update={"seconds": 0.0})
        assert (await again.reviews.get("r1", now=NOW)).decisions == (kept,)

    async def test_forgetting_the_item_takes_the_words_and_keeps_the_decision(self, store):
        await store.reviews.open([review(content={"question": "secret words"})])
        await claimed(store)
        await store.reviews.decide(decision(reason="because of the secret words"), now=NOW)
        assert await store.forget("item-r1") == 2
        state = await store.reviews.get("r1", now=NOW)
        assert "secret" not in state.model_dump_json()
        assert state.decisions[0].outcome is Outcome.APPROVE

    async def test_another_decision_on_a_decided_review_is_refused(self, store):
        await store.reviews.open([review()])
        await claimed(store)
        await store.reviews.decide(decision(), now=NOW)
        for other in (decision(outcome=Outcome.REJECT), decision(reviewer="bob")):
            with pytest.raises(ReviewError, match="decided") as caught:
                await store.reviews.decide(other, now=NOW)
            assert caught.value.reason == "decided"


class TestImport:
    async def test_all_or_none(self, store):
        await store.reviews.open([review("a"), review("b")])
        with pytest.raises(ReviewError, match="nope"):
            await store.reviews.import_decisions([decision("a"), decision("nope")])
        assert (await store.reviews.counts(now=NOW))[ReviewStatus.DECIDED] == 0
        assert await store.reviews.import_decisions([decision("a"), decision("b")]) == 2
        (made,) = (await store.reviews.get("a", now=NOW)).decisions
        assert made.policy == POLICY, "the version that it judged"
        assert await store.reviews.import_decisions([decision("a", origin="import")]) == 0

    async def test_a_contradiction_is_refused(self, store):
        await store.reviews.open([review("a")])
        await store.reviews.import_decisions([decision("a")])
        with pytest.raises(ReviewError, match="already decided"):
            await store.reviews.import_decisions([decision("a", outcome=Outcome.REJECT)])


@pytest.mark.slow
async def test_many_reviewers_at_once_lose_nothing_and_decide_nothing_twice(store):
    """200 items, eight reviewers at once, with leases that expire and reviews given back."""
    await store.reviews.open([review(f"r{i:03}", margin=i % 7 / 10) for i in range(200)])
    clock = [NOW]
    refused = []

    async def work(name, seed):
        rng = random.Random(seed)
        while True:
            state = await store.reviews.claim(name, now=clock[0], lease_s=30)
            if state is None:
                return
            draw = rng.random()
            await asyncio.sleep(0)
            if draw < 0.05:
                clock[0] += 31  # everybody's lease expires
            try:
                if draw > 0.95:
                    await store.reviews.release(state.review.review_id, name, now=clock[0])
                else:
                    await store.reviews.decide(decision(state.review.review_id, name), now=clock[0])
            except ReviewError as error:
                refused.append(error.reason)

    await asyncio.gather(*(work(f"reviewer{i}", i) for i in range(8)))
    page = await store.reviews.page(ReviewFilter(), now=clock[0], limit=1000)
    assert len(page.reviews) == 200
    assert {len(one.decisions) for one in page.reviews} == {1}
    assert set(refused) <= {"lease_expired", "not_claimed", "decided"}
    assert refused


async def test_the_audit_log_keeps_what_was_appended(store):
    first = await store.audit_log.append("activation", "careful", {"by": "ada"}, now=NOW)
    await store.audit_log.append("activation", "other", {"by": "bob"}, now=NOW + 1)
    assert await store.audit_log.entries("activation", "careful") == [first]
    assert [one.payload["by"] for one in await store.audit_log.entries("activation")] == ["ada", "bob"]
    assert [one.payload["by"] for one in await store.audit_log.entries("activation", limit=1)] == ["bob"]
    assert await store.audit_log.entries("proposal") == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scores": {"acuracy": 2.0}}, "did you mean accuracy"),
        ({"scores": {"accuracy": 7.0}}, "off the scale from 1 to 5"),
        ({"verdict": parse_verdict("A>C")}, "names C"),
    ],
)
async def test_a_correction_of_what_was_never_judged_is_refused_in_hand_and_in_files(store, changes, words):
    shown = {"criteria": {"accuracy": 3.0, "clarity": 4.0}, "scale": (1.0, 5.0), "verdict": parse_verdict("A>B")}
    await store.reviews.open([review("r1", **shown), review("r2", **shown)])
    await claimed(store, review_id="r1")
    with pytest.raises(InputError, match=words):
        await store.reviews.decide(decision("r1", outcome=Outcome.MODIFY, **changes), now=NOW)
    with pytest.raises(InputError, match=words):
        await store.reviews.import_decisions([decision("r2"), decision("r1", outcome=Outcome.MODIFY, **changes)])
    assert (await store.reviews.counts(now=NOW))[ReviewStatus.DECIDED] == 0
    assert (await store.reviews.get("r1", now=NOW)).status is ReviewStatus.CLAIMED, "still in hand"


async def decided(store, name="r1", **changes):
    await claimed(store, review_id=name)
    return await store.reviews.decide(decision(name, **changes), now=NOW + 7)


class TestAmendments:
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


def own_policy():
    """A policy with a profile that no built-in policy has."""
    data = load_policy("risk_analysis").model_dump(mode="json")
    profile = {**data["cases"]["profiles"][0], "name": "finance", "types": ["financier", "Banking"]}
    data["cases"]["profiles"] = [*data["cases"]["profiles"], profile]
    return type(load_policy("risk_analysis")).model_validate({**data, "name": "own"})


async def test_a_stored_policy_s_names_for_a_category_are_one(store) -> None:
    policy = own_policy()
    await store.reviews.open([review("a", category="financier"), review("b", category="FINANCE"), review("c")])

    async def found(category):
        page = await store.reviews.page(ReviewFilter(category=category), now=NOW)
        return {one.review.review_id for one in page.reviews}

    assert await found("banking") == set()
    await store.audit_log.append(
        "policy", "own", {"digest": policy.digest, "policy": policy.model_dump(mode="json")}, now=1
    )
    await store.audit_log.append("policy", "broken", {"policy": {"cases": {"profiles": [1]}}}, now=2)
    assert await found("banking") == {"a", "b"}
    assert await found("Finance") == {"a", "b"}
    names = await store.ask(lambda connection: spellings_in(connection, "climatique"))
    assert set(names) == {"climatique", "climate", "climatic"}
