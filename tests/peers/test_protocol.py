"""One answer, one ballot: what the models see, what is stored, and what a key depends on."""

import asyncio
import json
import re
from dataclasses import replace

import pytest

from metajudge.errors import AuthError, BudgetExceeded, InputError, ModelTimeoutError
from metajudge.judging.blinding import blind
from metajudge.judging.judges import ranking_request
from metajudge.peers import read_human_rankings
from metajudge.peers.protocol import (
    answer_key,
    answer_question,
    asked_alike,
    ballot_key,
    blinding_of,
    peers_of,
    rank_answers,
    ranking_settings,
)
from metajudge.providers.model import Parameters, request_key
from metajudge.providers.scripted import ScriptedModel
from metajudge.reading.questions import Question

QUESTION = Question(id="q1", question="What is 2 + 2?")


LEAKING = {"alpha": "As GPT-4 by OpenAI I say 4.", "beta": "I am Claude from Anthropic: 5", "gamma": "4"}


ANSWERS = {"alpha": "As alpha-model I say 4.", "beta": "5", "gamma": ""}


def peer(script=(), name="alpha", model="alpha-model", **changes):
    (one,) = peers_of([(name, ScriptedModel(script, name=model), Parameters())], ("alpha-model", "beta-model"))
    return replace(one, **changes)


def in_order(request):
    """Ranks the labels as they are shown."""
    labels = re.findall(r"## Response (A\d)", request.messages[0].text)
    reply = {"comparison": "As shown.", "ranking": " > ".join(labels)}
    if '"scores"' in request.system:
        keys = re.findall(r"## (c\d),", request.messages[0].text)
        grades = {key: {"reason": "", "score": 4} for key in keys}
        reply = {"scores": dict.fromkeys(labels, grades), **reply}
    return json.dumps(reply)


def rank(one, answers=ANSWERS, question=QUESTION, seed=0, **options):
    return asyncio.run(rank_answers(question, answers, one, seed=seed, **options))


class TestRanking:
    def test_the_label_map_leads_back_to_the_models_whom_the_prompt_never_names(self):
        ballot = rank(peer(in_order))
        assert [one[0] for one in ballot.ranking] == list(ballot.labels.values())
        assert sorted(ballot.candidates) == ["alpha", "beta", "gamma"]
        assert ballot.seed == 0
        one = peer(in_order)
        rank(one)
        (request,) = one.model.requests
        text = request.system + request.messages[0].text
        assert "alpha" not in text
        assert "beta" not in text
        assert "As [name hidden] I say 4." in text
        assert "This response is empty" in text

    def test_the_order_shown_depends_on_seed_question_and_evaluator_and_not_on_the_order_given(self):
        base = rank(peer(in_order)).labels
        turned = dict(reversed(ANSWERS.items()))
        assert rank(peer(in_order), turned).labels == base
        other = [rank(peer(in_order), seed=seed).labels for seed in range(1, 8)]
        other += [rank(peer(in_order, name=f"judge {n}")).labels for n in range(8)]
        assert any(one != base for one in other[:7])
        assert any(one != base for one in other[7:])

    @pytest.mark.parametrize(
        ("error", "kind", "replied"),
        [(AuthError("no key"), "auth", False), (ModelTimeoutError("late"), "timeout", False)],
    )
    def test_a_failure_is_a_ballot_with_its_kind(self, error, kind, replied):
        ballot = rank(peer([error]))
        assert (ballot.status, ballot.failure.kind, ballot.replied) == ("failed", kind, replied)
        assert ballot.ranking is None
        assert ballot.labels is not None

    def test_a_missing_label_is_never_completed_one_answer_not_asked_and_a_spent_budget_no_failure(self):
        bad = json.dumps({"comparison": "", "ranking": "A0 > A1"})
        ballot = rank(peer([bad, bad]))
        assert (ballot.failure.kind, ballot.replied) == ("bad_reply", True)
        assert ballot.meta["reply"] == bad
        one = peer(in_order)
        ballot = rank(one, {"alpha": "4"})
        assert ballot.failure.kind == "no_evidence"
        assert one.model.requests == []
        with pytest.raises(BudgetExceeded):
            rank(peer([BudgetExceeded("spent")]))


class TestAnswers:
    def test_a_failure_is_recorded_with_its_kind_and_a_model_under_two_names_asked_twice(self):
        answer = asyncio.run(answer_question(QUESTION, peer([AuthError("no key")]), attempt=3))
        assert (answer.text, answer.failure.kind, answer.replied, answer.attempt) == (None, "auth", False, 3)
        first, second = peers_of([(name, ScriptedModel(["x"], name="m"), Parameters()) for name in ("one", "two")])
        assert first.draw != second.draw
        assert answer_key(QUESTION, first) != answer_key(QUESTION, second)


