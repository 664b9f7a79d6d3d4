"""The loop over a store: it proposes, a person activates, and everything is on record."""

from dataclasses import replace

import pytest

from metajudge.decision.load import load_policy
from metajudge.decision.policy import Policy
from metajudge.errors import InputError, PolicyError
from metajudge.feedback.cases import Direction
from metajudge.feedback.loop import FeedbackLoop
from metajudge.reviews.review import HumanDecision, PolicyUsed, Review
from metajudge.store import open_store
from metajudge.types import parse_verdict
from tests.doubles.decided_cases import crowd

VERDICT = load_policy("verdict")
USED = PolicyUsed(name=VERDICT.name, digest=VERDICT.digest)


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path / "loop.duckdb")
    yield opened
    await opened.close()


@pytest.fixture
def loop(store):
    clock = iter(range(1000, 10**9))
    return FeedbackLoop(store, clock=lambda: float(next(clock)))


async def decided(store, cases, policy=VERDICT, used=USED):
    """Reviews and decisions as people would have left them."""
    from metajudge.feedback.cases import replayed

    cases = replayed(policy, cases)
    reviews = [
        Review(
            review_id=one.case_id,
            subject_id=one.case_id,
            subject_digest=one.case_id,
            item_id=one.question,
            question=one.question,
            judge="owl",
            action=one.action,
            policy=used,
            probability=one.probability,
            verdict=parse_verdict("A>B"),
            opened_at=1.0,
        )
        for one in cases
    ]
    await store.reviews.open(reviews)
    await store.reviews.import_decisions(
        [
            HumanDecision(
                review_id=one.case_id, reviewer="ada", outcome=one.decisions[0].outcome, decided_at=2.0, policy=used
            )
            for one in cases
        ]
    )
    return cases


async def test_metrics_of_what_people_decided(store, loop):
    cases = await decided(store, crowd(200, 1))
    report = await loop.report("verdict")
    assert report.cases == 200
    approved = [one for one in cases if one.action == "APPROVE"]
    assert report.overall["false_approve_rate"].n == len(approved)
    assert report.disagreements[Direction.TOO_LENIENT] == sum(not one.right for one in approved)
    assert list(report.by_version) == [VERDICT.digest]


async def test_a_better_version_is_proposed_and_in_force_only_once_somebody_says_so(store, loop):
    await decided(store, crowd(800, 6, bias=0.25))
    found = await loop.propose("verdict")
    better = [one for one in found if one.status == "proposed"]
    assert better, [one.backtest.reason for one in found]
    assert await loop.active("verdict") == VERDICT
    done = await loop.activate(better[0].proposal_id, by="ada", reason="too lenient")
    assert (await loop.active("verdict")).digest == better[0].policy.digest == done.digest
    (kept,) = await loop.activations("verdict")
    assert (kept.by, kept.reason, kept.base_digest, kept.backtest) == (
        "ada",
        "too lenient",
        VERDICT.digest,
        better[0].backtest,
    )
    assert len(await loop.cases("verdict")) == 800  # decided under the old version, and still there
    assert {one.policy_digest for one in await loop.cases("verdict")} == {VERDICT.digest}


async def test_what_is_not_better_is_refused_and_cannot_be_activated(store, loop):
    await decided(store, crowd(400, 3, noise=None))
    found = await loop.propose("verdict")
    assert found
    assert {one.status for one in found} == {"refused"}
    with pytest.raises(InputError, match="is refused"):
        await loop.activate(found[0].proposal_id, by="ada")
    assert await loop.active("verdict") == VERDICT
    assert await loop.activations() == []


async def test_a_proposal_for_an_old_version_is_refused(store, loop):
    await decided(store, crowd(800, 6, bias=0.25))
    better = [one for one in await loop.propose("verdict") if one.status == "proposed"]
    await loop.activate(better[0].proposal_id, by="ada")
    with pytest.raises(InputError, match="already in force"):
        await loop.activate(better[0].proposal_id, by="ada")
    others = [one for one in better[1:] if one.policy.digest != better[0].policy.digest]
    for other in others:
        with pytest.raises(InputError, match="propose again"):
            await loop.activate(other.proposal_id, by="ada")


