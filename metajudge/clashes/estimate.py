"""What a clash would take, without sending anything."""

from collections.abc import Sequence

from metajudge.cli.clash_setup import Settings
from metajudge.cli.options import panel_from
from metajudge.judging.answers import answer_request
from metajudge.judging.blinding import blind
from metajudge.judging.criteria import GENERIC, criteria_request
from metajudge.judging.ranking import ranking_request
from metajudge.panels.building import build_vetter
from metajudge.peers.estimate import add_request, prices_of
from metajudge.providers.model import ModelRequest, Parameters
from metajudge.providers.prices import Price, find_price
from metajudge.providers.stack import Resources
from metajudge.runs.estimate import CHARACTERS_PER_TOKEN, EXPLANATION_TOKENS, REASONING_TOKENS, Estimate
from metajudge.types import Item


def estimate_clash(settings: Settings, items: Sequence[Item]) -> Estimate:
    """Every answer of an assumed length, criteria for every evaluation, and a ranking by every judge and observer.

    Nothing is taken from the store or an earlier file, so a run that goes on costs less.

    Raises:
        ConfigurationError: judges that make no sense together (no key is needed).
    """
    estimate = Estimate()
    for item in items:
        for _ in range(settings.cycles):
            answers = _answers(settings, item, estimate)
            for _ in range(settings.repeats):
                _add_evaluation(settings, item, answers, estimate)
    estimate.judgments = len(items) * settings.cycles * settings.repeats
    estimate.unpriced = sorted(set(estimate.unpriced))
    if estimate.unpriced:
        estimate.cost_usd = None
    return estimate


def _answers(settings: Settings, item: Item, estimate: Estimate) -> dict[str, str]:
    """The responses given, or texts as long as answers are taken to be."""
    if settings.given:
        return dict(item.responses)
    tokens = REASONING_TOKENS if settings.max_tokens is None else min(REASONING_TOKENS, settings.max_tokens)
    parameters = Parameters(temperature=settings.temperature, max_tokens=settings.max_tokens)
    for name, spec in settings.candidate_specs().items():
        _add(estimate, name, answer_request(item.question, parameters), tokens, find_price(spec))
    return dict.fromkeys(settings.candidate_specs(), "x" * int(tokens * CHARACTERS_PER_TOKEN))


def _add_evaluation(settings: Settings, item: Item, answers: dict[str, str], estimate: Estimate) -> None:
    if settings.criteria_model is not None:
        request = criteria_request(item.question)
        for name, price in prices_of(panel_from(None, [settings.criteria_model])).items():
            _add(estimate, name, request, settings.criteria_max_tokens, price)
    written = REASONING_TOKENS + EXPLANATION_TOKENS * len(GENERIC) * len(answers)
    reference = item.reference if settings.with_reference else None
    for name, price in _voters(settings).items():
        labels = blind(answers, seed=settings.seed, evaluation=item.id, judge=name)
        ranking = ranking_request(item.question, answers, labels, GENERIC, ties=settings.ties, reference=reference)
        _add(estimate, name, ranking, written, price)


def _voters(settings: Settings) -> dict[str, Price | None]:
    """Judges, and the candidates where they rank, too, with what they cost."""
    panel = settings.panel()
    build_vetter(panel, Resources(key_for=lambda _spec: "not-sent"), early_exit=False)  # refuses what makes no sense
    found = prices_of(panel)
    if settings.observers or settings.voters:
        found |= {f"candidate {name}": find_price(spec) for name, spec in settings.candidate_specs().items()}
    return found


def _add(estimate: Estimate, name: str, request: ModelRequest, tokens: int, price: Price | None) -> None:
    add_request(estimate, request, tokens, price)
    if price is None:
        estimate.unpriced.append(name.removeprefix("candidate "))
