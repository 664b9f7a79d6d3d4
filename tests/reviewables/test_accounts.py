"""What a store has under a name, told to a person: complete, without a result where people have to decide blind."""

import asyncio

import pytest

from metajudge.decision import load_policy
from metajudge.decision.policy import ReviewRule
from metajudge.reviewables.accounts import account_of
from metajudge.store import open_store
from metajudge.store.forgetting import affected
from metajudge.types import Judgment
from metajudge.vetting.demo import sample_text
from metajudge.vetting.engine import Engine

NAME = "code-4/kestrel-mini/BA"


@pytest.fixture(scope="module")
def judgments():
    records = [Judgment.model_validate_json(line) for line in sample_text().splitlines()]
    return [one for one in records if one.item.id == "code-4"]


def told(folder, judgments, *names, policy=None, then=None):
    """What is told under each name after a run; of ``run``, under the run's id."""

    async def main():
        path = folder / "s.duckdb"
        async with Engine(store=path, policy=policy) as engine:
            await engine.vet_all(judgments)
        store = await open_store(path)
        try:
            if then is not None:
                await then(store)
            (run,) = await store.runs(1)
            return [account_of(await store.show(run.run_id if name == "run" else name)) for name in names]
        finally:
            await store.close()

    return ["\n".join(lines) for lines in asyncio.run(main())]


@pytest.mark.slow
def test_what_people_have_to_judge_blind_is_told_without_its_result(tmp_path, judgments):
    policy = load_policy("verdict_score").model_copy(update={"review": ReviewRule(labels=True)})
    waiting = next(one for one in judgments if one.id == "code-4/osprey-70b/AB")
    judgment, run = told(tmp_path, judgments, waiting.id, "run", policy=policy)
    assert "osprey-70b" not in run, "a run's list would tell what a policy decided"
    assert f"{len(judgments)} were decided by a policy" in run
    assert "waits for a blind review" in judgment
    for secret in ("osprey-70b says", str(waiting.verdict), "score", "Rationale", "REVIEW", "label"):
        assert secret not in judgment.replace("code-4/osprey-70b/AB", ""), secret
    assert waiting.item.question.splitlines()[0][:40] in judgment


@pytest.mark.slow
def test_what_forgetting_would_redact_is_what_it_redacts(tmp_path, judgments):
    counts = {}

    async def forget(store):
        counts["before"] = await store.ask(lambda connection: affected(connection, "code-4"))
        counts["redacted"] = await store.forget("code-4")
        counts["after"] = await store.ask(lambda connection: affected(connection, "code-4"))
        counts["unknown"] = await store.ask(lambda connection: affected(connection, "nobody"))

    (gone,) = told(tmp_path, judgments, NAME, then=forget)
    assert counts["before"]["judgments"] == len(judgments)
    assert sum(counts["before"].values()) == counts["redacted"]
    assert counts["after"] == counts["unknown"] == {}
    assert "Its texts were redacted" in gone
    assert judgments[0].item.question[:30] not in gone
