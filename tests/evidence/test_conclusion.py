"""The last sentences of a reasoning that ends without a mark."""

import pytest

from metajudge.evidence.text_verdict import NoTextVerdict, read_favoured, read_text_verdict
from metajudge.judging.pairwise import PairwiseJudge
from metajudge.judging.records import combined_judgment, judgment_of
from metajudge.providers.scripted import ScriptedModel
from tests.doubles.judging import item, verdict
from tests.doubles.judgments import judgment
from tests.evidence.verdicts import rationale_agreement

AB = (("A", "first"), ("B", "second"))


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("My answer is 4. Response A is correct, while response B makes an error.", "first"),
        ("Therefore, response B's answer is more accurate and helpful.", "second"),
        ("Response B provides a more precise solution than response A.", "second"),
        ("I find response A's explanation superior.", "first"),
        ("Response B gives the right answer, and response A gives a wrong one.", "second"),
        ("Response A outperforms response B. This matters to the person.", "first"),
        ("Only the sum counts here.\nResponse B is stronger than response A.", "second"),
    ],
)
def test_the_favoured_response_is_read(text, winner):
    assert read_favoured(text, AB).winner == winner
    swapped = text.translate(str.maketrans("AB", "BA")).replace("Bn ", "An ")
    assert read_favoured(swapped, AB).winner == {"first": "second", "second": "first"}[winner]


@pytest.mark.parametrize(
    "text",
    [
        "Response A is more detailed, but response B is concise.",
        "Response A is not more accurate.",
        "I do not find response A more helpful.",
        "Both response A and response B are more accurate than expected.",
        "Response A is correct. Response B is correct.",
        "Response A is more accurate, response B is more helpful.",
        "Response A is correct.",
        "Response A makes the more relevant mistake.",
        "Response A says that response B's sum is incorrect, and it is correct.",
        "Response A is more accurate and complete because it",  # breaks off
        "Response A is more accurate. Response B adds a table.",
        "Response B is better organised.",
        "The more accurate one is hard to name.",
        "Compared with response A, much is missing.",
    ],
)
def test_what_names_no_single_winner_is_left_open(text):
    assert read_favoured(text, AB) is None


def test_it_is_no_verdict_to_be_recorded():
    assert isinstance(read_text_verdict("Response A is more accurate than response B.", AB), NoTextVerdict)


def test_a_fixed_form_goes_first():
    text = "The winner is response A. Response B is more accurate."
    assert rationale_agreement(judgment(rationale=text)).state == "agree"


@pytest.mark.parametrize(("mark", "state"), [("A>B", "agree"), ("B>>A", "contradict"), ("A=B", "contradict")])
async def test_the_signal_speaks_for_our_own_judges_output(mark, state):
    said = verdict(mark, "2 + 2 is 4. Response A says so; it is correct, while response B is wrong.")
    game = await PairwiseJudge("owl", ScriptedModel([said])).compare(item(), ("A", "B"))
    assert rationale_agreement(judgment_of(game)).state == state


async def test_the_texts_of_two_games_have_no_one_label_for_a_response():
    said = [verdict(mark, f"Response {mark[0]} is more accurate.") for mark in ("A>B", "B>A")]
    judge = PairwiseJudge("owl", ScriptedModel(said))
    games = [await judge.compare(item(), order) for order in (("A", "B"), ("B", "A"))]
    assert rationale_agreement(combined_judgment(games, "agree")).state == "no_text_verdict"
