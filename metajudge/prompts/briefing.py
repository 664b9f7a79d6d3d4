"""What a policy tells judges of cases beside the rubric: company, priorities, language, a further instruction."""

from dataclasses import dataclass

from metajudge.prompts.templates import render
from metajudge.prompts.versions import FIRST

TEMPLATES = ("case_briefing",)
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
