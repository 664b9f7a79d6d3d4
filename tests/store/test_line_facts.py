"""Verdicts of the current versions: as the texts say, each once, complete whatever was written before."""

import asyncio
import itertools
import random

import pytest

from metajudge.store import line_facts
from metajudge.store.line_facts import TIE, Fact, short
from metajudge.types import Judgment
from tests.api.pages.filled_store import made_assessment, made_judgment
from tests.store.blocks import write_some
from tests.store.test_bulk import keep

GRADED = {"id": "graded", "question": "Is it good?", "responses": {"A": "one"}, "label": 4.0}


async def save(store, *pairs):
    """All in one commit, in this order."""
    await asyncio.gather(
        *(store.save_assessment(f"{one.id}-{said.panel_digest}", one, said, "run-1") for one, said in pairs)
    )


async def facts_of(store) -> list[Fact]:
    """The table as it is, by number."""
    query = f"SELECT {', '.join(Fact._fields)} FROM line_facts ORDER BY number"
    return [Fact(*row) for row in await store.ask(lambda connection: connection.execute(query).fetchall())]


async def completed(store) -> list[Fact]:
    await store.line_facts.add_missing()
    return await facts_of(store)


@pytest.mark.slow
async def test_right_is_what_the_judgment_itself_says(store) -> None:
    verdicts = ["A>B", "A>>B", "B>A", "A=B", "B=A", [["A"], ["B"]], [["A", "B"]], [["B"], ["A"]]]
    labels = ["A>B", "B>>A", "A=B", [["A"], ["B"]], [["A", "B"]], 3.0, None]
    judgments = []
    for number, (verdict, label) in enumerate(itertools.product(verdicts, labels)):
        data = made_judgment(number).model_dump(mode="json")
        data |= {"verdict": verdict, "item": {**data["item"], "label": label}}
        judgments.append(Judgment.model_validate(data))
    judgments.append(made_judgment(99, responses={"A": "one"}, verdict=4.0, order=["A"], item=GRADED))
    await save(store, *((one, made_assessment(one, 0)) for one in judgments))
    facts = {fact.judgment: fact for fact in await completed(store)}
    assert len(facts) == len(judgments)
    for one in judgments:
        fact, said = facts[short(one.digest)], made_assessment(one, 0)
        assert fact.correct == one.correct
        assert fact.answer == (str(one.verdict) if not one.verdict.ids else one.verdict.winner or TIE)
        assert fact.item == short(one.item.digest)
        assert (fact.final_score, fact.probability, fact.threshold, fact.accepted, fact.judge, fact.policy) == (
            *(said.final_score, said.probability, said.threshold, said.accepted, one.judge),
            said.decision and said.decision.policy,
        )


async def test_grades_and_categories_are_answers_on_one_response_and_peoples_labels_count(store) -> None:
    labels = [{"value": "fail", "annotator": name} for name in ("ann", "ben")] + [{"value": True}]
    item = {"id": "two", "question": "?", "responses": {"A": "one", "B": "two"}, "labels": labels}
    single = {"item": item, "order": ["B"]}
    judgments = [
        made_judgment(1, verdict="Pass", **single),
        made_judgment(2, verdict=False, **single),
        made_judgment(3, verdict=3.5, **single),
        made_judgment(4, verdict=None, no_verdict="it refused", **single),
    ]
    await save(store, *((one, made_assessment(one, 0)) for one in judgments))
    assert [(one.kind, one.graded, one.answer, one.correct) for one in await completed(store)] == [
        ("category", "B", "pass", False),
        ("category", "B", "false", True),
        ("grade", "B", "3.5", None),
        (None, None, None, None),
    ]


async def test_after_any_writes_and_at_any_time_facts_are_those_of_lines(store, reopen, records, monkeypatch) -> None:
    monkeypatch.setattr(line_facts, "_BITS", 2)
    rng = random.Random(4)
    judgments = [records.judgment(n) for n in range(6)]
    await keep(store, *judgments)
    for number in range(14):
        await write_some(store, rng, rng.sample(judgments, k=rng.randrange(1, 4)), number)
        lines = await store.ask(lambda c: [n for (n,) in c.execute("SELECT number FROM lines ORDER BY 1").fetchall()])
        assert {fact.number for fact in await facts_of(store)} <= set(lines)
        if rng.random() < 0.5:
            assert [fact.number for fact in await completed(store)] == lines
        if number == 7:
            before = await completed(store)
            await store.forget("item-1")
            assert await completed(store) == before
            store = await reopen(store)
            assert await facts_of(store) == before
    newest = dict(await store.newest_assessments())
    facts = await completed(store)
    assert [(fact.number, fact.final_score, fact.probability, fact.panel_digest) for fact in facts] == [
        (number, one.final_score, one.probability, one.panel_digest) for number, one in newest.items()
    ]


async def test_two_who_add_the_same_add_it_once(store, records, monkeypatch) -> None:
    for number in range(3):
        judgment = records.judgment(number)
        await store.save_assessment(f"key-{number}", judgment, records.assessment(judgment), "run-1")
    await asyncio.gather(*(store.line_facts.add_missing() for _ in range(3)))
    assert [fact.number for fact in await facts_of(store)] == [1, 2, 3]


async def test_a_line_that_is_gone_by_then_gets_no_facts(store, records) -> None:
    judgment = records.judgment(0)
    first = records.assessment(judgment)
    await store.save_assessment("key", judgment, first, "run-1")
    adding = store.line_facts
    read = await adding._found(0)
    await store.save_assessment("key", judgment, first.model_copy(update={"final_score": 4.6}), "run-2")
    await adding._add(0, read)
    assert await facts_of(store) == []
    assert [fact.final_score for fact in await completed(store)] == [4.6]
