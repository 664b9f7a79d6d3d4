"""One step of the protocol at a time: a model answers a question, a model ranks the answers to it.

What a ballot depends on is in its key: the question, every answer as shown, who ranks and how it is asked, the seed of
the order. Nothing else: an earlier ballot with the same key is the same ballot.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from metajudge.agents.exchange import ask
from metajudge.errors import FailureKind
from metajudge.files.packaged import packaged
from metajudge.installation import __version__
from metajudge.judging.answers import COPIES_APART, answer_request, copies
from metajudge.judging.blinding import RULE, BlindingReport, blind
from metajudge.judging.criteria import Criterion, weighted
from metajudge.judging.identity import Blinded, hide_identities_aside
from metajudge.judging.judges import RankingForm, rank_responses, ranking_request, templates_digest
from metajudge.peers.record import Ballot, PeerAnswer
from metajudge.prompts.reply_form import MAX_ANALYSIS_WORDS
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Model, Parameters, request_key
from metajudge.reading.questions import Question
from metajudge.types import Failure, digest, valid_text

_DOMAINS = packaged("peers", "domains")

DOMAINS: dict[str, tuple[Criterion, ...]] = {name: weighted(one["criteria"]) for name, one in _DOMAINS.items()}
"""Domain -> its criteria. A question of no domain, or of another one, is ranked without criteria."""

ALIASES = {alias: name for name, one in _DOMAINS.items() for alias in one["aliases"]}
"""Other names of domains."""


def criteria_for(domain: str | None) -> tuple[str | None, tuple[Criterion, ...]]:
    """The name of the domain whose criteria are used, and the criteria; (None, ()) where there are none.

    Case, spaces and hyphens play no part: ``Creative Writing`` is ``writing``.
    """
    name = "" if domain is None else domain.strip().lower().replace(" ", "_").replace("-", "_")
    name = ALIASES.get(name, name)
    return (name, DOMAINS[name]) if name in DOMAINS else (None, ())


@dataclass(frozen=True, slots=True)
class Peer:
    """A model that answers and ranks.

    Attributes:
        name: what it is called in ballots.
        copy: how many peers before it are the same model: each draws replies of its own.
        hidden: names of the peers' models; part of what a ballot depends on.
        prompt_version: of the prompt set it is asked to rank by.
        analysis_words: how long the analysis may be that its reply opens with.
    """

    name: str
    model: Model
    parameters: Parameters = field(default_factory=Parameters)
    copy: int = 0
    hidden: tuple[str, ...] = ()
    prompt_version: int = FIRST
    analysis_words: int = MAX_ANALYSIS_WORDS

    @property
    def identity(self) -> list[object]:
        """What determines its replies, besides what it is asked."""
        p = self.parameters
        settings = [p.temperature, p.top_p, p.max_tokens, p.seed, p.effort, p.headers, *p.later.values()]
        return [str(self.model.endpoint), self.model.name, settings, self.copy]

    @property
    def draw(self) -> int:
        return self.copy * COPIES_APART

    @property
    def form(self) -> RankingForm:
        """How it is asked to rank, besides what about."""
        names = ("parameters", "draw", "prompt_version", "analysis_words")
        return RankingForm(**{name: getattr(self, name) for name in names})


def peers_of(
    named: Iterable[tuple[str, Model, Parameters]],
    hidden: Iterable[str] = (),
    prompt_version: int = FIRST,
    analysis_words: int = MAX_ANALYSIS_WORDS,
) -> list[Peer]:
    """Peers of (name, model, parameters); the same model under two names is asked twice."""
    given, hide = list(named), tuple(sorted(set(hidden)))
    numbered = zip(given, copies([model for _, model, _ in given]), strict=True)
    return [Peer(*one, copy, hide, prompt_version, analysis_words) for one, copy in numbered]


def answer_key(question: Question, peer: Peer) -> str:
    """Digest of everything an answer depends on."""
    return digest(["answer", question.id, question.question, peer.name, peer.identity])


async def answer_question(question: Question, peer: Peer, *, attempt: int = 1, retry: bool = False) -> PeerAnswer:
    """Has a model answer; it sees the question and nothing else. A failure ends in the record, typed.

    Raises:
        BudgetExceeded: the run's budget is spent.
    """
    request = answer_request(question.question, peer.parameters, peer.draw)
    found = await ask(peer.model, request, valid_text, asked=peer.name, retry=retry, repair=False)
    return PeerAnswer(
        question_id=question.id,
        model=peer.name,
        text=found.value,
        status="ok" if found.failure is None else "failed",
        failure=found.failure,
        replied=found.replied,
        attempt=attempt,
        key=answer_key(question, peer),
        cost_usd=found.cost_usd,
        calls=found.spent.calls,
        meta=_meta(peer, request_digest=found.key, reported_model=found.reported_model),
    )


def ranking_settings(peer: Peer, seed: int) -> str:
    """Digest of how an evaluator is asked to rank, whatever the question."""
    words = [peer.analysis_words] if peer.analysis_words != MAX_ANALYSIS_WORDS else []
    return digest(["ranking", peer.identity, seed, templates_digest(peer.prompt_version), list(peer.hidden), *words])


def ballot_key(question: Question, answers: Mapping[str, str], peer: Peer, seed: int) -> str:
    """Digest of everything a ballot depends on; the order in which answers are given plays no part."""
    criteria = [one.text for one in criteria_for(question.domain)[1]]
    asked = [question.id, question.question, question.domain, criteria]
    return digest(["ballot", asked, sorted(answers.items()), peer.name, ranking_settings(peer, seed)])


async def rank_answers(
    question: Question, answers: Mapping[str, str], peer: Peer, *, seed: int, attempt: int = 1, retry: bool = False
) -> Ballot:
    """Has a model rank all answers to a question, its own included, without knowing whose they are.

    The order shown is drawn from the seed, the question and the evaluator, and stored. Names that reveal who wrote an
    answer are hidden (:mod:`metajudge.judging.identity`); the ballot's ``meta`` says which, under ``blinding``. A
    failure ends in the ballot, typed.

    Args:
        answers: model -> its answer; their order plays no part.

    Raises:
        BudgetExceeded: the run's budget is spent.
    """
    asked: dict[str, Any] = {
        "question_id": question.id,
        "domain": question.domain,
        "evaluator": peer.name,
        "seed": seed,
        "attempt": attempt,
        "key": ballot_key(question, answers, peer, seed),
    }
    digests = {"settings_digest": ranking_settings(peer, seed), "prompt_digest": templates_digest(peer.prompt_version)}
    if len(answers) < 2:
        message = f"{len(answers)} models answered the question; at least two answers are needed for a ranking"
        failure = Failure(kind=FailureKind.NO_EVIDENCE, message=message)
        return Ballot(**asked, status="failed", failure=failure, cost_usd=0.0, calls=0, meta=_meta(peer, **digests))
    name, criteria = criteria_for(question.domain)
    hidden = await _blinded(question, answers, peer)
    found = await rank_responses(
        peer.model,
        question.question,
        hidden.shown,
        peer.form,
        judge=peer.name,
        seed=seed,
        evaluation=question.id,
        criteria=criteria,
        retry=retry,
    )
    return Ballot(
        **asked,
        ranking=None if found.ranking is None else found.ranking.groups,
        labels=found.blinding.label_map,
        status="ok" if found.failure is None else "failed",
        failure=found.failure,
        replied=found.replied,
        cost_usd=found.cost_usd,
        calls=found.spent.calls,
        meta=_meta(
            peer,
            **digests,
            criteria=name,
            request_digest=found.request_digest,
            reported_model=found.reported_model,
            blinding=hidden.report.model_dump(mode="json"),
            **{"reply" if found.ranking is None else "comparison": found.text},
        ),
    )


async def asked_alike(ballot: Ballot, question: Question, answers: Mapping[str, str], peer: Peer) -> bool:
    """Whether the evaluator of an earlier ballot would be asked the same today.

    Ballots of earlier versions hid less: they stand where nothing more is hidden today, else are asked for anew.

    Args:
        answers: those the ballot ranks.
    """
    report = blinding_of(ballot)
    asked = ballot.meta.get("request_digest")
    if (report is not None and report.rule == RULE) or asked is None or ballot.seed is None:
        return True
    shown = (await _blinded(question, answers, peer)).shown
    labels = blind(shown, seed=ballot.seed, evaluation=question.id, judge=peer.name)
    criteria = criteria_for(question.domain)[1]
    request = ranking_request(question.question, shown, labels, criteria, peer.form)
    return bool(request_key(peer.model, request) == asked)


def blinding_of(ballot: Ballot) -> BlindingReport | None:
    """What was hidden from an evaluator; None for a ballot of an earlier version, or one that shows no answers."""
    report = ballot.meta.get("blinding")
    return None if report is None else BlindingReport.model_validate(report)


async def _blinded(question: Question, answers: Mapping[str, str], peer: Peer) -> Blinded:
    return await hide_identities_aside(answers, question=question.question, models=peer.hidden)


def _meta(peer: Peer, **more: object) -> dict[str, object]:
    known = {"model": peer.model.name, "endpoint": str(peer.model.endpoint), "metajudge_version": __version__}
    return {**known, **{name: value for name, value in more.items() if value is not None}}
