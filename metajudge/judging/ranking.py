"""One judge ranks all responses to a question in one call, without knowing who wrote them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from metajudge.agents.exchange import ask
from metajudge.concurrency import off_the_loop
from metajudge.judging.blinding import Blinding, blind, unblind
from metajudge.judging.criteria import Criterion, shown_criteria
from metajudge.judging.item_judge import JudgeRecord, reply_fields
from metajudge.judging.ranking_replies import CriterionGrade, RankingReply, parse_ranking_reply, ranking_schema
from metajudge.prompts.ranking import TEMPLATES, render_ranking, render_ranking_system
from metajudge.prompts.templates import prompts_digest
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Message, Model, ModelRequest, Parameters
from metajudge.types import Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRanking(JudgeRecord):
    """One judge's ranking, or the failure that explains its absence.

    Attributes:
        blinding: the labels this judge saw.
        ranking: in terms of candidates; None with a ``failure``.
        scores: candidate -> criterion's key -> grade; empty where no criteria were given.
    """

    blinding: Blinding
    ranking: Ranking | None = None
    scores: Mapping[str, Mapping[str, CriterionGrade]] = field(default_factory=dict)


async def rank_responses(
    model: Model,
    question: str,
    responses: Mapping[str, str],
    *,
    judge: str,
    seed: int,
    evaluation: str,
    criteria: Sequence[Criterion] = (),
    ties: bool = False,
    reference: str | None = None,
    parameters: Parameters | None = None,
    retry: bool = False,
    draw: int = 0,
    prompt_version: int = FIRST,
    compact: bool = False,
) -> JudgeRanking:
    """Has a judge rank responses under labels drawn for it; whatever goes wrong ends in the result, typed.

    The ranking must name every label once. One that does not (a label missing, twice, unknown; no JSON) is asked to be
    repaired once, and is a failure then: it is never completed or mended here.

    Args:
        responses: candidate -> text, which may be empty. Their order plays no part.
        judge: what the judge is called in records; the labels are drawn for it.
        seed, evaluation: what the labels are drawn from besides, see :func:`~metajudge.judging.blinding.blind`.
        criteria: what every response is scored on, 1 to 5; none for a ranking alone.
        ties: whether responses may share a place. By default they may not.
        retry: an earlier attempt failed: an unusable stored reply is requested again.
        draw: index of the sample; two draws of one request are two calls.
        compact: keep the schema short where there are many responses, see
            :func:`~metajudge.judging.ranking_replies.ranking_schema`.

    Raises:
        BudgetExceeded: the run's budget is spent.
        InputError: no responses.
    """
    blinding = blind(responses, seed=seed, evaluation=evaluation, judge=judge)
    parameters = parameters or Parameters()
    made = partial(ranking_request, question, responses, blinding, criteria, ties=ties, reference=reference)
    made = partial(made, parameters=parameters, draw=draw, prompt_version=prompt_version, compact=compact)
    request = await off_the_loop(made, sum(map(len, (question, reference or "", *responses.values()))))
    keys = tuple(criterion.key for criterion in criteria)
    labels = blinding.labels

    def read(text: str) -> RankingReply:
        return parse_ranking_reply(text, labels, keys, ties=ties)

    answer = await ask(model, request, read, asked=judge, retry=retry, prompt_version=prompt_version)
    result = JudgeRanking(blinding=blinding, **reply_fields(judge, model, request, answer))
    if answer.value is None:
        return result
    reply, names = answer.value, blinding.label_map
    scores = {names[label]: reply.scores[label] for label in labels if label in reply.scores}
    return replace(result, ranking=unblind(blinding, reply.groups), scores=scores, text=reply.comparison)


def ranking_request(
    question: str,
    responses: Mapping[str, str],
    blinding: Blinding,
    criteria: Sequence[Criterion] = (),
    *,
    ties: bool = False,
    reference: str | None = None,
    parameters: Parameters | None = None,
    draw: int = 0,
    prompt_version: int = FIRST,
    compact: bool = False,
) -> ModelRequest:
    """The first request :func:`rank_responses` sends: the same bytes for the same texts and labels."""
    shown = {label: responses[name] for label, name in blinding.label_map.items()}
    text = render_ranking(question, shown, shown_criteria(criteria), reference=reference, version=prompt_version)
    return ModelRequest(
        render_ranking_system(scored=bool(criteria), ties=ties, version=prompt_version),
        (Message("user", text),),
        ranking_schema(len(shown), tuple(criterion.key for criterion in criteria), ties=ties, compact=compact),
        parameters or Parameters(),
        draw,
    )


def templates_digest(version: int = FIRST) -> str:
    """Digest of the prompt templates of ranking."""
    return prompts_digest(*TEMPLATES, version=version)
