"""The prompt that asks for criteria: it is rendered from the request alone, so no response can shape them."""

from functools import cache

from metajudge.prompts.templates import render
from metajudge.prompts.versions import FIRST

TEMPLATES = ("criteria_system", "criteria")
"""The templates of criteria, for :func:`metajudge.prompts.templates.prompts_digest`."""


@cache
def render_criteria_system(version: int = FIRST) -> str:
    """The instruction to a model that names criteria; the same for all requests."""
    return render("criteria_system", version)


def render_criteria(request: str, version: int = FIRST) -> str:
    """The request, fenced."""
    return render("criteria", version, request=request)
