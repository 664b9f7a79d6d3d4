"""What waits for a person, in both databases."""

from metajudge.reviews.review import HumanDecision, Outcome, Review
from metajudge.store.overview import Undecided, undecided_by


def review(name: str, reviewers: int = 1) -> Review:
    about = {"subject_id": f"judgment {name}", "subject_digest": "d", "item_id": f"item {name}"}
    return Review(review_id=name, **about, action="REVIEW", opened_at=1.0, reviewers=reviewers)


async def test_a_review_waits_until_the_person_or_enough_others_have_decided(store) -> None:
    await store.reviews.open([review("one"), review("two", 2), review("three")])
    for name, person in (("one", "ada"), ("two", "ada")):
        await store.reviews.claim(person, now=2.0, review_id=name)
        made = HumanDecision(review_id=name, reviewer=person, outcome=Outcome.APPROVE, decided_at=3.0)
        await store.reviews.decide(made, now=3.0)

    async def waiting(person: str | None) -> Undecided:
        return await store.ask(lambda connection: undecided_by(connection, person))

    assert (await waiting("ada")).subjects == {"judgment three"}
    assert (await waiting("bob")).subjects == {"judgment two", "judgment three"}
    assert (await waiting(None)).items == {"item two", "item three"}
