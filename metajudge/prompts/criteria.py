"""The prompt that asks for criteria: it is rendered from the request alone, so no response can shape them."""

from functools import cache

from metajudge.prompts.templates import render
from metajudge.prompts.versions import FIRST

TEMPLATES = ("criteria_system", "criteria")
"""The templates of criteria, for :func:`metajudge.prompts.templates.prompts_digest`."""

BRIEF_WORDS = 9
"""Words of a criterion, name included, where replies are to be brief."""

_BRIEF = (
    f"Be brief: at most {BRIEF_WORDS} words in each text, name included. Write the whole object on one line, without "
    "spaces between its parts."
)


@cache
def render_criteria_system(version: int = FIRST) -> str:
    """The instruction to a model that names criteria; the same for all requests."""
    return render("criteria_system", version)


def render_criteria(request: str, version: int = FIRST, *, brief: bool = False) -> str:
    """The request, fenced.

    Args:
        brief: ask for texts so short that five criteria fit into 150 tokens.
    """
    text = render("criteria", version, request=request)
    return f"{text}\n\n{_BRIEF}" if brief else text
