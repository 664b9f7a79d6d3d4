import pytest

from metajudge.peers.protocol import ALIASES, DOMAINS, criteria_for


class TestDomains:
    @pytest.mark.parametrize(
        ("given", "name"), [("Creative Writing", "writing"), ("IFEval", "instruction"), ("MATH", "math")]
    )
    def test_other_names(self, given, name):
        assert criteria_for(given) == (name, DOMAINS[name])

    @pytest.mark.parametrize("given", [None, "astrology", ""])
    def test_no_criteria_for_no_domain_or_another_one(self, given):
        assert criteria_for(given) == (None, ())

    def test_every_alias_leads_somewhere_and_weights_sum_to_one(self):
        assert set(ALIASES.values()) <= set(DOMAINS)
        for criteria in DOMAINS.values():
            assert sum(one.weight for one in criteria) == pytest.approx(1)
