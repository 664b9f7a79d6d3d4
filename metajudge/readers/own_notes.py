"""What ``metajudge push`` wrote into a system: in that system's export it is no verdict to vet."""

from collections.abc import Mapping

import orjson

KEY = "metajudge_key"
"""Where the metadata of such a note has its key."""


def is_ours(metadata: object) -> bool:
    """Whether an assessment is such a note, by its metadata; they may be JSON text, as in a CSV file."""
    if isinstance(metadata, str) and KEY in metadata:
        try:
            metadata = orjson.loads(metadata)
        except orjson.JSONDecodeError:
            return False
    return isinstance(metadata, Mapping) and KEY in metadata
