"""Findings of few resamples, and what is read off them."""

from metajudge.peers import HumanRanking, Options, analyse
from tests.peers.elections import NAMES

QUICK = {"resamples": 0}


HUMAN = HumanRanking(name="h", ranking=tuple((name,) for name in NAMES))


def quick(given, *humans, **options):
    return analyse(given, Options(**{**QUICK, **options}), humans)


def standing(found, name):
    (one,) = [one for one in found.standings if one.model == name]
    return one
