"""The loop over a store: it proposes, a person activates, and everything is on record."""

import asyncio
from dataclasses import replace

import pytest

from metajudge.decision.load import load_policy
from metajudge.errors import InputError, PolicyError
from metajudge.feedback.backtest import ChangeKind, backtest, moved_threshold
from metajudge.feedback.cases import Direction, replayed
from metajudge.feedback.loop import ACTIVATION, FRESH_S, FeedbackLoop, PoliciesInForce
from metajudge.feedback.metrics import metrics
from metajudge.reviews.review import HumanDecision, PolicyUsed, Review
from metajudge.stats.intervals import wilson
from metajudge.types import parse_verdict
from tests.doubles.decided_cases import POLICY, SCORES, case, crowd, said
from tests.doubles.waiting import Clock

VERDICT = load_policy("verdict")
USED = PolicyUsed(name=VERDICT.name, digest=VERDICT.digest)


@pytest.fixture
def loop(store):
    clock = iter(range(1000, 10**9))
    return FeedbackLoop(store, clock=lambda: float(next(clock)))


async def decided(store, cases, policy=VERDICT, used=USED):
    """Reviews and decisions as people would have left them."""
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


async def better(store, loop):
    """Proposals that are better, over a crowd that finds the policy too lenient."""
    await decided(store, crowd(800, 6, bias=0.25))
    return [one for one in await loop.propose("verdict") if one.status == "proposed"]


async def test_a_better_version_is_proposed_and_in_force_only_once_somebody_says_so(store, loop):
    first, *_ = await better(store, loop)
    assert await loop.active("verdict") == VERDICT
    done = await loop.activate(first.proposal_id, by="ada", reason="too lenient")
    assert (await loop.active("verdict")).digest == first.policy.digest == done.digest
    (kept,) = await loop.activations("verdict")
    evidence = (kept.base_digest, kept.backtest)
    assert (kept.by, kept.reason, *evidence) == ("ada", "too lenient", VERDICT.digest, first.backtest)
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


async def test_a_proposal_for_an_old_version_and_one_that_nobody_answers_for_are_refused(store, loop):
    first, *others = await better(store, loop)
    for name in ("", "  "):
        with pytest.raises(InputError, match="give the name of who"):
            await loop.activate(first.proposal_id, by=name)
    await loop.activate(first.proposal_id, by="ada")
    with pytest.raises(InputError, match="already in force"):
        await loop.activate(first.proposal_id, by="ada")
    for other in (one for one in others if one.policy.digest != first.policy.digest):
        with pytest.raises(InputError, match="propose again"):
            await loop.activate(other.proposal_id, by="ada")


@pytest.mark.slow
async def test_a_new_backtest_counts_when_it_says_no(store, loop):
    """People who change their mind after the proposal keep it from being activated."""
    first, *_ = await better(store, loop)
    noise = [replace(one, case_id=f"n{one.case_id}", question=f"n{one.question}") for one in crowd(3000, 3, noise=None)]
    await decided(store, noise)
    again = await loop.backtest(first.proposal_id)
    assert again.cases == 3800
    if not again.better:
        with pytest.raises(InputError, match="is refused"):
            await loop.activate(first.proposal_id, by="ada")


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


@pytest.mark.slow
async def test_an_activation_changed_by_hand_decides_nothing(store, loop):
    first, *_ = await better(store, loop)
    await loop.activate(first.proposal_id, by="ada")
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
    first, *_ = await better(store, loop)
    changed = first.model_dump(mode="json")
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


# Which version of a policy decides, remembered until something may have changed it.


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def policies(store, clock):
    return PoliciesInForce(store, clock)


async def activate(store, policy):
    record = {"digest": policy.digest, "policy": policy.model_dump(mode="json")}
    await store.audit_log.append(ACTIVATION, policy.name, record, now=1.0)


def stricter(policy):
    data = policy.model_dump(mode="json")
    data["bands"] = [{**band, "action": "REJECT"} for band in data["bands"]]
    return type(policy).model_validate(data)


async def test_what_is_put_in_force_here_decides_the_very_next_vet(store, policies):
    first = await policies.named("verdict")
    new = stricter(first)
    await activate(store, new)
    assert (await policies.named("verdict")).digest == new.digest != first.digest


async def test_what_another_process_puts_in_force_is_seen_in_time(store, policies, clock):
    first = await policies.named("verdict")
    await policies.named("verdict")
    new = stricter(first)
    store.audit_log.appended = lambda _kind: 0  # as if this process had not done it
    await policies.named("verdict")
    await activate(store, new)
    assert (await policies.named("verdict")).digest == first.digest
    clock.now += FRESH_S
    assert (await policies.named("verdict")).digest == new.digest


