"""Each voting rule on examples worked out by hand."""

import doctest
from pathlib import Path

import pytest

from metajudge import voting
from metajudge.errors import InputError
from metajudge.voting import bradley_terry, plackett_luce
from tests.voting.profiles import TENNESSEE, rank


@pytest.mark.parametrize("rule", [voting.kemeny, voting.copeland, voting.schulze, voting.ranked_pairs])
def test_condorcet_rules_on_tennessee(rule):
    groups = [["Nashville"], ["Chattanooga"], ["Knoxville"], ["Memphis"]]
    assert [list(group) for group in rank(rule, TENNESSEE).ranking] == groups


LEVEL = [["a", "b", "c"], ["b", "a", "c"]]
POINTS = {"Nashville": 194, "Chattanooga": 173, "Memphis": 126, "Knoxville": 107}
FIRST = {"Memphis": 42, "Nashville": 26, "Knoxville": 17, "Chattanooga": 15}
THIRDS = [[["a", "b", "c"]]] * 3 + [["d"]]
MEDIAN = {"ballots": [["a", "b", "c"], ["b", "a", "c"], [["a", "c"], "b"]], "weights": [1, 1, 2]}


@pytest.mark.parametrize(
    ("rule", "votes", "scores", "groups"),
    [
        (voting.copeland, {"ballots": LEVEL}, {"a": 1.5, "b": 1.5, "c": 0}, 2),
        (voting.borda, TENNESSEE, POINTS, 4),
        (voting.borda, {"ballots": [["a", "b"], ["c"]], "unranked": "ignore"}, {"a": 2.5, "c": 2, "b": 1.5}, 3),
        (voting.borda, {"ballots": [[["a", "b"], "c"]]}, {"a": 1.5, "b": 1.5, "c": 0}, 2),
        (voting.plurality, TENNESSEE, FIRST, 4),
        (
            voting.plurality,
            {"ballots": [[["a", "b", "c"]], ["a", "b"]], "weights": [1, 0.5]},
            {"a": 5 / 6, "b": 1 / 3, "c": 1 / 3},
            2,
        ),
        (voting.plurality, {"ballots": THIRDS}, {"a": 1, "b": 1, "c": 1, "d": 1}, 1),
        (voting.median_rank, MEDIAN, {"a": 3 - 1.5, "c": 3 - 2.25, "b": 3 - 2.5}, 3),
    ],
)
def test_scores_by_hand(rule, votes, scores, groups):
    found = rule(**votes)
    assert found.scores == pytest.approx(scores)
    assert len(found.ranking) == groups
    assert [name for group in found.ranking for name in sorted(group)] == list(scores)


def test_ranks_of_equals_are_mid_ranks_and_of_a_candidate_nobody_ranks_there_is_none():
    found = voting.copeland(LEVEL)
    assert found.ranks == {"a": 1.5, "b": 1.5, "c": 3.0}
    assert [set(group) for group in found.ties] == [{"a", "b"}]
    with pytest.raises(InputError, match="no ballot ranks 'c'"):
        voting.median_rank([["a", "b"]], candidates=["a", "b", "c"], unranked="ignore")
    assert voting.median_rank([["a", "b"]], candidates=["a", "b", "c"]).ranking[-1] == ("c",)


def test_ranked_pairs_names_everyone_who_wins_under_some_order_or_says_it_fell_back():
    circle = [list("abc"), list("bca"), list("cab")]
    found = voting.ranked_pairs(circle)
    assert (found.outcomes, found.exact) == (3, True)
    assert set(found.winners) == set("abc")
    ballots = [list("abcdef"), list("bcdefa"), list("cdefab"), list("defabc"), list("efabcd"), list("fabcde")]
    exact = voting.ranked_pairs(ballots)
    found = voting.ranked_pairs(ballots, max_outcomes=2)
    assert exact.exact
    assert not found.exact
    assert found.outcomes is None
    assert set(found.winners) == set(exact.winners) == set("abcdef")


PAGE = Path(__file__).parents[2] / "docs" / "voting.md"


def test_the_examples_of_the_page_give_what_they_show():
    text = "\n".join("" if line.startswith("```") else line for line in PAGE.read_text("utf-8").splitlines())
    example = doctest.DocTestParser().get_doctest(text, {}, "voting.md", str(PAGE), 0)
    assert len(example.examples) > 15
    said = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert not failed, "".join(said)


@pytest.mark.parametrize("model", [bradley_terry, plackett_luce])
def test_a_candidate_that_always_wins_has_no_finite_strength_and_is_no_huge_number(model):
    ballots = [["a", "b", "c"], ["a", "c", "b"]]
    with pytest.raises(InputError, match=r"'a' never lost to 'b', 'c'.*infinite.*prior"):
        model(ballots)
    found = model(ballots, prior=0.5)
    assert 0 < found.scores["a"] < 5
    assert found.scores["b"] == pytest.approx(found.scores["c"])
    assert found.ranking == (("a",), ("b", "c"))
    assert found.prior == 0.5


@pytest.mark.parametrize("model", [bradley_terry, plackett_luce])
def test_groups_that_no_ballot_joins_have_no_common_scale(model):
    ballots = [["a", "b"], ["b", "a"], ["x", "y"], ["y", "x"]]
    with pytest.raises(InputError, match="no ballot compares 'a', 'b' with 'x', 'y'"):
        model(ballots)
    assert list(model(ballots, prior=1).scores.values()) == pytest.approx([0.0] * 4, abs=1e-9)


@pytest.mark.parametrize("model", [bradley_terry, plackett_luce])
def test_one_candidate_is_not_compared(model):
    with pytest.raises(InputError, match="there is only 'a'"):
        model([["a"]])


# Schulze's own example (2011, example 1): 45 voters, five candidates; his ranking is E A C B D.
SCHULZE_45 = {
    "ballots": ["acbed", "adecb", "bedac", "cabed", "caebd", "cbade", "dceba", "ebadc"],
    "weights": [5, 5, 8, 3, 7, 2, 7, 8],
}


def test_schulze_on_his_own_example():
    found = rank(voting.schulze, SCHULZE_45)
    assert [group[0] for group in found.ranking] == list("eacbd")
    assert found.ties == ()
    assert found.scores == {"a": 3.0, "b": 1.0, "c": 2.0, "d": 0.0, "e": 4.0}
