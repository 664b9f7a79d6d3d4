"""Facts of each line, and figures over them, as counted one by one on both databases."""

import asyncio
import itertools
import math
import random
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from metajudge.evidence.counting import Counts, fate_of
from metajudge.store import labelled, line_facts
from metajudge.store.labelled import PairCount, Scope, Step, Steps
from metajudge.store.line_facts import TIE, Fact, short
from metajudge.types import Judgment
from tests.api.pages.filled_store import made_agent, made_assessment, made_judgment
from tests.store.blocks import keep, save_all, write_some

GRADED = {"id": "graded", "question": "Is it good?", "responses": {"A": "one"}, "label": 4.0}


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
    await save_all(store, *((one, made_assessment(one, 0)) for one in judgments))
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
    await save_all(store, *((one, made_assessment(one, 0)) for one in judgments))
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


def fact(number, **changes):
    values = {
        "number": number,
        "assessment_id": number,
        "judgment": short(f"d{number}"),
        "item": number // 3,
        "created_at": 100.0 * number,
        "final_score": 3.0,
        "probability": 0.5,
        "threshold": 4.5,
        "accepted": True,
        "correct": None,
        "panel_digest": "p",
        "judge": "owl",
        "policy": None,
        "kind": "pairwise",
        "graded": None,
        "answer": "A",
        "question": number // 5,
    }
    return Fact(**{**values, **changes})


async def put(store, facts):
    await store.change(lambda c: c.insert("line_facts", Fact._fields, list(facts)))


def made(rng):
    for number in range(1, 401):
        yield fact(
            number,
            item=None if number % 29 == 0 else rng.randrange(60),
            final_score=None if number % 17 == 0 else rng.choice([rng.uniform(1, 5), round(rng.uniform(1, 5), 1)]),
            probability=None if number % 13 == 0 else rng.choice([rng.random(), round(rng.random(), 1), 1.0]),
            correct=None if number % 5 == 0 else rng.random() < 0.6,
            panel_digest=rng.choice("ppq"),
            judge=rng.choice(("owl", "jay", "crow")),
            accepted=rng.choice((True, False, None)),
            threshold=rng.choice((4.5, 4.0)),
            policy=rng.choice((None, "verdict")),
            kind=rng.choice(("pairwise", "grade", None)),
            graded=rng.choice((None, "A", "B")),
            answer=rng.choice((None, "A", "B", "")),
            question=None if number % 31 == 0 else rng.randrange(30),
        )


def question_of(one):
    return next(key for key in (one.question, one.item, one.judgment) if key is not None)


def label(one, people, source):
    said = None if source == "truth" else people.get(one.judgment)
    return one.correct if said is None and source != "people" else said


def step_of(number, basis):
    """Scores in ((k - 1) / 100, k / 100], probabilities in [k / 100, (k + 1) / 100), float noise aside."""
    return math.ceil(round(number * 100, 7)) if basis == "score" else math.floor(round(number * 100, 7))


