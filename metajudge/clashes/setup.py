"""From what the user asked for to a clash over a session's models; candidates come from text, a file or plain data."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from metajudge.clashes.clash import REPEATS_AT_MOST, Clash, Judge
from metajudge.errors import ConfigurationError, InputError
from metajudge.judging.answers import Candidate
from metajudge.judging.blinding import identifying_names
from metajudge.judging.criteria import PARAMETERS, Criterion
from metajudge.panels.building import parameters_of, price_of
from metajudge.panels.config import AgentConfig, CandidateConfig, load_panel_file
from metajudge.prompts.versions import FIRST
from metajudge.providers.families import family_of
from metajudge.providers.model import Model, Parameters
from metajudge.providers.prices import Price
from metajudge.providers.spec import parse_agent_spec
from metajudge.reading.containers.lines import Reject
from metajudge.reading.items import open_items
from metajudge.reading.questions import Question, as_question, names_file, open_questions
from metajudge.reading.reasons import as_record, reason_of
from metajudge.session import Respondent, Respondents, Session
from metajudge.types import ID_PATTERN, Item

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_.-]+")
_TELLING_WORDS = 4
"""Words from which on a system prompt is hidden where an answer repeats it; a shorter one is an ordinary phrase."""

GivenCandidate = str | Model | CandidateConfig | Mapping[str, object]
"""A candidate as text, as a model object, as configured, or the plain data of a configuration."""


@dataclass(frozen=True, slots=True)
class CandidateSpec:
    """A candidate's name, and the model behind it as far as it is known without asking.

    Attributes:
        price: None where it is unknown.
        config: None for a candidate given as an object.
    """

    name: str
    endpoint: str
    model: str
    provider: str | None = None
    price: Price | None = None
    config: CandidateConfig | None = None

    @classmethod
    def of(cls, given: GivenCandidate | AgentConfig) -> "CandidateSpec":
        """Reads a candidate, or the model of the criteria.

        Raises:
            ConfigurationError: text or data that is no candidate.
        """
        if isinstance(given, str | Mapping):
            given = candidate_config(given, "candidate")
        if not isinstance(given, AgentConfig):
            return cls(candidate_name(given.name), str(given.endpoint), given.name)
        spec, config = parse_agent_spec(given.spec()), given if isinstance(given, CandidateConfig) else None
        return cls(candidate_name(spec.name), str(spec.endpoint), spec.model, spec.provider, price_of(given), config)

    @property
    def system(self) -> str:
        """The system prompt; empty where there is none."""
        return "" if self.config is None else self.config.system


def candidate_name(name: str) -> str:
    """A model's name as a response id: ``meta/llama-3:70b`` becomes ``meta-llama-3-70b``."""
    return name if re.fullmatch(ID_PATTERN, name) else _NOT_IN_IDS.sub("-", name).strip("-") or "candidate"


def askable(given: Iterable[GivenCandidate]) -> list[str | Model | AgentConfig]:
    """Candidates in the forms that a session takes."""
    return [candidate_config(one, "candidate") if isinstance(one, Mapping) else one for one in given]


def load_candidates(path: Path) -> tuple[CandidateConfig, ...]:
    """Reads ``[[candidates]]`` of a panel file; one with ``[[agents]]`` alone has its agents taken as candidates.

    Raises:
        ConfigurationError: as for panel files; or no candidate in it, or an agent with settings of a judge.
    """
    panel = load_panel_file(path)
    found = panel.candidates or tuple(
        candidate_config(one.model_dump(exclude_defaults=True), f"{path}: agents.{place}")
        for place, one in enumerate(panel.agents)
    )
    if not found:
        raise ConfigurationError(
            f'{path} names no candidate: write [[candidates]] for each, with model = "PROVIDER:MODEL"'
        )
    return found


def candidate_config(data: Mapping[str, Any] | object, where: str) -> CandidateConfig:
    """Checks plain data, or text, as a candidate.

    Raises:
        ConfigurationError: what is wrong with it; values are not repeated, since headers may hold secrets.
    """
    try:
        return CandidateConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError(f"{where}: {reason_of(error)}") from None


UNANSWERED = "unanswered"
"""The id of the placeholder response in an item whose candidates have yet to answer."""

ItemOrQuestion = Item | Question | Mapping[str, object] | str
"""An item with responses, a question, plain data of either, or a prompt."""


