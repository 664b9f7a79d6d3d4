"""Figures over facts, against counting them one by one, on both databases."""

import math
import random
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from metajudge.evidence.counting import Counts, fate_of
from metajudge.store import labelled
from metajudge.store.labelled import PairCount, Scope, Step, Steps
from metajudge.store.line_facts import Fact, short
from tests.api.pages.filled_store import made_agent, made_assessment, made_judgment


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


async def test_judges_who_contradict_themselves_name_no_winner(store) -> None:
    rows = [("x", "a", "A"), ("x", "a", "B"), ("x", "b", "A"), ("x", "c", ""), ("x", "d", None), (None, "b", "A")]
    items = {"x": 7, None: None}
    await put(
        store, [fact(n, item=items[item], judge=judge, answer=said) for n, (item, judge, said) in enumerate(rows)]
    )
    found = await store.ask(lambda c: labelled.judge_pairs(c, Scope(0.0, "p", {}, "all")))
    assert found == [PairCount("a", "b", 1, 0), PairCount("a", "c", 1, 1), PairCount("b", "c", 1, 0)]


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


async def test_judges_of_grades_agree_by_response(store) -> None:
    rows = [("a", "A", "3"), ("a", "B", "1"), ("b", "A", "3"), ("b", "B", "2")]
    await put(
        store,
        [
            fact(n, item=1, judge=judge, graded=of, answer=said, kind="grade")
            for n, (judge, of, said) in enumerate(rows)
        ],
    )
    found = await store.ask(lambda c: labelled.judge_pairs(c, Scope(0.0, "p", {}, "all")))
    assert found == [PairCount("a", "b", 2, 1)]


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
