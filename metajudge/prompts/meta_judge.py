"""The prompts of a meta-judge, composed from domain objects.

The order of everything serves providers' prompt caches: the system prompt is the same for all judgments, and
what judgments of one item share (instruction, question, responses) comes before what is the judge's own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from metajudge.errors import PromptError
from metajudge.prompts.fences import neutralise
from metajudge.prompts.instruction import without_reply_form
from metajudge.prompts.reasons import gives_reasons
from metajudge.prompts.reply_form import ReplyForm
from metajudge.prompts.templates import ShownResponse, render
from metajudge.prompts.versions import FIRST
from metajudge.rubric import Rubric
from metajudge.types import AnyVerdict, Category, CriterionScore, Grade, Judgment, Pairwise, Ranking, json_bytes
from metajudge.types.judgment import Scale

ROLES = ("general_public", "expert", "critic", "summariser")
"""The built-in roles of a panel's members."""

VETTING = ("system", "judgment", "discussion", "summary", "repair")
"""The templates these functions render, for :func:`metajudge.prompts.templates.prompts_digest`."""

_PLAIN_LABEL = re.compile(r"[A-Za-z0-9_.\-]{1,64}")

_EXPLAINED = ReplyForm()


@dataclass(frozen=True, slots=True)
class Statement:
    """One panel member's output.

    Attributes:
        agent: its name; the first prompt set shows it.
        scores: by name, as in :attr:`Rubric.scored_names`.
        member: its place in the panel as configured, from 1; the second prompt set shows it in place of the name.
        own: whether it is the reader's.
        analysis: what it wrote before it scored, where the panel shows this to others.
    """

    agent: str
    scores: Mapping[str, CriterionScore]
    member: int | None = None
    own: bool = False
    analysis: str = ""


@dataclass(frozen=True, slots=True)
class _ShownStatement:
    agent: str
    text: str


def render_system(
    rubric: Rubric,
    role: str | None = None,
    form: ReplyForm = _EXPLAINED,
    *,
    verdict_alone: bool = False,
    version: int = FIRST,
) -> str:
    """The prefix that stays the same for every judgment: task, rubric, reply format and role.

    The weights of a criteria rubric are not shown: they combine scores and should not colour them, and so a
    change of weights asks no model anew. The first set shows those of a binary rubric.

    Args:
        role: a built-in role or a text of your own, see :func:`role_text`; it comes last, so that agents
            that differ in role alone share the prefix.
        form: what a reply consists of beside its scores. The meta-judging literature this method comes from scored
            first; explaining first lets the score follow from what was found.
        verdict_alone: for judgments without a rationale (:func:`~metajudge.prompts.reasons.gives_reasons`): the
            rubric is shown as :meth:`~metajudge.rubric.Rubric.for_verdict_alone` has it. The first set has no such
            prompt and ignores this.
        version: of the prompt set, here and in the functions below.

    Raises:
        PromptError: an unknown role, or a form that the set cannot ask for.
    """
    form.check(version)
    text = None if role is None else role_text(role, version=version)
    if version == FIRST:
        return render("system", version, rubric=rubric, role=text, explanations_first=form.explanations == "before")
    shown = rubric.for_verdict_alone() if verdict_alone else rubric
    values = {"form": form, "analysis_words": form.words, "verdict_alone": verdict_alone}
    return render("system", version, rubric=shown, role=text, **values)


def render_request(
    judgment: Judgment,
    rubric: Rubric | None = None,
    *,
    earlier: Sequence[Statement] = (),
    summarise: bool = False,
    version: int = FIRST,
) -> str:
    """The user's message: the judgment with everything the judge saw, earlier statements, and the call to answer.

    Args:
        rubric: needed for a binary rubric alone, to show its scores in statements as correct or wrong.
        earlier: what members of the panel said, in the order in which they said it.
        summarise: whether the reader sums the statements up, in place of scoring again as one of the members.

    Raises:
        PromptError: the judgment has no verdict.
    """
    if not earlier:
        return _alone(judgment, version)
    text = _judged(judgment, version, last=False)
    name = "summary" if summarise else "discussion"
    return f"{text}\n\n{render(name, version, statements=_shown(earlier, rubric, version))}"


_last_alone: tuple[Judgment, int, str] | None = None
"""The judgment shown last without statements: the agents of a panel are asked about it one after the other."""


def _alone(judgment: Judgment, version: int) -> str:
    global _last_alone
    known = _last_alone
    if known is None or known[0] is not judgment or known[1] != version:
        known = _last_alone = (judgment, version, _judged(judgment, version, last=True))
    return known[2]


def _judged(judgment: Judgment, version: int, *, last: bool) -> str:
    """The judgment with everything the judge saw; ``last``: nothing comes after it but the call to answer."""
    judged = _judgment_values(judgment, version)
    if version != FIRST:
        instruction = without_reply_form(judgment.instruction)
        judged |= {"instruction": instruction, "reasons": gives_reasons(judgment), "last": last}
    return render("judgment", version, **judged)