@dataclass(frozen=True, slots=True)
class ClashSettings:
    """How a clash is run.

    Attributes:
        candidates: who answers: ``[NAME=]PROVIDER:MODEL[@BASE_URL]``, model objects, or full configurations
            (:class:`~metajudge.panels.config.CandidateConfig`, or its plain data); none for those of the panel's file.
        judges: the panel; None for the session's own agents.
        criteria_model: names criteria for each question; None for that of the panel's file, else the generic four, or
            ``criteria``. As text, or configured with a price, a key variable and so on.
        given: judge the responses of the items, rather than have candidates answer; None: where there is no candidate.
        observers: candidates rank all answers, too, and do not count; ``voters``: they count.
        judge_weight: factor of each judge's own weight; None for 1, with ``voters`` 2.
        candidate_weight: with ``voters``: the weight of each candidate's vote; None for 1.
        quorum: judges that have to give a ranking; None for more than half of the panel.
        repeats: how often the same answers are judged, under fresh labels and with fresh replies; or which repeats,
            for instance ``(3,)`` for a third run over chosen items.
        cycles: how often the answers are made anew.
        hide_identities: False lets judges read who wrote an answer; recorded with every evaluation.
        temperature, max_tokens: of the candidates' answers, where a candidate's configuration does not set its own.
        seed: of the labels.
        attempts: at an evaluation in which a model could not be asked, over all runs with one file.
    """

    candidates: Sequence[GivenCandidate] = ()
    judges: Respondents | None = None
    criteria_model: str | Model | AgentConfig | None = None
    criteria: tuple[Criterion, ...] = ()
    given: bool | None = None
    observers: bool = False
    voters: bool = False
    judge_weight: float | None = None
    candidate_weight: float | None = None
    quorum: int | None = None
    repeats: int | Sequence[int] = 1
    cycles: int = 1
    ties: bool = False
    with_reference: bool = False
    hide_identities: bool = True
    temperature: float | None = None
    max_tokens: int | None = None
    criteria_temperature: float | None = PARAMETERS.temperature
    criteria_max_tokens: int | None = PARAMETERS.max_tokens
    seed: int = 0
    attempts: int = 3

    @property
    def answering(self) -> bool:
        """Whether candidates answer; the items bring their responses otherwise."""
        return bool(self.candidates) if self.given is None else not self.given

    @property
    def asks_candidates(self) -> bool:
        """Whether candidates answer or rank."""
        return self.answering or self.observers or self.voters

    def check(self) -> None:
        """Refuses, before anything is read or sent, what makes no sense together.

        Raises:
            ConfigurationError: with what to give instead.
        """
        if self.answering and not self.candidates:
            raise ConfigurationError(
                "no candidate: give --candidate PROVIDER:MODEL for each model that answers, or --responses given"
            )
        if self.observers and self.voters:
            raise ConfigurationError("observers do not count and voters do: give one of them")
        if (self.observers or self.voters) and not self.candidates:
            raise ConfigurationError("observers and voters are candidates: name their models as candidates")
        if self.candidate_weight is not None and not self.voters:
            raise ConfigurationError("a candidate weight needs --voters: observers have no weight")
        names = [one.name for one in self.candidate_specs()]
        for name in names:
            if names.count(name) > 1:
                raise ConfigurationError(
                    f"candidate {name} is given more than once: name them apart with NAME=PROVIDER:MODEL"
                )

    def candidate_specs(self) -> list[CandidateSpec]:
        """The candidates, before any of them is asked."""
        return [CandidateSpec.of(one) for one in self.candidates]

    def items(self, given: Sequence[ItemOrQuestion]) -> list[Item]:
        """What is to be judged, of plain data: different items in order, without responses where candidates answer.

        Raises:
            InputError: data that is no item, or one id for two items.
        """
        found: dict[str, Item] = {}
        for one in given:
            if self.answering:
                asked = as_question(one.model_dump(exclude_none=True) if isinstance(one, Item) else one)
                about = {"question": asked.question, "category": asked.domain, "reference": asked.reference}
                item = Item(id=asked.id, responses={UNANSWERED: ""}, **about)
            elif isinstance(one, str | Question):
                raise InputError("responses are judged: give items with responses, or candidates that answer")
            else:
                item = as_record(one, Item, "the item")
            if found.setdefault(item.id, item) != item:
                raise InputError(f"two different items have the id {item.id!r}: give each item its own id")
        return list(found.values())


def repeat_numbers(given: int | Sequence[int]) -> list[int]:
    """The repeats asked for: so many from 1 on, or those named.

    Raises:
        ConfigurationError: none, or a number out of range.
    """
    numbers = list(range(1, given + 1)) if isinstance(given, int) else sorted(set(given))
    if not numbers or numbers[0] < 1 or numbers[-1] > REPEATS_AT_MOST:
        raise ConfigurationError(f"repeats are 1 to {REPEATS_AT_MOST}, not {given}")
    return numbers


