"""``metajudge calibrate fit --reviews``: people's decisions as labels, with how they came about."""

import json

import pytest

from metajudge import Engine
from metajudge.readers import write_jsonl
from metajudge.reviews.review import HumanDecision, PolicyUsed, ReviewOrigin
from tests.doubles.crowds import crowd
from tests.doubles.judgments import review_on
from tests.reviewables.planted import in_store

pytestmark = pytest.mark.slow  # every test is a process of its own, or several

USED = PolicyUsed(name="careful", digest="p1")
RECORDS = crowd(60)
UNLABELLED = [one.model_copy(update={"item": one.item.model_copy(update={"label": None})}) for one in RECORDS]


def fill(path, *, audited, decided=slice(None)):
    """A store in which people decided the judgments by their true labels."""

    how = {"action": "APPROVE", "origin": ReviewOrigin.AUDIT, "inclusion": 0.5} if audited else {}

    async def main(store):
        async with Engine(store=store) as engine:
            await engine.vet_all(UNLABELLED)
        opened = [review_on(one, policy=USED, verdict=one.verdict, judge=None, **how) for one in UNLABELLED[decided]]
        await store.reviews.open(opened)
        said = {one.id: "approve" if one.correct else "reject" for one in RECORDS[decided]}
        await store.reviews.import_decisions(
            [HumanDecision(review_id=name, reviewer="ada", outcome=one, decided_at=2.0) for name, one in said.items()]
        )

    in_store(path, main)


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
