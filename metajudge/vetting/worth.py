"""What verdicts kept without labels were worth on labelled sets of others, in a sentence.

The figures are in ``worth.json``, which names the command that wrote it.
"""

import json
from collections.abc import Collection
from functools import lru_cache
from importlib import resources
from typing import Any


@lru_cache(maxsize=1)
def _sets() -> list[dict[str, Any]]:
    text = (resources.files("metajudge.vetting") / "worth.json").read_text("utf-8")
    return list(json.loads(text)["sets"])


def worth_lines(kinds: Collection[str]) -> list[str]:
    """The range over sets with such verdicts, pairs and others apart."""
    lines = []
    for pairs, named in ((True, "Pairs"), (False, "Verdicts that are no pairs")):
        if not any((kind == "pairwise") == pairs for kind in kinds):
            continue
        sets = [one for one in _sets() if (one["kind"] == "pairwise") == pairs]
        shares = sorted((100 * one["kept_right"] / one["kept"], one["name"]) for one in sets)
        low, high = (f"{share:.1f} % ({name})" for share, name in (shares[0], shares[-1]))
        lines.append(
            f"{named} kept without labels were right in {low} to {high} on {len(shares)} labelled sets of others: "
            "where judges share an error, they agree on it."
        )
    return lines