def build_clash(session: Session, settings: ClashSettings, items: Sequence[Item]) -> Clash:
    """The clash over an open session's models; remarks on its panel become notices of the session.

    Names that reveal the author of a response are hidden only here, unless the settings turn it off.

    Raises:
        ConfigurationError: settings that make no sense together, or a model that cannot be asked.
    """
    settings.check()
    panel = session.models(settings.judges, weighted=True)
    factor = settings.judge_weight if settings.judge_weight is not None else 2.0 if settings.voters else 1.0
    specs = settings.candidate_specs()
    notices = [one.notice for one in panel if one.notice is not None] + panel_notices(settings, panel, specs)
    if settings.candidates and not settings.asks_candidates:
        session.note("the responses are given: no candidate is asked")
    for notice in notices:
        session.note(notice)
    candidates, observers = tuple[Candidate, ...](), tuple[Judge, ...]()
    if settings.answering:
        asked = zip(specs, session.models(askable(settings.candidates), streaming=True), strict=True)
        candidates = tuple(
            Candidate(spec.name, one.model, answer_parameters(settings, spec), spec.system) for spec, one in asked
        )
    if settings.observers or settings.voters:  # asked without the settings of their answers
        here = {name for item in items for name in item.responses}
        observers = tuple(
            Judge(name, one.model, one.parameters, own=name if settings.answering or name in here else None)
            for one in session.models(askable(settings.candidates))
            for name in [candidate_name(one.name)]
        )
    weight = 1.0 if settings.candidate_weight is None else settings.candidate_weight
    named = settings.criteria_model
    return Clash(
        judges=tuple(Judge(one.name, one.model, one.parameters, weight=one.weight * factor) for one in panel),
        candidates=candidates,
        observers=observers,
        candidate_weight=weight if settings.voters else None,
        criteria_model=None if named is None else session.models([named])[0].model,
        criteria_parameters=Parameters(
            temperature=settings.criteria_temperature, max_tokens=settings.criteria_max_tokens
        ),
        criteria=settings.criteria,
        seed=settings.seed,
        quorum=settings.quorum,
        ties=settings.ties,
        hide_identities=settings.hide_identities,
        hide_names=names_to_hide(specs, items) if settings.hide_identities else (),
        with_reference=settings.with_reference,
        notices=tuple(notices),
        prompt_version=panel[0].prompt_version,
        analysis_words=panel[0].analysis_words,
        compact=session.config.prompt_version != FIRST,  # a panel that names version 1 keeps all its bytes
    )


def names_to_hide(candidates: Sequence[CandidateSpec], items: Sequence[Item]) -> tuple[str, ...]:
    """Ids of the candidates' models and their parts; the keys of evaluations contain them.

    A candidate's NAME= is not among them: the model does not know it. Families and makers are found by the rule itself.
    """
    names: set[str] = set()
    for one in candidates:
        names.update(identifying_names(one.model, one.provider))
        if len(one.system.split()) >= _TELLING_WORDS:  # it would tell which candidate repeats its own
            names.add(one.system.strip())
    for model in {model for item in items for model in (item.models or {}).values()}:
        names.update(identifying_names(model))
    return tuple(sorted(names))


def panel_notices(
    settings: ClashSettings, panel: Sequence[Respondent], candidates: Sequence[CandidateSpec]
) -> list[str]:
    """What is to be known about a panel before its verdicts are believed."""
    notices = []
    if not settings.hide_identities:
        notices.append(
            "names are left readable (--keep-names): judges can read who wrote an answer; the verdicts are not blind"
        )
    if len(panel) == 1 and not settings.voters:
        notices.append("one judge cannot agree with itself: no verdict is unanimous, all go to a person")
    for judge in panel:
        where = str(judge.model.endpoint), judge.model.name
        own = ", ".join(one.name for one in candidates if (one.endpoint, one.model) == where)
        kin = [one.name for one in candidates if family_of(one.model) == family_of(judge.model.name)]
        if own:
            notices.append(
                f"judge {judge.name} is candidate {own}, too: it votes on its own answer, without knowing it"
            )
        elif kin:
            notices.append(f"judge {judge.name} is of the same family as candidate {', '.join(kin)}")
    if len(panel) % 2 == 0:
        notices.append(f"{len(panel)} judges tie more often than an odd number of them")
    return notices


def answer_parameters(settings: ClashSettings, spec: CandidateSpec) -> Parameters:
    """How a candidate is asked: as configured, and by the settings of the run where its configuration says nothing.

    A candidate given as an object is asked with temperature and length of the run, and nothing else.
    """
    if spec.config is None:
        return Parameters(temperature=settings.temperature, max_tokens=settings.max_tokens)
    own = parameters_of(spec.config, None)
    return replace(
        own,
        temperature=settings.temperature if own.temperature is None else own.temperature,
        max_tokens=settings.max_tokens if own.max_tokens is None else own.max_tokens,
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """What a clash is about: questions for its candidates, or items with their responses.

    Attributes:
        rejects: lines that are neither, with the reason.
        from_file: False for a prompt given as text.
    """

    items: Sequence[Question | Item]
    rejects: Sequence[Reject]
    from_file: bool


def open_asked(prompt: str, *, given: bool, limit: int | None = None) -> Asked:
    """Reads a literal prompt, or a file: of questions, or of items where the responses are given.

    Raises:
        InputError: no such file, nothing in it, an id given to two prompts, or no responses where they should be given.
    """
    if not given:
        found = open_questions(prompt, limit=limit)
        return Asked(found.items, found.rejects, found.from_file)
    if not names_file(prompt):
        raise InputError("--responses given takes the responses from a file of items: give the file as the prompt")
    source = open_items([prompt], limit=limit)
    items = tuple(source)
    if not items:
        reason = f": {source.rejects[0]}" if source.rejects else ""
        raise InputError(f"{prompt} contains no item with responses{reason}")
    return Asked(items, tuple(source.rejects), from_file=True)
