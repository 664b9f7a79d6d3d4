"""What a ranking looks for, by domain: criteria that evaluators score before they rank."""

from metajudge.judging.criteria import Criterion, weighted

DOMAINS: dict[str, tuple[Criterion, ...]] = {
    "math": weighted(
        [
            ("result", "Is the final result right, and is it stated?", 3.0),
            ("derivation", "Does every step follow, so that the result is reached and not guessed?", 2.0),
            ("clarity", "Can the derivation be checked without effort, and without padding?", 1.0),
        ]
    ),
    "code": weighted(
        [
            ("correctness", "Does the code do what was asked, edge cases included, when it is traced?", 3.0),
            ("fit", "Does it keep to the language, the interface and the limits that were asked for?", 2.0),
            ("readability", "Could a colleague maintain it, without needless parts?", 1.0),
        ]
    ),
    "reasoning": weighted(
        [
            ("conclusion", "Is the conclusion the one that follows?", 3.0),
            ("soundness", "Does every step hold, with no unstated leap?", 2.0),
            ("clarity", "Can the argument be followed without effort, and without padding?", 1.0),
        ]
    ),
    "knowledge": weighted(
        [
            ("accuracy", "Is every statement true?", 3.0),
            ("completeness", "Is what the question needs there, and what is uncertain marked as such?", 2.0),
            ("clarity", "Is it to the point?", 1.0),
        ]
    ),
    "instruction": weighted(
        [
            ("constraints", "Is every single instruction met: format, length, wording, what to leave out?", 3.0),
            ("content", "Is what is said within these constraints right and useful?", 2.0),
            ("clarity", "Is it free of remarks that nobody asked for?", 1.0),
        ]
    ),
    "writing": weighted(
        [
            ("voice", "Does the text have a manner of its own that suits the task, without stock phrases?", 2.0),
            ("substance", "Are there ideas, images or turns that a reader would remember?", 2.0),
            ("craft", "Do structure, rhythm and language carry it?", 1.0),
            ("task", "Is it what was asked for: form, length, audience?", 1.0),
        ]
    ),
}
"""Domain -> its criteria. A question of no domain, or of another one, is ranked without criteria."""

ALIASES = {
    "mathematics": "math",
    "gsm8k": "math",
    "coding": "code",
    "programming": "code",
    "humaneval": "code",
    "logic": "reasoning",
    "bbh": "reasoning",
    "mmlu": "knowledge",
    "ceval": "knowledge",
    "facts": "knowledge",
    "ifeval": "instruction",
    "instruction_following": "instruction",
    "creative_writing": "writing",
    "creative": "writing",
}
"""Other names of domains."""


def criteria_for(domain: str | None) -> tuple[str | None, tuple[Criterion, ...]]:
    """The name of the domain whose criteria are used, and the criteria; (None, ()) where there are none.

    Case, spaces and hyphens play no part: ``Creative Writing`` is ``writing``.
    """
    name = "" if domain is None else domain.strip().lower().replace(" ", "_").replace("-", "_")
    name = ALIASES.get(name, name)
    return (name, DOMAINS[name]) if name in DOMAINS else (None, ())
