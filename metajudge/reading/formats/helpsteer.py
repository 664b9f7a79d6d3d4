"""HelpSteer of NVIDIA (Wang et al., 2023 to 2025): people's ratings of one answer, and people's preferences of two.

Sets 1 and 2 have ``prompt, response`` and five criteria from 0 to 4; a list has the answers of several people. Turns of
a prompt stand behind ``<extra_id_1>User`` and ``<extra_id_1>Assistant``. Preferences have ``response_1, response_2,
preference_strength`` (set 2) or ``context, response1, response2, overall_preference, individual_preference`` (set 3):
from -3, the first one is much better, to 3, the second one is; -100 is neither. What each person said goes before what
is made of it.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from metajudge.reading.formats.records import Record, Records, Score

_CRITERIA: Final = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
_TURN: Final = re.compile(r"\n?<extra_id_1>(User|Assistant)\n")
_STRENGTHS: Final = {
    "-3": "A>>B",
    "-2": "A>B",
    "-1": "A>B",
    "0": "tie",
    "1": "B>A",
    "2": "B>A",
    "3": "B>>A",
    "-100": "none",
}


def _turns(record: Record) -> Any:
    first, *others = _TURN.split(str(record["prompt"]))
    spoken = [{"role": role.lower(), "content": text} for role, text in zip(others[::2], others[1::2], strict=True)]
    return [{"role": "user", "content": first}, *spoken] if spoken else first


def _preferred(record: Record) -> Iterator[Score]:
    given = record.get("individual_preference") or record.get("all_preferences_unprocessed") or ()
    said = [one.get("score", one.get("strength")) for one in given]
    yield Score(value=(lambda _: said) if said else "overall_preference|preference_strength", name="preference")


RATINGS: Final = Records(
    name="HelpSteer ratings",
    marks="prompt, response, " + ", ".join(_CRITERIA),
    question=_turns,
    answers={"A": "response"},
    models={},
    prefix="helpsteer",
    scores=tuple(Score(value=name, name=name) for name in _CRITERIA),
)
PREFERENCES: Final = Records(
    name="HelpSteer preferences",
    marks="context|prompt, response1|response_1, response2|response_2, overall_preference|preference_strength",
    also=".*preferences?(_.*)?",
    question=lambda record: record.get("context") or _turns(record),
    answers={"A": "response1|response_1", "B": "response2|response_2"},
    models={},
    prefix="helpsteer",
    category="domain",
    scores=_preferred,
    meanings=_STRENGTHS,
)
