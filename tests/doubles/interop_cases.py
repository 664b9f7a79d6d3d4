"""Questions and answers of our own, what a judge said of them, and what people said."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """One answer and everything said of it.

    Attributes:
        judge: whether the judge calls the answer correct; None where the judge failed.
        tone: the judge's grade of the tone, 1 to 5.
        people: annotator -> whether the person calls the answer correct.
    """

    question: str
    answer: str
    judge: bool | None
    tone: int
    people: dict[str, bool]


CASES = (
    Case("What is 12 times 12?", "144", True, 4, {"anna": True, "ben": True}),
    Case("Which planet is nearest to the sun?", "Venus is.", True, 5, {"anna": False, "ben": False}),
    Case("Is 91 a prime number?", "No: 7 times 13 is 91.", True, 4, {"anna": True, "ben": False}),
    Case("Name a mammal that lays eggs.", "The platypus.", False, 3, {"anna": True}),
    Case("Who wrote the play Hamlet?", "I would rather not say.", None, 1, {"ben": False}),
    Case("What is the boiling point of water at sea level?", "100 degrees Celsius.", True, 5, {}),
)
EXPLANATIONS = {True: "The answer is right.", False: "The answer is wrong.", None: ""}
JUDGE_MODEL = "openai:/gpt-4o-mini"
"""The source that the judge's scores name; no model was asked."""

MODELS = ("heron-large", "wren-small")
"""Who wrote the answer of :data:`CASES`, and who the other one, for tools whose judges compare two; both fictional."""
OTHERS = (
    "12 times 12 is 124.",
    "Mercury.",
    "Yes, 91 is prime.",
    "A whale.",
    "William Shakespeare.",
    "About 212 degrees Celsius.",
)
ANSWERS = {MODELS[0]: tuple(case.answer for case in CASES), MODELS[1]: OTHERS}