async def test_one_put_in_force_while_it_is_looked_up_is_not_missed(store, policies):
    first = await policies.named("verdict")
    new = stricter(first)
    looking = asyncio.create_task(policies.named("verdict"))
    await asyncio.sleep(0)
    await activate(store, new)
    await looking
    assert (await policies.named("verdict")).digest == new.digest


async def test_an_unknown_one_stays_an_error(policies):
    for _ in range(2):
        with pytest.raises(PolicyError):
            await policies.named("nothing")


# Changes of policy: replayed as decided, fitted in the right direction, refused when they are luck.
class TestBacktest:
    def test_a_real_improvement_is_found(self):
        found = backtest(ChangeKind.THRESHOLD, Direction.TOO_LENIENT, POLICY, crowd(3000, 6, bias=0.15))
        assert found.better, found.reason
        assert found.false_approve.high < 0

    @pytest.mark.slow
    def test_and_holds_on_cases_nobody_fitted_on(self):
        new = moved_threshold(POLICY, crowd(1000, 6, bias=0.15), Direction.TOO_LENIENT)
        fresh = crowd(4000, 7, bias=0.15)
        before, after = metrics(fresh), metrics(replayed(new, fresh))
        assert after["false_approve_rate"].high < before["false_approve_rate"].low

    def test_deciding_less_is_no_better(self):
        """A recalibration that approves nothing any more has no false approvals, and is refused for it."""
        found = backtest(ChangeKind.RECALIBRATION, Direction.TOO_STRICT, POLICY, crowd(1000, 0, noise=None))
        assert not found.better
        assert "deciding less is no better" in found.reason or "beyond noise" in found.reason

    def test_the_same_seed_gives_the_same_answer_and_too_few_questions_are_an_error(self):
        cases = crowd(300, 8)
        assert backtest(ChangeKind.THRESHOLD, Direction.TOO_LENIENT, POLICY, cases, seed=3) == backtest(
            ChangeKind.THRESHOLD, Direction.TOO_LENIENT, POLICY, cases, seed=3
        )
        with pytest.raises(InputError, match="too few to show that a policy is better"):
            backtest(ChangeKind.THRESHOLD, Direction.TOO_LENIENT, POLICY, crowd(20, 0))

    def test_cases_of_one_question_stay_on_one_side(self, monkeypatch):
        """A question's copies would make luck look sure: the fit would know the answers it is tested on."""
        cases = [replace(one, question=f"q{i % 60}") for i, one in enumerate(crowd(600, 9))]
        seen = []

        def remembering(_policy, train, _direction):
            seen.append({one.question for one in train})

        monkeypatch.setattr("metajudge.feedback.backtest.FITS", {ChangeKind.THRESHOLD: remembering})
        backtest(ChangeKind.THRESHOLD, Direction.TOO_LENIENT, POLICY, cases)
        held_out = [{f"q{i}" for i in range(60)} - train for train in seen]
        assert sorted(name for part in held_out for name in part) == sorted(f"q{i}" for i in range(60))

    @pytest.mark.slow
    @pytest.mark.timeout(1200)
    def test_pure_noise_is_refused(self):
        """60 times 1,000 decisions that know nothing: the 95 % limit of wrong proposals is at most 8 %."""
        kinds, ways = (ChangeKind.THRESHOLD, ChangeKind.RECALIBRATION), (Direction.TOO_LENIENT, Direction.TOO_STRICT)
        wrong = sum(
            any(backtest(kind, way, POLICY, cases, seed=seed, tried=4).better for kind in kinds for way in ways)
            for seed, cases in ((seed, crowd(1000, seed, noise=None)) for seed in range(60))
        )
        assert wilson(wrong, 60).high <= 0.08


def test_offsets_are_better_where_scores_come_nearer_though_no_action_was_wrong():
    def one(number, people):
        fixed = {"criteria": {"accuracy": 3.5 + number % 2}, "criterion_weights": {"accuracy": 1.0}, "score": 3.5}
        said_so = said(f"c{number}", "modify", scores={"accuracy": people})
        return case(f"c{number}", "REVIEW", right=False, corrected={"accuracy": people}, decisions=(said_so,), **fixed)

    cases = [one(number, 2.0 + number % 2) for number in range(40)]
    found = backtest(ChangeKind.OFFSETS, Direction.TOO_LENIENT, SCORES, cases)
    assert found.better, found.reason
    assert found.score_error.value == pytest.approx(-1.5)
    assert found.score_error.active_n == 40
    luck = [one(number, 3.5 + number % 2 + (-1) ** (number // 2)) for number in range(40)]
    assert not backtest(ChangeKind.OFFSETS, Direction.TOO_LENIENT, SCORES, luck).better
