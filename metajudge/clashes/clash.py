"""A clash: candidates answer a question, a blind panel ranks the answers, and the rankings are counted.

The steps depend on each other as far as they must and no further: answers and criteria are made at once (criteria from
the question alone), then all judges and observers rank at once. Whatever fails is in the record, typed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from metajudge.clashes.record import ClashRecord, JudgeVote, Role, Status
from metajudge.clashes.tally import Voter, check_panel, tally
from metajudge.concurrency import all_of, off_the_loop
from metajudge.installation import __version__
from metajudge.judging.answers import COPIES_APART, Candidate, CandidateAnswer, copies, gather_answers
from metajudge.judging.blinding import RULE, blind
from metajudge.judging.criteria import (
    GENERIC,
    PARAMETERS,
    CriteriaSet,
    Criterion,
    criteria_request,
    generate_criteria,
    shown_criteria,
)
from metajudge.judging.identity import Blinded, hide_identities_aside
from metajudge.judging.identity import prepare as prepare_hiding
from metajudge.judging.judges import RankingForm, rank_responses, ranking_request, templates_digest
from metajudge.prompts.judges import render_ranking, render_ranking_system
from metajudge.prompts.reply_form import MAX_ANALYSIS_WORDS
from metajudge.prompts.templates import prompts_digest
from metajudge.prompts.versions import FIRST
from metajudge.prompts.writers import CRITERIA
from metajudge.providers.model import Model, Parameters, request_key
from metajudge.types import Item, digest
from metajudge.types.spent import TimedSpent, total

REPEATS_AT_MOST = 1000
_OBSERVER_DRAWS = 500_000_000
"""Observers draw replies apart from the panel: a judge that is also a candidate is asked twice, not counted twice."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A model that ranks.

    Attributes:
        own: the candidate this judge is itself, where it is one; shown beside its vote, never to it.
    """

    name: str
    model: Model
    parameters: Parameters = field(default_factory=Parameters)
    weight: float = 1.0
    own: str | None = None


@dataclass(frozen=True, slots=True)
class Clash:
    """How evaluations are made: the same for all items of a run.

    Attributes:
        judges: the declared panel.
        candidates: who answers; none where the items bring their responses.
        observers: candidates that rank all answers, their own among them. They count only where ``candidate_weight``
            is given.
        candidate_weight: the weight of a candidate's vote; None leaves them observers.
        criteria_model: names criteria for each question; None for the generic four.
        criteria: criteria of the caller's own, in place of either.
        seed: of all labels.
        quorum: judges that have to give a ranking; None for more than half of the panel.
        ties: whether a judge may leave responses tied.
        hide_identities: whether judges read the responses without names that reveal the authors, see
            :mod:`metajudge.judging.identity`. False is recorded with every evaluation.
        hide_names: names that are hidden besides those of the candidates' models.
        with_reference: whether judges see an item's reference answer.
        notices: what is to be known about the panel; kept in every record.
        analysis_words: how long the analysis may be that a judge's reply opens with.
        compact: short schemas for many responses, and brief criteria. It is the form of replies and no part of an
            evaluation's key: a file begun without it is continued.

    Raises:
        ConfigurationError: a panel or weights that make no sense together.
    """

    judges: tuple[Judge, ...]
    candidates: tuple[Candidate, ...] = ()
    observers: tuple[Judge, ...] = ()
    candidate_weight: float | None = None
    criteria_model: Model | None = None
    criteria_parameters: Parameters = PARAMETERS
    criteria: tuple[Criterion, ...] = ()
    seed: int = 0
    quorum: int | None = None
    ties: bool = False
    hide_identities: bool = True
    hide_names: tuple[str, ...] = ()
    with_reference: bool = False
    notices: tuple[str, ...] = ()
    prompt_version: int = FIRST
    analysis_words: int = MAX_ANALYSIS_WORDS
    compact: bool = False

    def __post_init__(self) -> None:
        check_panel(self.voters(), self.quorum)

    def voters(self) -> list[Voter]:
        """The declared voters: the panel, and candidates where they were given a weight."""
        panel = [Voter(judge.name, judge.weight, model=judge.model.name) for judge in self.judges]
        if self.candidate_weight is None:
            return panel
        return panel + [
            Voter(voter_name(judge), self.candidate_weight, panel=False, model=judge.model.name)
            for judge in self.observers
        ]

    def digest_for(self, item: Item) -> str:
        """Digest of everything that determines the evaluations of an item, but repeat and cycle."""
        models = [_identity(one) for one in self.candidates]
        judges = [
            [one.name, str(one.model.endpoint), one.model.name, _plain(one.parameters), one.weight]
            for one in (*self.judges, *self.observers)
        ]
        criteria = None
        if self.criteria_model is not None:
            model = self.criteria_model
            criteria = [str(model.endpoint), model.name, _plain(self.criteria_parameters)]
        return digest(
            [
                [item.id, item.question, item.reference if self.with_reference else None],
                None if self.candidates else sorted(item.responses.items()),
                sorted(models),
                judges,
                len(self.judges),
                self.candidate_weight,
                criteria,
                [one.model_dump() for one in self.criteria],
                [self.seed, self.quorum, self.ties, sorted(self.hide_names), templates_digest(self.prompt_version)],
                *([self.analysis_words] if self.analysis_words != MAX_ANALYSIS_WORDS else []),
            ]
        )


def voter_name(judge: Judge) -> str:
    """What a candidate is called as a judge: apart from a judge of the panel with the same name."""
    return f"candidate:{judge.name}"


@dataclass(frozen=True, slots=True)
class Place:
    """Which evaluation of an item: cycles differ by their answers, repeats by labels and draws alone."""

    cycle: int = 1
    repeat: int = 1
    cycles: int = 1
    repeats: int = 1

    def id_of(self, item: Item) -> str:
        """The evaluation's id: ``q1``, or ``q1/c2/r1`` where there are several cycles or repeats."""
        cycle = f"/c{self.cycle}" if self.cycles > 1 else ""
        return f"{item.id}{cycle}/r{self.repeat}" if self.repeats > 1 or cycle else item.id

    def evaluation(self, item: Item) -> str:
        """What labels are drawn from, with seed and judge: names item, cycle and repeat, and nothing else."""
        return f"{item.id}/c{self.cycle}/r{self.repeat}"

    @property
    def draw(self) -> int:
        """A fresh draw of every reply for every repeat, so that no repeat is answered from the store of another."""
        return (self.cycle - 1) * REPEATS_AT_MOST + self.repeat - 1

    def key(self, item: Item, clash: Clash) -> str:
        """Digest that names this evaluation in a file of records."""
        return digest([clash.digest_for(item), self.cycle, self.repeat])


