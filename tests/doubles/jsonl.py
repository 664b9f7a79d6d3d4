"""Files of JSON lines."""

import json
from pathlib import Path


def lines(path):
    """The records of a file."""
    return [json.loads(line) for line in Path(path).read_text().splitlines()]
