"""The versions of the prompt set.

Set *n* is the folder ``v<n>`` beside this module. It contains the templates that differ from the set before; the others
are taken from there. A published set is never edited, because stored replies are found by the bytes that were sent: a
change of a template is a new set.
"""

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from metajudge.errors import ConfigurationError

FIRST = 1
"""The first set: of tasks other than vetting, and of panels that continue what they stored under it."""

NEWEST = 2
"""The newest set."""

_FOLDER = re.compile(r"v([1-9][0-9]*)")


@cache
def prompt_sets() -> dict[int, Traversable]:
    """Version -> folder of every set, oldest first."""
    folders = {_FOLDER.fullmatch(entry.name): entry for entry in files("metajudge.prompts").iterdir()}
    return dict(sorted((int(match[1]), entry) for match, entry in folders.items() if match))


def check_version(version: int) -> None:
    """Refuses a version that has no set.

    Raises:
        ConfigurationError: naming the versions that exist.
    """
    if version not in prompt_sets():
        there = ", ".join(map(str, prompt_sets()))
        raise ConfigurationError(f"prompt_version {version}: unknown prompt set; choose one of {there}")
