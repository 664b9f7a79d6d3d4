"""Judges' rankings are read strictly: what is no permutation is a problem, never mended."""

import json

import pytest

from metajudge.agents import ReplyProblemsError
from metajudge.judging.ranking_replies import LISTED, REASON_WORDS, parse_ranking_reply, ranking_schema

LABELS = ("A0", "A1", "A2")


def reply(ranking, **more):
    return json.dumps({"comparison": "why", "ranking": ranking, **more})


def test_both_ways_of_writing_a_ranking_are_read():
    for ranking in ("A2 > A0 > A1", "A2>A0>A1", ["A2", "A0", "A1"], [["A2"], ["A0"], ["A1"]]):
        assert parse_ranking_reply(reply(ranking), LABELS).groups == (("A2",), ("A0",), ("A1",))


@pytest.mark.parametrize(
    ("ranking", "problem"),
    [
        ("A0 > A1", "leaves out A2"),
        (["A0", "A1"], "leaves out A2"),
        ("A0 > A1 > A1", "names A1 more than once"),
        ("A0 > A1 > A2 > A2", "names A2 more than once"),
        ("A0 > A1 > A3", "names A3; the labels are A0, A1, A2"),
        (["A0", "A1", 2], "names 2"),
        ("", "leaves out A0, A1, A2"),
        ([], "leaves out A0, A1, A2"),
        ("A0 > A1 = A2", "holds a tie"),
        (["A0", [], "A1", "A2"], "holds an empty place"),
        (1, "must be written like"),
        (None, "must be written like"),
        ({"A0": 1}, "must be written like"),
    ],
)
def test_a_ranking_that_is_no_permutation_is_a_problem(ranking, problem):
    with pytest.raises(ReplyProblemsError, match=problem):
        parse_ranking_reply(reply(ranking), LABELS)


@pytest.mark.parametrize("text", ["A0 is best", "", "[1]", '{"ranking": "A0 > A1 > A2"', reply("A0 > A1 > A2") * 2])
def test_what_is_not_one_json_object_is_a_problem(text):
    with pytest.raises(ReplyProblemsError):
        parse_ranking_reply(text, LABELS)


def test_ties_are_read_where_they_are_allowed():
    found = parse_ranking_reply(reply("A1 > A0 = A2"), LABELS, ties=True)
    assert found.groups == (("A1",), ("A0", "A2"))
    assert parse_ranking_reply(reply([["A0", "A1", "A2"]]), LABELS, ties=True).groups == (("A0", "A1", "A2"),)


class TestScores:
    def scores(self, **changes):
        row = {"c1": {"reason": "", "score": 4}, "c2": {"reason": "too long", "score": 2}}
        return {"A0": row, "A1": {**row, **changes}}

    def read(self, scores):
        return parse_ranking_reply(reply("A1 > A0", scores=scores), LABELS[:2], ("c1", "c2"))

    def test_every_response_is_scored_on_every_criterion(self):
        found = self.read(self.scores())
        assert found.scores["A1"]["c2"].score == 2
        assert found.scores["A1"]["c2"].reason == "too long"
        assert found.scores["A1"]["c2"].notes == ()

    @pytest.mark.parametrize("score", [0, 6, 3.5, "4", None, True, float("inf")])
    def test_a_score_off_the_scale_is_a_problem(self, score):
        with pytest.raises(ReplyProblemsError):
            self.read(self.scores(c1={"reason": "", "score": score}))

    def test_a_missing_or_unknown_criterion_is_a_problem(self):
        scores = self.scores()
        del scores["A0"]["c1"]
        with pytest.raises(ReplyProblemsError, match=r"scores\.A0\.c1 is missing"):
            self.read(scores)
        with pytest.raises(ReplyProblemsError, match=r"scores\.A1 has an unknown property 'c3'"):
            self.read(self.scores(c3={"reason": "", "score": 1}))
        with pytest.raises(ReplyProblemsError, match="scores is missing"):
            parse_ranking_reply(reply("A1 > A0"), LABELS[:2], ("c1",))

    def test_a_long_reason_is_cut_and_marked_and_a_missing_one_is_marked(self):
        found = self.read(self.scores(c1={"reason": "word " * 40, "score": 3}, c2={"reason": " ", "score": 3}))
        assert len(found.scores["A1"]["c1"].reason.split()) == REASON_WORDS
        assert found.scores["A1"]["c1"].notes == ("cut",)
        assert found.scores["A1"]["c2"].notes == ("no_reason",)


class TestSchema:
    def test_constrained_decoding_can_only_write_permutations_up_to_five_responses(self):
        for count, orders in ((1, 1), (2, 2), (3, 6), (5, 120)):
            ranking = ranking_schema(count).schema["properties"]["ranking"]
            labels = [f"A{n}" for n in range(count)]
            assert len(set(ranking["enum"])) == orders <= LISTED
            assert all(len(parse_ranking_reply(reply(one), labels).groups) == count for one in ranking["enum"])

    def test_ties_are_listed_too(self):
        ranking = ranking_schema(3, ties=True).schema["properties"]["ranking"]
        assert len(set(ranking["enum"])) == 13
        assert all(parse_ranking_reply(reply(one), LABELS, ties=True) for one in ranking["enum"])


@pytest.mark.parametrize(("count", "ties", "listed"), [(4, False, 24), (3, True, 13), (5, False, 0), (4, True, 0)])
def test_a_compact_schema_lists_few_orders_and_both_forms_are_read(count, ties, listed):
    ranking = ranking_schema(count, ("c1",), ties=ties, compact=True).schema["properties"]["ranking"]
    assert len(ranking.get("enum", ())) == listed
    assert (ranking["type"] == "array") is (listed == 0)
    if count < 5 and not ties:
        assert ranking_schema(count, ("c1",), compact=True).digest == ranking_schema(count, ("c1",)).digest
