"""Free evidence in words."""

import pytest

from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.words import evidence_in_words
from metajudge.types import SignalValue


def signals(order="missing", rationale="no_rationale"):
    states = {"order": order, "rationale": rationale}
    return {name: SignalValue(value=None, state=state, detail="") for name, state in states.items()}


NO_PEERS = PeerSupport(None, "no_peers", "")


def test_what_is_absent_is_not_mentioned():
    assert evidence_in_words(signals(), NO_PEERS) == []


@pytest.mark.parametrize(
    ("state", "words"),
    [("agree", "the same verdict"), ("disagree", "contradicts itself"), ("other_tied", "a tie when")],
)
def test_the_other_order_has_a_phrase_for_each_state(state, words):
    (phrase,) = evidence_in_words(signals(order=state), NO_PEERS)
    assert phrase.startswith(words)


def test_peers_are_counted_with_the_undecided_ones():
    several = PeerSupport(0.2, "for", "", supporting=2, opposing=1, undecided=1)
    assert evidence_in_words(signals(), several) == ["2 of 4 other judges agree"]
    assert evidence_in_words(signals(), PeerSupport(1.0, "for", "", supporting=1)) == ["1 of 1 other judge agrees"]


def test_a_rationale_that_contradicts_comes_last():
    phrases = evidence_in_words(signals("agree", "contradict"), PeerSupport(1.0, "for", "", supporting=1))
    assert phrases[-1] == "its rationale ends with another verdict"
    assert len(phrases) == 3
    assert evidence_in_words(signals(rationale="agree"), NO_PEERS) == []
