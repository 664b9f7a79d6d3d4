"""Clashes before people: what a blind reviewer sees, and decisions as calls."""

import pytest

from metajudge.clashes.clash import Clash, Judge, evaluate
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.reviews import calls_of, clash_decision, clashes_in, labelled_calls, open_reviews
from metajudge.clashes.sheet import blind_texts, in_labels, ranking_by_label
from metajudge.errors import InputError
from metajudge.reviews.review import ReviewOrigin
from metajudge.types import Item, Ranking
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import panel, question, ranks_by

LABELS = {"R1": "x", "R2": "y", "R3": "z"}


async def record(responses, **settings):
    judges = tuple(Judge(name, ranks_by(len, name=name)) for name in ("one", "two"))
    (found,) = await evaluate(Item(id="q", question="?", responses=responses), Clash(judges, **settings))
    return found


async def test_names_are_hidden_from_a_person_also_where_the_run_did_not_hide_them_or_is_of_an_earlier_version():
    texts = {"gpt-4o": "As GPT-4 by OpenAI, I say 4.", "b": "I am Claude from Anthropic."}
    shown = await record(texts, hide_identities=False)
    old = ClashRecord.model_validate({k: v for k, v in shown.model_dump(mode="json").items() if k != "blinding"})
    assert old.blinding is None
    for found in (await record(texts), shown, old):
        assert blind_texts(found) == {
            "gpt-4o": "As [name hidden] by [name hidden], I say 4.",
            "b": "I am [name hidden] from [name hidden].",
        }


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("R2>R1>R3", (("y",), ("x",), ("z",))),
        ("R2 > R1 = R3", (("y",), ("x", "z"))),
        ("R2>>R1>R3", (("y",), ("x",), ("z",))),
        ("R3", (("z",), ("x", "y"))),
        ("z>x>y", (("z",), ("x",), ("y",))),
        ("R1=R2=R3", (("x", "y", "z"),)),
    ],
)
def test_a_verdict_by_label_or_by_name_is_a_ranking_of_candidates(text, groups):
    assert ranking_by_label(text, LABELS) == Ranking(groups)


@pytest.mark.parametrize("text", ["R1>R2", "R1>R2>R3>R3", "R1>x>z", "", ">", "R4", "R1>>>R2>R3=", "A>B"])
def test_a_verdict_that_does_not_rank_every_answer_once_is_refused_with_an_example(text):
    with pytest.raises(InputError, match="R1>R2>R3"):
        ranking_by_label(text, LABELS)


def test_labels_in_prose_are_whole_words():
    assert in_labels("A1 beats A10, not XA1 or A1B", {"A1": "R2"}) == "R2 beats A10, not XA1 or A1B"


# Clashes in the review queue, and people's decisions as calls.
async def unanimous(id="u"):
    return await one(question(id), two_models(LONG, LONG))


async def split(id="s"):
    return await one(question(id), panel(ranks_by(LONG), ranks_by(LONG), ranks_by(SHORT)))


def two_models(*preferences):
    return panel(*(ranks_by(preference, name=f"m{n}") for n, preference in enumerate(preferences)))


class TestOpening:
    async def test_divided_evaluations_enter_once_and_unanimous_ones_by_sample(self, store):
        records = [await split(), await unanimous()]
        first = await open_reviews(store, records)
        assert list(first) == ["s"]
        assert await open_reviews(store, records) == first
        both = await open_reviews(store, records, sample=1.0)
        assert sorted(both) == ["s", "u"]
        found = {state.review.subject_id: state.review for state in await clashes_in(store)}
        assert (found["u"].origin, found["u"].inclusion) == (ReviewOrigin.AUDIT, 1.0)

    async def test_a_sample_is_drawn_by_the_record_alone(self, store):
        records = [await unanimous(f"u{n}") for n in range(60)]
        drawn = await open_reviews(store, records, sample=0.5)
        assert await open_reviews(store, records[::-1], sample=0.5) == drawn
        assert 15 <= len(drawn) <= 45

    async def test_records_that_are_not_to_be_added_are_only_looked_up(self, store):
        records = [await split("a"), await split("b")]
        await open_reviews(store, records[:1])
        assert list(await open_reviews(store, records, adding=())) == ["a"]
        assert list(await open_reviews(store, records, adding=[records[1].key])) == ["a", "b"]
        assert await open_reviews(None, [await split()]) == {}, "without a store nothing is opened"


class TestCalls:
    async def test_blind_decisions_labels_and_no_verdict(self, store):
        await open_reviews(store, [await split()])
        assert calls_of(await clashes_in(store)) == [], "an open review is no call"
        reviews = await open_reviews(store, [await split("a"), await split("b"), await unanimous("c")], sample=1.0)
        for name, outcome, verdict in (("a", None, "x>y"), ("b", None, "y>x"), ("c", "approve", None)):
            state = await store.reviews.claim("Ada", now=1.0, review_id=reviews[name])
            made = clash_decision(state.review, "Ada", outcome, verdict, reason="", decided_at=2.0)
            await store.reviews.decide(made, now=2.0)
        calls = {call.item: call for call in calls_of(await clashes_in(store))}
        assert {name: (call.agrees, call.panel, call.source) for name, call in calls.items()} == {
            "a": (True, "divided", "blind"),
            "b": (False, "divided", "blind"),
            "c": (True, "unanimous", "seen"),
        }

    async def test_labels_of_the_prompts_are_calls(self):
        record = (await split()).model_copy(update={"label": Ranking((("y",), ("x",)))})
        (call,) = labelled_calls([record, await unanimous()])
        assert (call.agrees, call.panel, call.source) == (False, "divided", "label")
