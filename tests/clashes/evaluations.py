"""Candidates that answer, and one evaluation of them."""

from metajudge.clashes.clash import Clash, evaluate
from metajudge.clashes.record import ClashRecord
from metajudge.judging.answers import Candidate
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply

LONG, SHORT = len, lambda text: -len(text)


def answers(text, name="m", **options):
    return ScriptedModel(lambda _request: Reply(text, "stop", name, cost_usd=0.01, **options), name=name)


def generated(*pairs, **options):
    """A clash whose candidates give these texts, observed by themselves where asked to."""
    return Clash(candidates=tuple(Candidate(name, model) for name, model in pairs), **options)


async def one(item, clash, **options):
    (record,) = await evaluate(item, clash, **options)
    return ClashRecord.model_validate_json(record.model_dump_json())
