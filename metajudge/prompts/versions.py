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

NEWEST = 3
"""The newest set."""

_FOLDER = re.compile(r"v([1-9][0-9]*)")


@cache
def prompt_sets() -> dict[int, Traversable]:
    """Version -> folder of every set, oldest first."""
    folders = {_FOLDER.fullmatch(entry.name): entry for entry in files("metajudge.prompts").iterdir()}
    return dict(sorted((int(match[1]), entry) for match, entry in folders.items() if match))


def hides_always(version: int) -> bool:
    """Whether blind judges read every response without its author's names.

    Under the first two sets those of pairs and of grades do only where the item says which models answered, and those
    of ``rejudge`` never.
    """
    return version > FIRST + 1


def continues(version: int, held: str) -> str:
    """The notice of a panel that names no version and goes on under an older one.

    Args:
        held: where it has results under that version.
    """
    return (
        f"prompt version {version} is used, because {held} under it; version {NEWEST} asks everything again: "
        f"--prompt-version newest (--dry-run prices it), or prompt_version = {NEWEST} in the panel file. "
        f"prompt_version = {version} there ends this notice"
    )


def check_version(version: int) -> None:
    """Refuses a version that has no set.

    Raises:
        ConfigurationError: naming the versions that exist.
    """
    if version not in prompt_sets():
        there = ", ".join(map(str, prompt_sets()))
        raise ConfigurationError(f"prompt_version {version}: unknown prompt set; choose one of {there}")