async def evaluate(
    item: Item,
    clash: Clash,
    places: Sequence[Place] = (Place(),),
    *,
    earlier: Mapping[str, ClashRecord] | None = None,
    known: Sequence[CandidateAnswer] = (),
) -> list[ClashRecord]:
    """Makes one attempt at each of several repeats of one cycle; they judge the same answers.

    Args:
        item: the question; its responses are judged where the clash has no candidates.
        places: repeats of one cycle.
        earlier: the last attempt before this one, by key: what is there is kept.
        known: answers of this cycle that other repeats judged already.

    Returns:
        A record each, in order. What the answers took is counted in the first one.

    Raises:
        BudgetExceeded: the run's budget is spent.
    """
    keys = [place.key(item, clash) for place in places]
    attempts = [
        _Attempt(item, clash, place, key, (earlier or {}).get(key)) for place, key in zip(places, keys, strict=True)
    ]
    known = known or next((one.earlier.candidates for one in attempts if one.earlier is not None), ())

    async def answers() -> None:
        found = await gather_answers(item, clash.candidates, draw=places[0].cycle - 1, known=known)
        given = [answer for answer, _ in found]
        blinded = await _blinded(item, clash, given)
        for attempt in attempts:
            attempt.answers, attempt.blinded = given, blinded
        attempts[0].spent = total(TimedSpent, [attempts[0].spent, *(spent for _, spent in found)])

    await all_of([answers(), *(attempt.name_criteria() for attempt in attempts)])
    await all_of([attempt.vote() for attempt in attempts])
    return [attempt.record() for attempt in attempts]


