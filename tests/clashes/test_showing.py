"""What a blind reviewer sees of a clash, and what a verdict by label means."""

import pytest

from metajudge.clashes.clash import Clash, Judge, evaluate
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.sheet import blind_texts, ranking_by_label
from metajudge.errors import InputError
from metajudge.types import Item, Ranking
from tests.doubles.ranking import ranks_by

LABELS = {"R1": "x", "R2": "y", "R3": "z"}


async def record(responses, **settings):
    judges = tuple(Judge(name, ranks_by(len, name=name)) for name in ("one", "two"))
    (found,) = await evaluate(Item(id="q", question="?", responses=responses), Clash(judges, **settings))
    return found


async def test_names_are_hidden_from_a_person_although_the_run_did_not_hide_them():
    texts = {"gpt-4o": "As GPT-4 by OpenAI, I say 4.", "b": "4"}
    for found in (await record(texts), await record(texts, hide_identities=False)):
        assert blind_texts(found)["gpt-4o"] == "As [name hidden] by [name hidden], I say 4."


async def test_names_are_hidden_from_a_person_in_a_record_of_an_earlier_version():
    data = (await record({"a": "I am Claude from Anthropic.", "b": "4"}, hide_identities=False)).model_dump(mode="json")
    del data["blinding"]
    found = ClashRecord.model_validate(data)
    assert found.blinding is None
    assert blind_texts(found)["a"] == "I am [name hidden] from [name hidden]."


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
