"""``metajudge calibrate fit --reviews``: people's decisions as labels, with how they came about."""

import asyncio
import json

import pytest

from metajudge import Engine
from metajudge.readers import write_jsonl
from metajudge.reviews.review import HumanDecision, PolicyUsed, Review, ReviewOrigin
from metajudge.store import open_store
from tests.doubles.crowds import crowd

pytestmark = pytest.mark.slow  # every test is a process of its own, or several

USED = PolicyUsed(name="careful", digest="p1")
RECORDS = crowd(60)
UNLABELLED = [one.model_copy(update={"item": one.item.model_copy(update={"label": None})}) for one in RECORDS]


def fill(path, *, audited, decided=slice(None)):
    """A store in which people decided the judgments by their true labels."""

    async def main():
        async with Engine(store=path) as engine:
            await engine.vet_all(UNLABELLED)
        store = await open_store(path)
        pairs = list(zip(UNLABELLED, RECORDS, strict=True))[decided]
        await store.reviews.open(
            [
                Review(
                    review_id=one.id,
                    subject_id=one.id,
                    subject_digest=one.digest,
                    item_id=one.item.id,
                    action="APPROVE" if audited else "REVIEW",
                    origin=ReviewOrigin.AUDIT if audited else ReviewOrigin.POLICY,
                    inclusion=0.5 if audited else 1.0,
                    policy=USED,
                    verdict=one.verdict,
                    opened_at=1.0,
                )
                for one, _ in pairs
            ]
        )
        await store.reviews.import_decisions(
            [
                HumanDecision(
                    review_id=one.id, reviewer="ada", outcome="approve" if true.correct else "reject", decided_at=2.0
                )
                for one, true in pairs
            ]
        )
        await store.close()

    asyncio.run(main())


def fit(metajudge, *arguments):
    return metajudge("calibrate", "fit", "--reviews", "--signals", "peers", "--out", "cal.json", *arguments)


def test_labels_of_people_give_the_fit_of_true_labels(metajudge):
    fill(metajudge.folder / "metajudge.db", audited=False)
    done = fit(metajudge)
    assert done.returncode == 0, done.stderr
    assert "360 human reviews of what a policy found doubtful" in done.stdout
    assert "biased there" in done.stdout
    write_jsonl(metajudge.folder / "labelled.jsonl", RECORDS)
    metajudge("calibrate", "fit", "--data", "labelled.jsonl", "--signals", "peers", "--out", "true.json")
    mine, true = (json.loads((metajudge.folder / name).read_text()) for name in ("cal.json", "true.json"))
    stored = [
        {k: v for one in each["provenance"]["questions"].values() for k, v in one.items()} for each in (mine, true)
    ]
    assert stored[0] == pytest.approx(stored[1], abs=1e-6)
    assert "selection" in mine["provenance"]
    assert "selection" not in true["provenance"]


def test_an_audited_share_is_weighted_and_said(metajudge):
    fill(metajudge.folder / "metajudge.db", audited=True)
    done = fit(metajudge)
    assert done.returncode == 0, done.stderr
    assert "360 of them a random share" in done.stdout


def test_without_labels_it_says_where_to_get_them(metajudge):
    fill(metajudge.folder / "metajudge.db", audited=False, decided=slice(0))
    done = fit(metajudge)
    assert done.returncode == 2
    assert "metajudge review next" in done.stderr
