"""What a peers run would take, without sending anything."""

from collections.abc import Sequence

from metajudge.judging.answers import answer_request
from metajudge.judging.blinding import blind
from metajudge.judging.ranking import ranking_request
from metajudge.panels.config import PanelConfig
from metajudge.peers.domains import criteria_for
from metajudge.peers.protocol import peers_among
from metajudge.readers.questions import Question
from metajudge.runs.estimate import (
    CHARACTERS_PER_TOKEN,
    EXPLANATION_TOKENS,
    REASONING_TOKENS,
    Estimate,
    prices_of,
    size_of,
)
from metajudge.session import Session


def estimate_peers(panel: PanelConfig, questions: Sequence[Question]) -> Estimate:
    """Answers of an assumed length, and rankings of all of them by every model.

    Raises:
        ConfigurationError: models that make no sense together (no key is needed).
    """
    models = Session.for_estimate(panel).models()
    version = panel.judging_prompt_set
    peers = peers_among(((one.name, one.model, one.parameters) for one in models), version)
    prices = prices_of(panel.agents)
    estimate = Estimate.at(prices)
    answers = {peer.name: "x" * int(REASONING_TOKENS * CHARACTERS_PER_TOKEN) for peer in peers}
    for question in questions:
        criteria = criteria_for(question.domain)[1]
        scored = EXPLANATION_TOKENS * len(criteria) * len(answers)
        for peer in peers:
            labels = blind(answers, seed=0, evaluation=question.id, judge=peer.name)
            ranking = ranking_request(question.question, answers, labels, criteria, prompt_version=version)
            answer = answer_request(question.question, peer.parameters)
            estimate.add(peer.name, prices, size_of(answer), REASONING_TOKENS)
            estimate.add(peer.name, prices, size_of(ranking), REASONING_TOKENS + scored)
    return estimate
