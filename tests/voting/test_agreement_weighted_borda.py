import pytest

from metajudge.errors import InputError
from metajudge.voting import agreement_weighted_borda


def test_weights_are_learned_from_agreement_and_capped():
    good, bad = list("abcdef"), list("fedcba")
    found = agreement_weighted_borda([good, good[:2] + good[:1:-1], list("bacdef"), list("abdcfe"), bad])
    assert found.learned
    assert found.voter_weights[4] == 0.0
    assert sum(found.voter_weights) == pytest.approx(5)
    assert found.winners == ("a",)
    tight = agreement_weighted_borda([good, list("bacdef"), list("abdcfe"), bad, bad[1:] + bad[:1]], cap=1.2)
    assert max(tight.voter_weights) <= 1.2 + 1e-9
    assert tight.capped


def test_a_clique_that_raises_its_own_weight_is_warned_of():
    honest = [list("abcdef"), list("bacdfe"), list("acbedf")]
    found = agreement_weighted_borda([*honest, *[list("fedbca")] * 3])
    assert found.cliques == ((3, 4, 5),)
    assert "3, 4, 5 agree as copies do" in found.warning


def test_everybody_agreeing_is_no_clique():
    found = agreement_weighted_borda([list("abc")] * 4)
    assert (found.cliques, found.warning) == ((), None)
    assert found.voter_weights == (1.0,) * 4


def test_no_weights_from_nothing():
    found = agreement_weighted_borda([list("abc"), list("cba")])
    assert not found.learned
    assert "no weights could be learned" in found.warning
    assert found.ties == (("a", "b", "c"),)
    with pytest.raises(InputError, match="cap must be at least 1"):
        agreement_weighted_borda([list("abc")], cap=0.5)
