"""What our own judges were asked to weigh: their system prompts without what concerns fences and the form of replies.

A judgment's instruction is shown to meta-judges. What is left out speaks of marker lines and of a JSON object, and
would stand beside the meta-judge's own.
"""

import re
from functools import cache
from itertools import product

from metajudge.prompts.judges import render_grading_system, render_pairwise_system, render_ranking_system
from metajudge.prompts.reply_form import MAX_ANALYSIS_WORDS
from metajudge.prompts.versions import prompt_sets

_HEADING = re.compile(r"^# (.+)\n", re.MULTILINE)
_LEFT_OUT = ("Material and instructions", "Reply")
_LENGTH = re.compile(r"(?<=at most )\d+(?= words: first)")
_UNTITLED = "Your task"


def criteria_part(system: str) -> str:
    """A judge's system prompt, as rendered by this package, without its sections on material and reply.

    The heading of the task is dropped and other headings end with a colon: in a meta-judge's prompt they would read as
    sections of that prompt.
    """
    before, *rest = _HEADING.split(system)
    parts = [before]
    for title, text in zip(rest[::2], rest[1::2], strict=True):
        if title not in _LEFT_OUT:
            parts.append(text if title == _UNTITLED else f"{title}:\n{text}")
    return "\n\n".join(part.strip() for part in parts if part.strip())


def without_reply_form(instruction: str | None) -> str | None:
    """An instruction as a meta-judge is shown it: the criteria part where it is one of our own prompts, word for word.

    Records of earlier versions have the whole prompt.
    """
    if instruction is None or _LENGTH.sub(str(MAX_ANALYSIS_WORDS), instruction) not in _own_prompts():
        return instruction
    return criteria_part(instruction)


@cache
def _own_prompts() -> frozenset[str]:
    ranking = {
        render_ranking_system(scored=scored, ties=ties, version=version)
        for scored, ties, version in product((True, False), (True, False), prompt_sets())
    }
    return frozenset({render_grading_system(), *map(render_pairwise_system, prompt_sets()), *ranking})
