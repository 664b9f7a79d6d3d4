"""Free evidence in words."""

import pytest

from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.words import evidence_in_words, missing_evidence
from metajudge.types import SignalValue
from tests.evidence.verdicts import judged


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


class TestMissing:
    def words(self, *given):
        index = EvidenceIndex.build(given)
        return missing_evidence(given[0].verdict, index.signals(given[0]))

    def test_of_a_pair(self):
        alone = judged("A>B", order=("A", "B"))
        assert self.words(alone) == (
            "no other judge compared these responses, and this judge was not asked in another order"
        )
        both = alone.model_copy(update={"id": "k", "order": ("B", "A")})
        assert self.words(alone, both) == "no other judge compared these responses"

    def test_of_a_grade_and_a_category(self):
        for verdict in (4, "pass"):
            alone = judged(verdict, order=("A",))
            assert self.words(alone) == "no other judge graded this response, and this judge graded it once"
            again = alone.model_copy(update={"id": "k"})
            assert self.words(alone, again) == "no other judge graded this response"
            peer = alone.model_copy(update={"id": "k", "judge": "emu"})
            assert self.words(alone, peer).startswith("the other judges who graded it are too few")


def test_stability_has_a_phrase():
    own = judged(4, order=("A",))
    index = EvidenceIndex.build([own, own.model_copy(update={"id": "k"})])
    assert evidence_in_words(index.signals(own), NO_PEERS) == ["the same verdict when asked again"]