def _judgment_values(judgment: Judgment, version: int) -> dict[str, object]:
    if judgment.verdict is None:
        raise PromptError(f"judgment {judgment.id!r} has no verdict ({judgment.no_verdict}); there is nothing to vet")
    item = judgment.item
    labels = {name: _label(shown, version) for name, shown in zip(judgment.order, judgment.shown_labels, strict=True)}
    return {
        "instruction": judgment.instruction,
        "question": item.question,
        "reference": item.reference,
        "responses": [ShownResponse(labels[name], item.responses[name]) for name in judgment.order],
        "rationale": judgment.rationale,
        "verdict": read_verdict(judgment.verdict.relabelled(labels), item.scale),
    }


def render_repair(problems: Sequence[str], *, version: int = FIRST) -> str:
    """What was wrong with a reply, and the request for the corrected JSON object alone.

    Raises:
        PromptError: no problem.
    """
    if not problems:
        raise PromptError("a repair request needs at least one problem to name")
    return render("repair", version, problems=[f"- {_one_line(problem, version)}" for problem in problems])


def role_text(name_or_text: str, *, version: int = FIRST) -> str:
    """The text of a built-in role, or the text itself where it is one.

    Raises:
        PromptError: a single word that is no built-in role (more likely a typing error than a text), or blank.
    """
    if name_or_text in ROLES:
        return render(f"role_{name_or_text}", version)
    if len(name_or_text.split()) < 2:
        close = get_close_matches(name_or_text, ROLES, n=1)
        raise PromptError(
            f"unknown role {name_or_text!r}; built in are {', '.join(ROLES)}"
            f"{f'; did you mean {close[0]}?' if close else ''} (or describe a role in a sentence)"
        )
    return name_or_text


def read_verdict(verdict: AnyVerdict, scale: Scale | None = None) -> str:
    """A verdict as written and in plain words, e.g. ``A>>B: A is much better than B``.

    Args:
        scale: the declared one of the item, for grades and categories (:attr:`metajudge.types.Item.scale`).
    """
    match verdict:
        case Pairwise(first, second, 0):
            reading = f"{first} and {second} are equally good (a tie)"
        case Pairwise(first, second, strength):
            reading = f"{first} is {'much better' if strength == 2 else 'better'} than {second}"
        case Grade():
            reading = f"the grade the judge gave the response, on {_scale_words(scale)}"
        case Category(value):
            return f"{' '.join(str(verdict).split())}: {_category_words(value, scale)}"
        case Ranking(groups) if len(groups) == 1:
            reading = "all are equally good (a tie)"
        case Ranking(groups):
            places = [f"{_joined(group)} {_ordinal(place)}" for place, group in _places(groups)]
            reading = f"a ranking, best first: {', '.join(places)}"
    return f"{verdict}: {reading}"


def _scale_words(scale: Scale | None) -> str:
    if scale is None or isinstance(scale[0], str):
        return "the judge's own scale"
    return f"a scale from {scale[0]:g} (lowest) to {scale[1]:g} (highest)"


def _category_words(value: str | bool, scale: Scale | None) -> str:
    if isinstance(value, bool):
        return f"the judge's answer about the response is {'yes' if value else 'no'}"
    words = "the category the judge put the response in"
    if scale is None or not isinstance(scale[0], str):
        return words
    return f"{words}, one of (worst first): {', '.join(' '.join(str(name).split()) for name in scale)}"


def _places(groups: Sequence[Sequence[str]]) -> list[tuple[int, Sequence[str]]]:
    """Places as in sports: after two that share the first place comes the third."""
    places, next_place = [], 1
    for group in groups:
        places.append((next_place, group))
        next_place += len(group)
    return places


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} share"


def _ordinal(place: int) -> str:
    suffix = "th" if 10 <= place % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{suffix}"


def _label(label: str, version: int) -> str:
    """A label outside a fence: as it is where it is plain, else quoted on one line and inert."""
    if _PLAIN_LABEL.fullmatch(label):
        return label
    quoted = json_bytes(neutralise(label, version)).decode()  # a line feed becomes two characters
    return quoted.replace("\u2028", "[U+2028]").replace("\u2029", "[U+2029]")


def _one_line(text: str, version: int) -> str:
    return " ".join(neutralise(text, version).split())


def _shown(statements: Sequence[Statement], rubric: Rubric | None, version: int) -> list[_ShownStatement]:
    return [_ShownStatement(_speaker(one, version), _statement_text(one, rubric)) for one in statements]


def _speaker(statement: Statement, version: int) -> str:
    if version == FIRST:
        return _label(f"{statement.agent} (yours)" if statement.own else statement.agent, version)
    if statement.member is None:
        raise PromptError(f"the statement of {statement.agent!r} has no member number, and prompt set 2 shows no names")
    return f"Member {statement.member}{' (you)' if statement.own else ''}"


def _statement_text(statement: Statement, rubric: Rubric | None) -> str:
    lines = [statement.analysis, ""] if statement.analysis else []
    for name, given in statement.scores.items():
        if given.not_applicable:  # left out by rule, for the reader as for the speaker
            continue
        lines.append(f"{name}: {_answer(name, given.score, rubric)}")
        if given.explanation:
            lines.append(f"  {given.explanation}")
    return "\n".join(lines)


def _answer(name: str, score: float | None, rubric: Rubric | None) -> str:
    if score is None:
        return "not applicable"
    if rubric is not None and rubric.kind == "binary" and name in rubric.scored_names:
        return "correct" if score == rubric.scale.high else "wrong"
    return f"{score:g}"
