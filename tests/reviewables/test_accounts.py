"""What a store has under a name, told to a person: complete, without a result where people have to decide blind."""

import asyncio
from itertools import combinations, product

import pytest

from metajudge.decision import load_policy
from metajudge.decision.policy import ReviewRule
from metajudge.reviewables.accounts import account_of, what_tips
from metajudge.store import open_store
from metajudge.store.forgetting import affected
from metajudge.types import AgentResult, Assessment, Failure, Judgment
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


# What would decide a judgment differently: the votes of a majority, the distance of a score or a probability.
NAMES = "ann", "bob", "cy", "dee", "eve"


def vetted(*scores, strategy="majority_vote", threshold=4.5, **fields):
    """An assessment of agents with these scores; None is a missing answer."""
    missing = {"failure": Failure(kind="timeout", message="late")}
    agents = [
        AgentResult(agent=name, model=name, weight=1.0, score=score, **({} if score is not None else missing))
        for name, score in zip(NAMES, scores, strict=False)
    ]
    above = sum(score is not None and score > threshold for score in scores)
    kept = 2 * above > len(scores)
    given = {"accepted": kept, "final_score": 5.0 if kept else 1.0, "rubric": "short", **fields}
    names = {"judgment_id": "j", "item_id": "i", "judge": "owl", "panel_digest": "p", "judgment_digest": "d"}
    return Assessment(
        **names,
        status="assessed",
        agents=agents,
        strategy=strategy,
        threshold=threshold,
        metajudge_version="0",
        **given,
    )


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (vetted(5, 4.6, 1), "The vote of bob (4.6) tips it: at most 4.5, 0.1 away."),
        (vetted(4.6, 4.7, 4.9), "The votes of ann (4.6), bob (4.7) tip it: at most 4.5, up to 0.2 away."),
        (
            vetted(4.6, 5, 5),
            "The vote of ann (4.6) and 1 of the votes of bob (5), cy (5) tip it: at most 4.5, up to 0.5 away.",
        ),
        (vetted(5, 1, 1, rubric="binary"), "1 of the votes of bob (1), cy (1) tips it: above 4.5."),
        (vetted(5, 1, 2, strategy="panel_discussion"), "The vote of cy (2) tips it: above 4.5, 2.5 away."),
        (
            vetted(1, None, None),
            "The vote of ann (1) and 1 of the answers that are missing tip it: above 4.5, 3.5 away.",
        ),
        (vetted(4, 4, strategy="weighted_average", final_score=4.0), "A score above 4.5: 0.5 away."),
        (vetted(4, 5, strategy="panel_discussion", final_score=4.5), "A score above 4.5: 0 away."),
        (
            vetted(1, None, strategy="weighted_average", final_score=None, score_bounds=(1.0, 3.0)),
            "A score above 4.5: at least 1.5 away, whatever the missing answers say.",
        ),
        (vetted(5, 1, probability=0.81, probability_threshold=0.9), "A probability from 0.900: 0.090 away."),
        (vetted(1, accepted=None, final_score=None), None),
    ],
)
def test_what_is_nearest_to_another_decision_is_named(one, told):
    assert what_tips(one) == told


def test_no_smaller_set_of_votes_than_the_one_named_turns_a_majority():
    for scores in product((1.0, 4.0, 4.6, 5.0), repeat=4):
        above = [score > 4.5 for score in scores]
        kept = 2 * sum(above) > 4
        fewest = next(
            size
            for size in range(5)
            for turned in combinations(range(4), size)
            if (2 * sum(vote != (at in turned) for at, vote in enumerate(above)) > 4) != kept
        )
        told = what_tips(vetted(*scores))
        parts = told.split(" tip")[0].split(" and ")
        counted = sum(int(part[0]) if part[0].isdigit() else part.count("(") for part in parts)
        assert counted == fewest, told
