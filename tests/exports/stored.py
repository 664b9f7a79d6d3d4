"""Stores with vetted judgments, policies' actions and people's decisions."""

import asyncio

from metajudge.exports import ExportRequest, export
from metajudge.reviews.review import HumanDecision, PolicyUsed, Review
from metajudge.store import open_store
from tests.exports.vetted import assessment, rows_of

POLICY = PolicyUsed(name="strict", digest="d" * 32)


def vetted(said, action=None, accepted=True, **changes):
    """What vetting said of a judgment, with a policy's action where one is given."""
    return assessment(said, accepted, action, **changes)


def review(said, *, reviewers=1, policy=POLICY):
    """A review of a judgment."""
    return Review(
        review_id=Review.id_for(said.digest, policy),
        subject_id=said.id,
        subject_digest=said.digest,
        item_id=said.item.id,
        judge=said.judge,
        action="REVIEW",
        policy=policy,
        opened_at=1.0,
        reviewers=reviewers,
        verdict=said.verdict,
    )


def filled(path, records, reviews=(), forget=()):
    """Makes a store.

    Args:
        records: pairs of a judgment and its assessment, or triples with the run.
        reviews: triples of a judgment, what people said (``approve``, ``reject``, ``cannot_tell`` or a verdict), and
            options of the review.
        forget: items.
    """

    async def fill():
        store = await open_store(path)
        for number, (said, found, *run) in enumerate(records):
            await store.save_assessment(f"key-{number}", said, found, run[0] if run else "run")
        for said, voices, *options in reviews:
            one = review(said, **(options[0] if options else {}))
            await store.reviews.open([one])
            found = [_decided(one.review_id, voice, number) for number, voice in enumerate(voices)]
            if found:
                await store.reviews.import_decisions(found)
        for item in forget:
            await store.forget(item)
        await store.close()

    asyncio.run(fill())
    return path


def _decided(review_id, voice, number):
    plain = voice in ("approve", "reject", "cannot_tell")
    return HumanDecision(
        review_id=review_id,
        reviewer=f"person-{number}",
        outcome=voice if plain else "modify",
        verdict=None if plain else voice,
        decided_at=2.0 + number,
    )


def exported_from(store, out, **options):
    """Exports a store; returns the result and the rows by item."""
    result = export(out, ExportRequest(**options), store=store)
    return result, {row["item_id"]: row for row in rows_of(out)}
