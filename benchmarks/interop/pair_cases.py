"""The cases with a second answer each, for tools whose judges compare two; the answers of two fictional models."""

from .cases import CASES

MODELS = ("heron-large", "wren-small")
"""Who wrote the answer of :data:`~benchmarks.interop.cases.CASES`, and who the other one."""
OTHERS = (
    "12 times 12 is 124.",
    "Mercury.",
    "Yes, 91 is prime.",
    "A whale.",
    "William Shakespeare.",
    "About 212 degrees Celsius.",
)
ANSWERS = {MODELS[0]: tuple(case.answer for case in CASES), MODELS[1]: OTHERS}
