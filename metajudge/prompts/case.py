"""The prompts of a case judge: what a stage is scored on, what the policy says beside it, and the stage's work.

What is the same for all cases of a policy comes first, so that providers cache it. The judge sees the case's type, what
the stage was given and what it produced; no weights, no thresholds, no other judge's scores.
"""

from dataclasses import dataclass

from metajudge.prompts.templates import render
from metajudge.prompts.versions import FIRST
from metajudge.rubric import Rubric

BRIEFING = ("case_briefing",)
"""The template of briefings; used only where a policy has one, so that other prompts keep their digests."""


@dataclass(frozen=True, slots=True)
class Briefing:
    """What judges of cases are told beside the rubric.

    Attributes:
        company: whose work it is, and what is to be known about it.
        priorities: what it holds to be important, the most important first.
        language: of comments and weaknesses; quotes stay as they are.
        instructions: about single criteria, in the criteria's order.
    """

    company: str | None = None
    priorities: tuple[str, ...] = ()
    language: str | None = None
    instructions: tuple[str, ...] = ()


def render_briefing(briefing: Briefing, *, version: int = FIRST) -> str:
    """The end of the instruction to a judge of a stage."""
    return render("case_briefing", version, briefing=briefing)


CASE = ("case_system", "case_stage", "repair")
"""The templates of case judging, for :func:`metajudge.prompts.templates.prompts_digest`."""


def render_case_system(
    rubric: Rubric, stage_title: str | None = None, briefing: Briefing | None = None, *, version: int = FIRST
) -> str:
    """The instruction to a judge of one stage: task, criteria with their levels, form of the reply.

    Args:
        stage_title: what the stage is for, None for nothing to say.
        briefing: company, priorities, language, further instruction; None for nothing to say.
    """
    system = render("case_system", version, rubric=rubric, stage_title=stage_title)
    return system if briefing is None else f"{system}\n\n{render_briefing(briefing, version=version)}"


def render_case_stage(
    case_type: str, stage_name: str, context: str | None, output: str, *, version: int = FIRST
) -> str:
    """One stage of one case, fenced."""
    return render("case_stage", version, case_type=case_type, stage_name=stage_name, context=context, output=output)
