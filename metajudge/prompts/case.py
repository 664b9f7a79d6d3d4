"""The prompts of a case judge: what a stage is scored on, and the stage's work.

What is the same for all cases of a policy comes first, so that providers cache it. The judge sees the case's type, what
the stage was given and what it produced; no weights, no thresholds, no other judge's scores.
"""

from metajudge.prompts.briefing import Briefing, render_briefing
from metajudge.prompts.templates import render
from metajudge.prompts.versions import FIRST
from metajudge.rubric import Rubric

TEMPLATES = ("case_system", "case_stage", "repair")
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
