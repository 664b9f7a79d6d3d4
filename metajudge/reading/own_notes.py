"""What ``metajudge push`` wrote into a system: in that system's export it is no verdict to vet."""

from collections.abc import Mapping

from metajudge.reading.containers.cells import parsed

NAME = "metajudge"
"""How our notes are named where the user does not say."""
KEY = "metajudge_key"
"""Where the metadata of such a note has its key."""
AGENT = "metajudge:"
"""What the agent of a note begins with in a system that keeps no metadata; its key follows."""


def is_ours(metadata: object) -> bool:
    """Whether an assessment is such a note, by its metadata; they may be JSON text, as in a CSV file."""
    if isinstance(metadata, str) and KEY in metadata:
        metadata = parsed(metadata)
    return isinstance(metadata, Mapping) and KEY in metadata
