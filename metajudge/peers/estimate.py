"""What a peers run would take, without sending anything."""

from collections.abc import Sequence

from metajudge.judging.answers import answer_request
from metajudge.judging.blinding import blind
from metajudge.judging.ranking import ranking_request
from metajudge.panels.config import AgentConfig, PanelConfig
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


def estimate_peers(
    panel: PanelConfig, questions: Sequence[Question], evaluators: Sequence[AgentConfig] = ()
) -> Estimate:
    """Answers of an assumed length, and rankings of all of them by every model.

    Args:
        evaluators: who ranks and does not answer.

    Raises:
        ConfigurationError: models that make no sense together (no key is needed).
    """
    session = Session.for_estimate(panel)
    models = session.models()
    version = panel.judging_prompt_set
    judges = session.models(evaluators) if evaluators else []
    peers = peers_among(((one.name, one.model, one.parameters) for one in (*models, *judges)), version)
    candidates = {one.name for one in models}
    prices = prices_of((*panel.agents, *evaluators))
    estimate = Estimate.at(prices)
    answers = {
        peer.name: "x" * int(REASONING_TOKENS * CHARACTERS_PER_TOKEN) for peer in peers if peer.name in candidates
    }
    for question in questions:
        criteria = criteria_for(question.domain)[1]
        scored = EXPLANATION_TOKENS * len(criteria) * len(answers)
        for peer in peers:
            labels = blind(answers, seed=0, evaluation=question.id, judge=peer.name)
            ranking = ranking_request(question.question, answers, labels, criteria, prompt_version=version)
            if peer.name in candidates:
                answer = answer_request(question.question, peer.parameters)
                estimate.add(peer.name, prices, size_of(answer), REASONING_TOKENS)
            estimate.add(peer.name, prices, size_of(ranking), REASONING_TOKENS + scored)
    return estimate