@dataclass(slots=True)
class _Attempt:
    """One attempt on its way to a record."""

    item: Item
    clash: Clash
    place: Place
    key: str
    earlier: ClashRecord | None
    spent: TimedSpent = field(default_factory=TimedSpent)
    answers: Sequence[CandidateAnswer] = ()
    blinded: Blinded = field(default_factory=Blinded)
    criteria: CriteriaSet | None = None
    votes: list[JudgeVote] = field(default_factory=list)

    async def name_criteria(self) -> None:
        """The caller's own, those of an earlier attempt, those a model names, or the generic four."""
        clash = self.clash
        if clash.criteria:
            self.criteria = CriteriaSet(criteria=clash.criteria, source="given")
        elif self.earlier is not None and self.earlier.criteria is not None:
            self.criteria = self.earlier.criteria
        elif clash.criteria_model is None:
            self.criteria = CriteriaSet(criteria=GENERIC, source="generic")
        else:
            outcome = await generate_criteria(
                clash.criteria_model,
                self.item.question,
                parameters=clash.criteria_parameters,
                draw=self.place.draw,
                prompt_version=clash.prompt_version,
                brief=clash.compact,
            )
            self.criteria = outcome.criteria
            self.spent += outcome.spent

    async def vote(self) -> None:
        """All judges and observers at once, unless there is nothing to compare."""
        if len(self.shown) < min(2, len(self.answers)):
            return
        self.votes = await all_of([self._vote(seat) for seat in self._seats()])

    def _seats(self) -> list["_Seat"]:
        """All that rank: the panel, then candidates as voters or observers."""
        clash, draw = self.clash, self.place.draw
        role: Role = "observer" if clash.candidate_weight is None else "voter"
        panel = zip(clash.judges, copies([judge.model for judge in clash.judges]), strict=True)
        others = zip(clash.observers, copies([judge.model for judge in clash.observers]), strict=True)
        seats = [_Seat(judge, judge.name, "panel", judge.weight, draw + copy * COPIES_APART) for judge, copy in panel]
        return seats + [
            _Seat(judge, voter_name(judge), role, clash.candidate_weight, draw + copy * COPIES_APART + _OBSERVER_DRAWS)
            for judge, copy in others
        ]

    def asked_alike(self) -> bool:
        """Whether every judge that answered in the earlier attempt would be asked the same today."""
        votes = {} if self.earlier is None else {vote.judge: vote for vote in self.earlier.votes if vote.replied}
        return all(self._asked(seat, votes[seat.name]) for seat in self._seats() if seat.name in votes)

    @property
    def shown(self) -> dict[str, str]:
        """Candidate -> the text the judges see."""
        return self.blinded.shown

    async def _vote(self, seat: "_Seat") -> JudgeVote:
        clash, judge = self.clash, seat.judge
        length = self.item.characters + sum(map(len, self.shown.values()))
        kept = None if self.earlier is None else await off_the_loop(partial(self._kept, seat), length)
        if kept is not None:
            return kept
        assert self.criteria is not None
        result = await rank_responses(
            judge.model,
            self.item.question,
            self.shown,
            judge=seat.name,
            seed=clash.seed,
            evaluation=self.place.evaluation(self.item),
            criteria=self.criteria.criteria,
            form=self._form(seat),
        )
        self.spent += result.spent
        names = ("judge", "model", "reported_model", "ranking", "instruction", "failure", "replied", "replies")
        return JudgeVote(
            **{name: getattr(result, name) for name in (*names, "cost_usd", "request_digest")},
            endpoint=str(judge.model.endpoint),
            role=seat.role,
            weight=seat.weight,
            label_map=result.blinding.label_map,
            order=result.blinding.order,
            scores={name: dict(row) for name, row in sorted(result.scores.items())},
            comparison=result.text,
            latency_s=round(result.spent.latency_s, 6),
            own=judge.own if judge.own in self.shown else None,
        )

    def _form(self, seat: "_Seat") -> RankingForm:
        clash = self.clash
        return RankingForm(
            reference=self.item.reference if clash.with_reference else None,
            parameters=seat.judge.parameters,
            draw=seat.draw,
            **{name: getattr(clash, name) for name in ("ties", "prompt_version", "analysis_words", "compact")},
        )

    def _kept(self, seat: "_Seat") -> JudgeVote | None:
        """The vote of an earlier attempt on the same answers as shown, where the judge could be asked."""
        earlier = self.earlier
        if earlier is None or set(earlier.answered) != set(self.shown):
            return None
        vote = next((vote for vote in earlier.votes if vote.judge == seat.name and vote.replied), None)
        return vote if vote is not None and self._asked(seat, vote) else None

    def _asked(self, seat: "_Seat", vote: JudgeVote) -> bool:
        """Whether an earlier vote answers the very request that would be sent now."""
        earlier, clash = self.earlier, self.clash
        assert earlier is not None
        if _hidden_alike(earlier, clash):
            return True
        named, form = self.criteria or earlier.criteria, self._form(seat)
        labels = blind(self.shown, seed=clash.seed, evaluation=self.place.evaluation(self.item), judge=seat.name)
        criteria = () if named is None else named.criteria
        requests = [
            ranking_request(self.item.question, self.shown, labels, criteria, replace(form, compact=compact))
            for compact in (True, False)  # the form of the reply changes nothing of what is asked
        ]
        return vote.request_digest in {request_key(seat.judge.model, one) for one in requests}

    def record(self) -> ClashRecord:
        """The attempt as a record."""
        clash, item, place, earlier = self.clash, self.item, self.place, self.earlier
        groups = {vote.judge: vote.groups for vote in self.votes if vote.counted}
        counted = tally(list(self.shown), clash.voters(), groups, quorum=clash.quorum) if self.votes else None
        status: Status = "error" if not self.shown else "no_verdict"
        why: str | None = f"{len(self.shown)} of {len(self.answers)} candidates answered: there is nothing to compare"
        if counted is not None:
            status, why = counted.status, counted.why
        return ClashRecord(
            id=place.id_of(item),
            key=self.key,
            evaluation=place.evaluation(item),
            attempt=1 if earlier is None else earlier.attempt + 1,
            item_id=item.id,
            cycle=place.cycle,
            repeat=place.repeat,
            seed=clash.seed,
            category=item.category,
            question=item.question,
            reference=item.reference if clash.with_reference else None,
            label=item.label,
            models=item.models or {},
            status=status,
            winner=None if counted is None else counted.winner,
            tied=() if counted is None else counted.tied,
            why=why,
            candidates=tuple(
                one.model_copy(update={"hidden_names": self.blinded.hidden_in(one.name)}) for one in self.answers
            ),
            blinding=self.blinded.report,
            criteria=self.criteria,
            panel=tuple(judge.name for judge in clash.judges),
            votes=tuple(self.votes),
            tally=counted,
            notices=clash.notices,
            spent_usd=self.spent.cost_usd,
            calls=self.spent.calls,
            cached_calls=self.spent.cached_calls,
            prompt_digests=_prompt_digests(clash.prompt_version),
            metajudge_version=__version__,
        )


