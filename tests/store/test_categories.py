"""The names that a category goes by, in both databases."""

from metajudge.decision import load_policy
from metajudge.reviews.queue import ReviewFilter
from metajudge.store.reviews import spellings_in
from tests.store.test_reviews import NOW, review


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
