from metajudge.benchmarks.observations import PeerAgreement

from metajudge.types import Item, Judgment, parse_right, parse_verdict


def judgment(judge, verdict, model=None, item="q"):
    meta = {"judge_model": model} if model else {}
    thing = Item(id=item, question="?", responses={"A": "x"})
    return Judgment(id=f"{item}{judge}", item=thing, judge=judge, verdict=parse_verdict(verdict), meta=meta)


def agreement(*judgments):
    peers = PeerAgreement()
    for one in judgments:
        peers.add(one)
    return peers


def test_every_peer_has_one_vote_however_often_it_was_asked():
    own = judgment("ant", "good")
    peers = agreement(own, judgment("bee", "good"), judgment("cat", "bad"), judgment("cat", "good"))
    assert peers.share(own, parse_right("equal")) == (1 + 0.5) / 2


def test_prompts_of_the_same_model_are_no_peers():
    own = judgment("ant/1", "good", "ant")
    peers = agreement(own, judgment("ant/2", "bad", "ant"), judgment("bee", "good"))
    assert peers.share(own, parse_right("equal")) == 1.0


def test_agreement_is_by_the_declared_rule():
    own = judgment("ant", 3)
    peers = agreement(own, judgment("bee", 4), judgment("cat", 5))
    assert peers.share(own, parse_right("equal")) == 0.0
    assert peers.share(own, parse_right("within:1")) == 0.5


def test_without_a_peer_there_is_no_share():
    own = judgment("ant", "good")
    assert agreement(own, judgment("bee", "good", item="other")).share(own, parse_right("equal")) is None