@dataclass(frozen=True, slots=True)
class _Seat:
    """A judge in its role.

    Attributes:
        name: what it is called in the record.
        weight: None for an observer.
        draw: index of its reply.
    """

    judge: Judge
    name: str
    role: Role
    weight: float | None
    draw: int


async def unchanged(record: ClashRecord, item: Item, clash: Clash) -> bool:
    """Whether judges would be shown today what they were shown in a recorded attempt.

    Records of earlier versions hid less: they stand where nothing more is hidden today, else are judged anew.
    """
    if _hidden_alike(record, clash) or not record.votes:
        return True
    attempt = _Attempt(item, clash, Place(record.cycle, record.repeat), record.key, record)
    attempt.answers, attempt.blinded = record.candidates, await _blinded(item, clash, record.candidates)
    return attempt.asked_alike()


def _hidden_alike(record: ClashRecord, clash: Clash) -> bool:
    report = record.blinding
    return report is not None and report.rule == RULE and report.hiding == clash.hide_identities


async def _blinded(item: Item, clash: Clash, answers: Sequence[CandidateAnswer]) -> Blinded:
    """The answers that there are, as judges read them; the names of all candidates are hidden in all of them."""
    models = {*(item.models or {}).values(), *(one.model for one in answers if one.model is not None)}
    return await hide_identities_aside(
        {one.name: one.text for one in answers if one.text is not None},
        question=item.question,
        models=models,
        names=clash.hide_names,
        hiding=clash.hide_identities,
    )


def prepare_prompts(clash: Clash) -> None:
    """Reads and compiles all prompts, so that the first answers do not have to wait for it."""
    version = clash.prompt_version
    _prompt_digests(version)
    prepare_hiding()
    render_ranking_system(scored=True, ties=clash.ties, version=version, analysis_words=clash.analysis_words)
    render_ranking("", {"A0": ""}, shown_criteria(GENERIC), version=version)
    criteria_request("", prompt_version=version)


@cache
def _prompt_digests(version: int) -> dict[str, str]:
    return {"ranking": templates_digest(version), "criteria": prompts_digest(*CRITERIA, version=version)}


def _identity(candidate: Candidate) -> list[object]:
    """What determines a candidate's answers. Prompt and headers are in it only where there are some.

    A candidate's headers come from a configuration, which refuses those that carry secrets.
    """
    own: list[object] = [candidate.system] if candidate.system else []
    if candidate.parameters.headers:
        own.append([list(one) for one in candidate.parameters.headers])
    return [candidate.name, str(candidate.model.endpoint), candidate.model.name, _plain(candidate.parameters), *own]


def _plain(parameters: Parameters) -> list[object]:
    """The parameters that determine a reply: no time-out, and no headers, which may contain secrets."""
    p = parameters
    return [p.temperature, p.top_p, p.max_tokens, p.seed, p.effort, *p.later.values()]
