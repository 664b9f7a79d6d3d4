"""``metajudge review`` as a reviewer uses it."""

import time

import pytest

from metajudge import Engine
from tests.doubles.judgments import judgment, review_on
from tests.reviewables.planted import in_store

pytestmark = pytest.mark.slow  # every test is a process of its own, or several

RECORDS = [judgment(f"j{i}", verdict="A>B") for i in range(4)]


@pytest.fixture
def queue(metajudge):
    path = metajudge.folder / "metajudge.db"

    async def fill(store):
        async with Engine(store=store) as engine:
            await engine.vet_all(RECORDS)
        changes = {"probability": 0.6, "opened_at": time.time()}
        opened = [review_on(one, review_id=f"r{i}", margin=i / 10, **changes) for i, one in enumerate(RECORDS)]
        await store.reviews.open(opened)

    in_store(path, fill)
    return metajudge


def test_blind_hides_judge_and_machine_until_a_verdict_is_given(queue):
    done = queue("review", "next", "--reviewer", "ada", "--blind")
    assert "A>B" not in done.stdout
    assert RECORDS[0].judge not in done.stdout
    assert "REVIEW" not in done.stdout
    assert "0.6" not in done.stdout
    done = queue("review", "decide", "r0", "--reviewer", "ada", "--verdict", "B>A")
    assert "r0: modify by ada" in done.stdout
    assert "The judge's verdict was A>B; the policy's action was REVIEW." in done.stdout
    again = queue("review", "amend", "r0", "--reviewer", "ada", "--outcome", "approve", "--reason", "misread")
    assert "r0: approve by ada, instead of modify." in again.stdout
    shown, _ = queue.json("review", "show", "r0")
    assert [one["outcome"] for one in shown["sheet"]["record"]["history"]] == ["modify", "approve"]
    assert [one["outcome"] for one in shown["sheet"]["record"]["decisions"]] == ["approve"]


def test_assignment_bulk_and_comments(queue):
    assert "2 reviews assigned to bob." in queue("review", "assign", "bob", "--first", "2").stdout
    assert "Review r2 " in queue("review", "next", "--reviewer", "ada").stdout
    listed, _ = queue.json("review", "list", "--assigned", "bob")
    assert [one["review"]["review_id"] for one in listed["reviews"]] == ["r0", "r1"]
    for _ in range(2):
        queue("review", "claim", "r0", "--reviewer", "bob"), queue("review", "claim", "r1", "--reviewer", "bob")
    done = queue("review", "decide", "r0", "r1", "r3", "--reviewer", "bob", "--outcome", "cannot_tell")
    assert done.stdout.count("cannot_tell by bob, in bulk") == 2
    assert "r3: not recorded" in done.stderr
    assert done.returncode == 1
    queue("review", "comment", "r0", "see page 3", "--reviewer", "bob")
    assert "comment by bob: see page 3" in queue("review", "show", "r0").stdout