class TestKeys:
    def test_everything_a_ballot_depends_on_changes_its_key_and_neither_order_nor_a_time_out(self):
        assert ballot_key(QUESTION, ANSWERS, peer(), 0) == ballot_key(
            QUESTION, dict(reversed(ANSWERS.items())), peer(), 0
        )
        base = ballot_key(QUESTION, ANSWERS, peer(), 0)
        others = [
            ballot_key(QUESTION, {**ANSWERS, "beta": "6"}, peer(), 0),
            ballot_key(QUESTION, ANSWERS, peer(), 1),
            ballot_key(QUESTION, ANSWERS, peer(model="other"), 0),
            ballot_key(QUESTION, ANSWERS, peer(name="other"), 0),
            ballot_key(QUESTION, ANSWERS, peer(parameters=Parameters(temperature=1.0)), 0),
            ballot_key(QUESTION.model_copy(update={"question": "?"}), ANSWERS, peer(), 0),
            ballot_key(QUESTION.model_copy(update={"domain": "math"}), ANSWERS, peer(), 0),
        ]
        assert len({base, *others}) == len(others) + 1
        assert ranking_settings(peer(), 0) != ranking_settings(peer(), 1)
        patient = peer(parameters=Parameters(timeout_s=1.0))
        assert ballot_key(QUESTION, ANSWERS, patient, 0) == ballot_key(QUESTION, ANSWERS, peer(), 0)


class TestIdentities:
    def test_makers_and_families_are_hidden_and_the_ballot_says_which_and_where(self):
        one = peer(in_order)
        ballot = rank(one, LEAKING)
        prompt = one.model.requests[0].messages[0].text.lower()
        assert not [name for name in ("gpt", "openai", "claude", "anthropic") if name in prompt]
        report = blinding_of(ballot)
        assert {(found.candidate, found.text) for found in report.hidden} == {
            *(("alpha", "GPT-4"), ("alpha", "OpenAI"), ("beta", "Claude"), ("beta", "Anthropic"))
        }

    @pytest.mark.parametrize(("answers", "stands"), [({"alpha": "4", "beta": "5"}, True), (LEAKING, False)])
    def test_a_ballot_of_an_earlier_version_stands_where_nothing_more_is_hidden_today(self, answers, stands):
        one = peer(in_order)
        ballot = rank(one, answers)
        shown = blind(answers, seed=0, evaluation=QUESTION.id, judge=one.name)
        request = ranking_request(QUESTION.question, answers, shown)
        old = {**ballot.meta, "request_digest": request_key(one.model, request)}
        del old["blinding"]
        earlier = ballot.model_copy(update={"meta": old})
        assert blinding_of(earlier) is None
        assert asyncio.run(asked_alike(earlier, QUESTION, answers, one)) is stands
        assert asyncio.run(asked_alike(ballot, QUESTION, answers, one))


# Human rankings: every form, and what is no ranking.
def read(text):
    (found,) = read_human_rankings([str(text)])
    return found


def write(tmp_path, data, name="arena.json"):
    path = tmp_path / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_written_out_with_ties_a_name_and_models_that_hold_a_colon():
    found = read("gpt-4o > claude 3 = gemini/1.5>llama")
    assert (found.name, found.ranking) == ("human", (("gpt-4o",), ("claude 3", "gemini/1.5"), ("llama",)))
    found = read("arena: ollama:8b > x")
    assert (found.name, found.ranking[0]) == ("arena", ("ollama:8b",))
    assert read("ollama:8b > x").name == "human"


def test_from_a_file(tmp_path):
    assert read(write(tmp_path, ["a", ["b", "c"]])).ranking == (("a",), ("b", "c"))
    named = read(write(tmp_path, {"name": "experts", "ranking": ["a", "b"]}))
    assert (named.name, named.models) == ("experts", ("a", "b"))


def test_scores_rank_higher_first_and_equal_scores_tie(tmp_path):
    found = read(write(tmp_path, {"scores": {"a": 1200, "b": 1250.5, "c": 1200}}))
    assert (found.name, found.ranking) == ("arena", (("b",), ("a", "c")))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"scores": {"a": 1, "b": None}}, "score of 'b' must be a finite number, not None"),
        ('{"scores": {"a": NaN, "b": 1}}', "NaN is no number"),
        ({"scores": {"a": True, "b": 1}}, "score of 'a'"),
        ({"scores": {}}, "scores must be an object"),
        ({"ranking": ["a", "a"]}, "names 'a' more than once"),
        ({"ranking": ["a"]}, "fewer than two models"),
        ({"ranking": ["a", []]}, "is no ranking"),
        ({"ranking": ["a", "b"], "scores": {}}, "either ranking or scores"),
        ({"rankings": ["a", "b"]}, "either ranking or scores"),
        ({"ranking": ["a", "b"], "elo": 1}, "unknown field elo"),
        ("not json", "is no human ranking"),
        ("3", "either ranking or scores"),
    ],
)
def test_bad_files_name_the_file_and_say_what_is_accepted(tmp_path, data, message):
    with pytest.raises(InputError, match=message) as found:
        read(write(tmp_path, data))
    assert "arena.json" in str(found.value)


@pytest.mark.parametrize("text", ["arena.json", "a", "a > ", "a > a", "> a > b", "x: a"])
def test_text_that_is_neither_a_file_nor_a_ranking(text):
    with pytest.raises(InputError, match="Give a file with"):
        read(text)


def test_two_references_of_one_name_are_refused():
    with pytest.raises(InputError, match="several human rankings are called human"):
        read_human_rankings(["a > b", "b > a"])
