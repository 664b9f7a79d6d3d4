"""All findings together: neutrality, degenerate cases, cautions."""

import pytest

from metajudge.peers import Ballot, Options, analyse
from tests.peers.elections import ballots
from tests.peers.found import HUMAN, quick, standing


class TestFigures:
    def test_self_places_peer_places_and_their_difference(self):
        given = [
            Ballot(question_id="q1", evaluator="a", ranking=["a", "b", "c"]),
            Ballot(question_id="q1", evaluator="b", ranking=["c", "a", "b"]),
            Ballot(question_id="q1", evaluator="c", ranking=["c", ["a", "b"]]),
            Ballot(question_id="q2", evaluator="a", ranking=["b", "a", "c"]),
            Ballot(question_id="q2", evaluator="b", ranking=["b", "a", "c"]),
            Ballot(question_id="q2", evaluator="c", ranking=["b", "a", "c"]),
        ]
        one = standing(quick(given), "a")
        assert one.se.value == pytest.approx((1 + 2) / 2)
        assert one.pe.value == pytest.approx(((2 + 2.5) / 2 + 2) / 2)
        assert one.se_less_pe.value == pytest.approx(one.se.value - one.pe.value)
        assert one.sie.value == pytest.approx(2)
        assert one.sfe.value == pytest.approx(2)

    def test_the_same_ballots_in_any_order_give_the_same_findings(self):
        given = ballots(8, phi=0.7, seed=3)
        by_evaluator = sorted(given, key=lambda one: one.evaluator)
        options = Options(resamples=100)
        backwards = given[::-1]  # the questions too, over which intervals are resampled
        assert analyse(given, options, [HUMAN]) == analyse(by_evaluator, options, [HUMAN])
        assert analyse(given, options, [HUMAN]) == analyse(backwards, options, [HUMAN])

    def test_the_seed_decides_every_interval(self):
        given = ballots(12, phi=0.7, seed=3)
        one, same, other = (analyse(given, Options(seed=seed, resamples=100), [HUMAN]) for seed in (1, 1, 2))
        assert one == same
        assert one.standings != other.standings

    def test_domains_are_figured_apart_and_only_where_there_are_several(self):
        given = [
            one.model_copy(update={"domain": "math" if one.question_id < "q4" else "code"})
            for one in ballots(8, phi=0.6)
        ]
        found = quick(given, HUMAN)
        assert [(one.domain, one.questions) for one in found.domains] == [("code", 4), ("math", 4)]
        alone = quick([one for one in given if one.domain == "math"], HUMAN)
        assert alone.domains == ()
        math = found.domains[1]
        assert math.places["ant"].value == standing(alone, "ant").sie.value
        assert math.references[0].rows[0].micro == alone.references[0].rows[0].micro