@pytest.mark.parametrize("source", ["all", "people", "truth"])
async def test_every_figure_is_as_counted_one_by_one(store, source) -> None:
    rng = random.Random(source)
    facts = list(made(rng))
    await put(store, facts)
    decided = {f"d{number}": rng.random() < 0.5 for number in range(1, 400, 7)}
    people = {short(digest): right for digest, right in decided.items()}
    scope = Scope(3_000.0, "p", decided, source)
    chosen = [one for one in facts if one.panel_digest == "p" and one.created_at >= 3_000]
    known = {one.number: said for one in chosen if (said := label(one, people, source)) is not None}
    for basis, name in (("score", "final_score"), ("probability", "probability")):
        counts = defaultdict(lambda: [0, 0, 0])
        for one in chosen:
            if getattr(one, name) is not None:
                row = counts[step_of(getattr(one, name), basis)]
                row[0] += 1
                row[1] += one.number in known
                row[2] += known.get(one.number, False)
        there = [one for one in chosen if getattr(one, name) is not None]
        found = await store.ask(lambda c, basis=basis: labelled.steps(c, scope, basis))
        assert replace(found, changes=()) == Steps(
            tuple(Step(value, *row) for value, row in sorted(counts.items())),
            len(chosen) - len(there),
            len({question_of(one) for one in there if one.number in known}),
        )
        lowest = sorted(counts)[len(counts) // 2]
        above = [one for one in there if one.number in known and step_of(getattr(one, name), basis) >= lowest]
        kinds = Counter()
        for value, *kind, change in found.changes:
            kinds[tuple(kind)] += change * (value >= lowest)
        assert +kinds == kinds_of(above, known)
    await check_tenths(store, scope, [one for one in chosen if one.number in known], known)
    groups = await store.ask(lambda c: labelled.groups(c, scope))
    assert {(g.judge, g.accepted, g.kind, g.threshold, g.policy): g.n for g in groups} == {
        key: len(some) for key, some in grouped(chosen).items()
    }
    found = await store.ask(lambda c: labelled.counts(c, scope))
    assert found.keys() == {None, "owl", "jay", "crow"}
    for judge, rows in found.items():
        counts = Counts()
        for one in chosen:
            if judge in (None, one.judge):
                tie = one.answer == "" and one.kind == "pairwise"
                said = "no_verdict" if one.kind is None else "undecided" if tie else "decided"
                code = int(known[one.number]) if one.kind and one.number in known else -2
                counts.count("", question_of(one) % 2**64, said, fate_of(one.accepted), code)
        assert rows == counts.rows()


def kinds_of(facts, known):
    """(right, all) of a question -> how many questions have them."""
    questions = defaultdict(list)
    for one in facts:
        questions[question_of(one)].append(known[one.number])
    return Counter((sum(some), len(some)) for some in questions.values())


def grouped(facts):
    found = defaultdict(list)
    for one in facts:
        found[one.judge, bool(one.accepted), one.kind, one.threshold, one.policy].append(one.number)
    return found


async def check_tenths(store, scope, facts, known) -> None:
    questions = defaultdict(list)
    totals = Counter()
    for one in facts:
        if one.probability is not None:
            place = min(int(one.probability * 10), 9)
            questions[place, question_of(one)].append(known[one.number])
            totals[place] += one.probability
    kinds = defaultdict(Counter)
    for (place, _), some in questions.items():
        kinds[place][sum(some), len(some)] += 1
    found = await store.ask(lambda c: labelled.tenths(c, scope))
    assert {one.place: one.kinds for one in found} == kinds
    assert [one.place for one in found] == sorted(kinds)
    assert all(one.total == pytest.approx(totals[one.place]) for one in found)
    assert sum(one.n for one in found) == sum(len(some) for some in questions.values())


async def test_float_noise_moves_nothing_over_its_step(store) -> None:
    noises = (0.0, 1e-12, -1e-12, 4e-10)
    await put(store, [fact(n, final_score=4.5 + noise, probability=0.7 + noise) for n, noise in enumerate(noises)])
    scope = Scope(0.0, "p", {}, "all")
    for basis, value in (("score", 450), ("probability", 70)):
        found = await store.ask(lambda c, basis=basis: labelled.steps(c, scope, basis))
        assert [(one.value, one.n) for one in found.steps] == [(value, 4)]


async def test_agreement_of_judges_is_as_counted_one_by_one(store, monkeypatch) -> None:
    facts = [one for one in made(random.Random(5)) if one.panel_digest == "p"]
    await put(store, facts)
    answers = defaultdict(set)
    for one in facts:
        if one.item is not None and one.answer is not None:
            answers[one.item, one.graded, one.judge].add(one.answer)
    said = {key: min(some) if len(some) == 1 else "" for key, some in answers.items()}
    n, same = Counter(), Counter()
    for (item, graded, judge), answer in said.items():
        for other in ("crow", "jay", "owl"):
            if judge < other and (item, graded, other) in said:
                n[judge, other] += 1
                same[judge, other] += answer == said[item, graded, other]
    scope = Scope(0.0, "p", {}, "all")
    found = await store.ask(lambda c: labelled.judge_pairs(c, scope))
    assert found == [PairCount(*pair, n[pair], same[pair]) for pair in sorted(n)]
    monkeypatch.setattr(labelled, "COMPARED", 2)
    busy = Counter(one.judge for one in facts if one.item is not None and one.answer is not None)
    busiest = sorted(name for name, _ in busy.most_common(2))
    few = await store.ask(lambda c: labelled.judge_pairs(c, scope))
    assert few == [one for one in found if [one.first, one.second] == busiest]


async def test_agents_agree_where_they_are_on_the_same_side_of_the_threshold(store, monkeypatch) -> None:
    scores = [(5.0, 4.75), (4.5, 1.0), (4.5 + 1e-12, 5.0), (1.0, 5.0)]
    for number, (first, second) in enumerate(scores):  # exactly at the threshold is not above it
        agents = (made_agent("a", "m", (first,) * 4), made_agent("b", "m", (second,) * 4))
        judgment = made_judgment(number)
        await store.save_assessment(f"k{number}", judgment, made_assessment(judgment, number, agents=agents), "run-1")
    await store.line_facts.add_missing()
    found = await store.ask(lambda c: labelled.agent_pairs(c, Scope(0.0, "p" * 64, {}, "all")))
    assert found == [PairCount("a", "b", 4, 2)]
    assert await store.ask(lambda c: labelled.agent_pairs(c, Scope(0.0, "q", {}, "all"))) == []


async def test_an_empty_store_has_no_figures(store) -> None:
    scope = Scope(0.0, "p", {"d1": True}, "all")
    await store.line_facts.add_missing()
    assert await store.ask(lambda c: labelled.steps(c, scope, "score")) == Steps((), 0, 0)
    for figures in (labelled.tenths, labelled.groups, labelled.judge_pairs, labelled.agent_pairs):
        assert await store.ask(lambda c, figures=figures: figures(c, scope)) == []