@pytest.mark.parametrize("name", ["", "  "])
async def test_somebody_must_answer_for_an_activation(store, loop, name):
    await decided(store, crowd(800, 6, bias=0.25))
    better = [one for one in await loop.propose("verdict") if one.status == "proposed"]
    with pytest.raises(InputError, match="give the name of who"):
        await loop.activate(better[0].proposal_id, by=name)


@pytest.mark.slow
async def test_a_new_backtest_counts_when_it_says_no(store, loop):
    """People who change their mind after the proposal keep it from being activated."""
    await decided(store, crowd(800, 6, bias=0.25))
    better = [one for one in await loop.propose("verdict") if one.status == "proposed"]
    noise = [replace(one, case_id=f"n{one.case_id}", question=f"n{one.question}") for one in crowd(3000, 3, noise=None)]
    await decided(store, noise)
    again = await loop.backtest(better[0].proposal_id)
    assert again.cases == 3800
    if not again.better:
        with pytest.raises(InputError, match="is refused"):
            await loop.activate(better[0].proposal_id, by="ada")


async def test_patterns_are_due_every_so_many_disagreements(store, loop):
    assert not await loop.due("verdict")
    await decided(store, crowd(400, 3))
    assert await loop.due("verdict")
    await loop.propose("verdict")
    assert not await loop.due("verdict")
    with pytest.raises(InputError, match="at least 1"):
        await loop.due("verdict", 0)


async def test_the_same_cases_give_the_same_proposals_once(store, loop):
    await decided(store, crowd(400, 3))
    first = await loop.propose("verdict")
    again = await loop.propose("verdict")
    assert [one.proposal_id for one in first] == [one.proposal_id for one in again]
    assert len(await loop.proposals("verdict")) == len(first)


async def test_a_policy_whose_file_is_gone_is_still_known(store, loop):
    mine = Policy.model_validate({**VERDICT.model_dump(mode="json"), "name": "mine"})
    await loop.register(mine)
    await loop.register(mine)
    assert len(await store.audit_log.entries("policy", "mine")) == 1
    assert (await loop.active("mine")).digest == mine.digest


@pytest.mark.slow
async def test_an_activation_changed_by_hand_decides_nothing(store, loop):
    await decided(store, crowd(800, 6, bias=0.25))
    better = next(one for one in await loop.propose("verdict") if one.status == "proposed")
    await loop.activate(better.proposal_id, by="ada")
    (entry,) = await store.audit_log.entries("activation")
    lax = {**entry.payload, "policy": {**entry.payload["policy"], "title": "Everything passes"}}
    await store.audit_log.append("activation", "verdict", lax, now=5.0)
    with pytest.raises(PolicyError, match="changed by hand"):
        await loop.active("verdict")
    broken = {**entry.payload, "policy": {**entry.payload["policy"], "bands": []}}
    await store.audit_log.append("activation", "verdict", broken, now=6.0)
    with pytest.raises(PolicyError, match="changed by hand"):
        await loop.active("verdict")


async def test_a_proposal_changed_by_hand_is_not_activated(store, loop):
    await decided(store, crowd(800, 6, bias=0.25))
    better = next(one for one in await loop.propose("verdict") if one.status == "proposed")
    changed = better.model_dump(mode="json")
    changed["proposal_id"] = "0123456789ab"
    changed["policy"]["title"] = "Everything passes"
    await store.audit_log.append("proposal", "verdict", changed, now=5.0)
    with pytest.raises(InputError, match="differs from what was proposed"):
        await loop.activate("0123456789ab", by="mallory")


async def test_the_policies_present_are_those_that_people_decided_about(loop, store):
    assert await loop.policies() == []
    await loop.register(VERDICT)
    assert await loop.policies() == ["verdict"], "it decided, though nobody has reviewed anything"
    score = load_policy("verdict_score")
    used = PolicyUsed(name=score.name, digest=score.digest)
    await decided(store, crowd(4, seed=1), used=used)
    assert await loop.policies() == ["verdict_score"]
