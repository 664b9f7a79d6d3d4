"""The review queue in a store: nobody's decision is lost, nothing is decided twice."""

import asyncio
import random

import pytest

from metajudge.errors import InputError, ReviewError
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import HumanDecision, Outcome, PolicyUsed, Review, ReviewOrigin, ReviewStatus
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

    async def test_what_somebody_has_is_not_given_to_another(self, store):
        await store.reviews.open([review()])
        assert await claimed(store, "ada") == "r1"
        assert await claimed(store, "bob") is None
        with pytest.raises(ReviewError, match="claimed by others") as caught:
            await store.reviews.claim("bob", review_id="r1", now=NOW)
        assert caught.value.reason == "claimed_by_other"

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

    async def test_given_back_it_is_open_again(self, store):
        await store.reviews.open([review()])
        await claimed(store, "ada")
        await store.reviews.release("r1", "ada", now=NOW + 1)
        assert await claimed(store, "bob", now=NOW + 1) == "r1"
        with pytest.raises(ReviewError, match="nothing to release"):
            await store.reviews.release("r1", "ada", now=NOW + 2)

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


class TestDecisions:
    async def test_unknown(self, store):
        with pytest.raises(ReviewError, match="there is no review 'nope'") as caught:
            await store.reviews.decide(decision("nope"), now=NOW)
        assert caught.value.reason == "unknown"

    async def test_without_a_claim(self, store):
        await store.reviews.open([review()])
        with pytest.raises(ReviewError, match="claim it before deciding"):
            await store.reviews.decide(decision(), now=NOW)

    async def test_the_same_decision_again_is_the_same_decision(self, store):
        await store.reviews.open([review()])
        await claimed(store)
        first = await store.reviews.decide(decision(), now=NOW)
        again = await store.reviews.decide(decision().model_copy(update={"decided_at": NOW + 9}), now=NOW + 9)
        assert first == again
        assert first.status is ReviewStatus.DECIDED

    async def test_another_decision_on_a_decided_review_is_refused(self, store):
        await store.reviews.open([review()])
        await claimed(store)
        await store.reviews.decide(decision(), now=NOW)
        for other in (decision(outcome=Outcome.REJECT), decision(reviewer="bob")):
            with pytest.raises(ReviewError, match="decided") as caught:
                await store.reviews.decide(other, now=NOW)
            assert caught.value.reason == "decided"

    async def test_several_reviewers_decide_one_review_apart(self, store):
        await store.reviews.open([review(reviewers=2)])
        assert [await claimed(store, name) for name in ("ada", "bob", "eve")] == ["r1", "r1", None]
        await store.reviews.decide(decision(reviewer="ada"), now=NOW)
        assert await claimed(store, "ada") is None
        state = await store.reviews.decide(decision(reviewer="bob", outcome=Outcome.REJECT), now=NOW)
        assert state.status is ReviewStatus.DECIDED
        assert [one.outcome for one in state.decisions] == [Outcome.APPROVE, Outcome.REJECT]

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
