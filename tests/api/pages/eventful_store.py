"""A store in which a lot happened: judgments, cases, a clash, proposals, an alarm, failed runs and requests."""

import time

from metajudge.clashes.reviews import review_of_clash
from metajudge.decision import load_policy
from metajudge.errors import FailureKind
from metajudge.feedback.backtest import Backtest, Difference
from metajudge.feedback.changes import Proposal
from metajudge.feedback.loop import _proposal_id
from metajudge.feedback.metrics import Pattern
from metajudge.outcomes.model import Sent
from metajudge.reviews.opening import review_of
from metajudge.store import RunRecord, open_store
from tests.api.pages.filled_store import case_review, made_assessment, made_clash, made_judgment
from tests.reviewables.planted import run
from tests.store.conftest import Records


def made_proposal(*, better=True, now=0.0):
    """A proposal for ``verdict_score`` with a bound that is higher; refused unless it is better."""
    base = load_policy("verdict_score")
    data = base.model_dump(mode="json")
    data["title"] = f"{data['title']}, {'stricter' if better else 'changed'}"
    policy = type(base).model_validate(data)
    rate = Difference(value=-0.12, low=-0.2, high=-0.03, active_n=60, proposal_n=50)
    none = Difference(value=None, low=None, high=None, active_n=0, proposal_n=0)
    test = Backtest(
        kind="threshold",
        direction="too_lenient",
        better=better,
        reason="the false-approve rate falls" if better else "no rate changes beyond noise",
        cases=200,
        questions=180,
        folds=5,
        seed=0,
        confidence=0.995,
        false_approve=rate,
        false_reject=none,
    )
    cases = ("case-a", "case-b")
    pattern = Pattern(
        direction="too_lenient",
        kind="criterion",
        where="completeness",
        category=None,
        shift=3.1,
        n=20,
        p_value=1.9e-6,
        significant=True,
        text="completeness is scored too leniently by 3.1 (20 corrections)",
    )
    return Proposal(
        proposal_id=_proposal_id(base.digest, policy, "too_lenient", cases),
        name="verdict_score",
        base_digest=base.digest,
        kind="threshold",
        direction="too_lenient",
        change="approve from a score of 4.7, not 4.5",
        policy=policy,
        patterns=(pattern,),
        backtest=test,
        cases=cases,
        created_at=now,
        status="proposed" if better else "refused",
    )


def _call(number, *, failed=False, **changes):
    said = {"status": "failed", "failure_kind": FailureKind.RATE_LIMITED, "failure_message": "slow down"}
    given = {**said, "usage": None, "cost_usd": None} if failed else {"cost_usd": 0.01}
    return Records().call(number, None if failed else "a reply", started_at=time.time() - 60, **given | changes)


async def _fill(path, count):
    now = time.time()
    store = await open_store(path)
    try:
        await store.start_run(RunRecord("run-1", "vet", now - 500, "running", {"panel": "default"}))
        await store.outcomes.register("0123456789abcdef", "hooks.example", now=now - 500)
        reviews = [case_review(), review_of_clash(made_clash(), now=now - 3600)]
        for number in range(count):
            judgment = made_judgment(number)
            assessment = made_assessment(judgment, number)
            await store.save_assessment(f"key-{number}", judgment, assessment, "run-1")
            found = review_of(judgment, assessment, now=now - 7200 + number, scale=(1, 5))
            reviews += [] if found is None else [found]
        await store.reviews.open(reviews)
        for number in range(6):
            store.record_call(_call(number, model="fox-2", failed=number < 2))
        store.record_call(_call(9, model="bear-1", cost_usd=None))
        await store.finish_run("run-1", "failed", now, {"assessed": count})
        await store.outcomes.collect_all()
        (event,) = await store.outcomes.claim("0123456789abcdef", now=now, limit=1)
        refused = Sent(
            receiver="0123456789abcdef", delivered=False, attempts=5, status=500, reason="it answered 500", ended_at=now
        )
        await store.outcomes.sent(event.number, refused)
        log = store.audit_log
        for name, action in (("case-1", "REVIEW"), ("case-2", "APPROVE"), ("case-2", "APPROVE")):
            record = {"case_id": name, "case_digest": "e" * 64, "decision": {"action": action}}
            await log.append("case", name, record, now=now)
        for better in (True, False):
            proposal = made_proposal(better=better, now=now)
            await log.append("proposal", proposal.name, proposal.model_dump(mode="json"), now=now)
        await log.append("promise.broken", "promise-7", {"target": 0.9}, now=now)
        await log.append("change", "mine", {"action": "policy.put", "by": "boss", "request_id": "r"}, now=now)
        await log.append("seen", "seen j1/owl-large", {"reviewer": "Ada", "session": None}, now=now)
    finally:
        await store.close()


def fill_eventful(path, count=8):
    """Fills the store at a path."""
    run(_fill(path, count))
