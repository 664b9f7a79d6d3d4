"""Figures of the paper, as printed there."""

from metajudge.clashes.concordance import CEILING, PRIOR_WORK


def test_tables_4_10_and_12_of_the_paper():
    printed = {(one.method, one.benchmark): (one.agreement, one.kappa) for one in PRIOR_WORK}
    assert printed["people: crowd and expert", "Chatbot Arena"] == (CEILING, None)
    assert printed["people: two experts", "Chatbot Arena"] == ("79 to 90 %", None)
    assert printed["panel of three, Agent Clash", "MT-Bench"] == ("88.0 %", "0.760")
    assert printed["panel of three, Agent Clash", "Chatbot Arena"] == ("76.0 %", "0.520")
    assert printed["the panel, unanimous", "both, pooled"] == ("84.9 %", None)
    assert len(PRIOR_WORK) == 15
