from metajudge.clashes.clash import Clash
from metajudge.judging.answers import Candidate
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply


def answers(text, name="m", **options):
    return ScriptedModel(lambda _request: Reply(text, "stop", name, cost_usd=0.01, **options), name=name)


def generated(*pairs, **options):
    """A clash whose candidates give these texts, observed by themselves where asked to."""
    candidates = tuple(Candidate(name, model) for name, model in pairs)
    return Clash(candidates=candidates, **options)
