"""A store in which judgments were decided under a guarantee, and people's decisions on them."""

from metajudge import Engine
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.guarantee import Guarantee, Procedure
from metajudge.calibration.table import build_table
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import HumanDecision, Outcome, ReviewStatus
from tests.doubles.crowds import crowd

SIGNALS = ["order", "strength", "peers"]


def promise(threshold=0.6, **changes):
    """A guaranteed threshold, as a look at labels gives it."""
    numbers = {"questions": 60, "kept": 40, "errors": 2, "precision": 0.95, "lower": 0.85, "coverage": 0.66}
    numbers |= {"target": 0.8, "delta": 0.1, "unit": "one_per_question", "seed": 0}
    return Guarantee(**{"threshold": threshold, "procedure": Procedure(grid=(threshold,)), **numbers, **changes})


def guaranteed():
    """A calibration with a guaranteed threshold for its three judges together."""
    return fit_calibration(build_table(crowd(60), SIGNALS), repeats=1).with_guarantee(promise())


async def vetted(store, calibration, judgments, share=1.0):
    """Assessments by id; ``share`` of what the policy decides by itself is drawn for people."""
    found = {}
    async with Engine(
        store=store, strategy="signals", calibration=calibration, policy="verdict", audit_share=share
    ) as engine:
        await engine.vet_all(judgments, on_result=lambda _, one, result: found.update({one.id: result}))
    return found


async def decide(store, right):
    """Decides every open review: ``right`` says of each whether the verdict is right, None for no clear answer."""
    words = {True: Outcome.APPROVE, False: Outcome.REJECT, None: Outcome.CANNOT_TELL}
    page = await store.reviews.page(ReviewFilter(status=ReviewStatus.OPEN), now=0.0, limit=5_000)
    made = [
        HumanDecision(
            review_id=one.review.review_id,
            reviewer="ada",
            outcome=words[right(one.review)],
            decided_at=one.review.opened_at + 1,
        )
        for one in page.reviews
    ]
    return await store.reviews.import_decisions(made)
