"""What a clash would take, without sending anything."""

from collections.abc import Mapping, Sequence

from metajudge.clashes.candidates import CandidateSpec
from metajudge.clashes.setup import ClashSettings, answer_parameters, repeat_numbers
from metajudge.judging.answers import answer_request
from metajudge.judging.blinding import blind
from metajudge.judging.criteria import GENERIC, criteria_request
from metajudge.judging.ranking import ranking_request
from metajudge.panels.config import PanelConfig
from metajudge.runs.estimate import (
    CHARACTERS_PER_TOKEN,
    EXPLANATION_TOKENS,
    REASONING_TOKENS,
    Estimate,
    Prices,
    prices_of,
    size_of,
)
from metajudge.session import Session
from metajudge.types import Item


def estimate_clash(settings: ClashSettings, panel: PanelConfig, items: Sequence[Item]) -> Estimate:
    """Every answer of an assumed length, criteria for every evaluation, and a ranking by every judge and observer.

    Nothing is taken from the store or an earlier file, so a run that continues costs less.

    Args:
        panel: its agents are the judges.

    Raises:
        ConfigurationError: settings or judges that make no sense together (no key is needed).
    """
    settings.check()
    judges = [one.name for one in Session.for_estimate(panel).models(weighted=True)]
    prices = prices_of(panel.agents)
    candidates = {f"candidate {one.name}": one.price for one in settings.candidate_specs()}
    ranking = settings.observers or settings.voters
    if settings.answering or ranking:
        prices |= candidates
    if settings.criteria_model is not None:
        prices["criteria model"] = CandidateSpec.of(settings.criteria_model).price
    voters = [*judges, *(candidates if ranking else ())]
    estimate = Estimate.at(prices)
    repeats = len(repeat_numbers(settings.repeats))
    for item in items:
        for _ in range(settings.cycles):
            answers = _answers(settings, item, estimate, prices)
            for _ in range(repeats):
                _add_evaluation(settings, item, answers, voters, estimate, prices)
    estimate.judgments = len(items) * settings.cycles * repeats
    return estimate


def _answers(settings: ClashSettings, item: Item, estimate: Estimate, prices: Prices) -> dict[str, str]:
    """The responses given, or texts as long as answers are taken to be."""
    if not settings.answering:
        return dict(item.responses)
    answers = {}
    for one in settings.candidate_specs():
        parameters = answer_parameters(settings, one)
        tokens = min(REASONING_TOKENS, parameters.max_tokens or REASONING_TOKENS)
        request = answer_request(item.question, parameters, system=one.system)
        estimate.add(f"candidate {one.name}", prices, size_of(request), tokens)
        answers[one.name] = "x" * int(tokens * CHARACTERS_PER_TOKEN)
    return answers


def _add_evaluation(
    settings: ClashSettings,
    item: Item,
    answers: Mapping[str, str],
    voters: Sequence[str],
    estimate: Estimate,
    prices: Prices,
) -> None:
    if settings.criteria_model is not None:
        tokens = settings.criteria_max_tokens or REASONING_TOKENS
        estimate.add("criteria model", prices, size_of(criteria_request(item.question)), tokens)
    criteria = settings.criteria or GENERIC
    written = REASONING_TOKENS + EXPLANATION_TOKENS * len(criteria) * len(answers)
    reference = item.reference if settings.with_reference else None
    for name in voters:
        labels = blind(answers, seed=settings.seed, evaluation=item.id, judge=name)
        ranking = ranking_request(item.question, answers, labels, criteria, ties=settings.ties, reference=reference)
        estimate.add(name, prices, size_of(ranking), written)
