"""Recomputed figures with the paper's beside them, and why they differ."""

import tomllib
from decimal import Decimal
from importlib.resources import files
from typing import Any

from ..figure import Explanation, Figure

PUBLISHED: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("published.toml").read_text("utf-8"), parse_float=Decimal
)
"""The paper's figures by id; numbers with a point as Decimal, which keeps the digits as printed."""


def printed(prefix: str) -> set[str]:
    """What follows a prefix in the ids of the paper's figures."""
    return {name.removeprefix(prefix) for name in PUBLISHED if name.startswith(prefix)}


def beside(name: str, ours: Figure) -> Figure:
    """Puts the paper's figure beside ours.

    Where they differ beyond the paper's rounding, the explanation is checked: it is right if its value is the paper's.
    """
    paper, why = PUBLISHED.get(name), ours.why
    if ours.value is not None and paper is not None and not agrees(ours.value, paper):
        why = f"{_explained(paper, ours.explanation, why or '')} {why or ''}".strip() or None
    return ours.model_copy(update={"paper": plain(paper), "why": why})


def _explained(paper: Any, explanation: Explanation | None, remark: str) -> str:
    if explanation is None:
        return "" if remark else "No computation on these data was found to give the paper's figure."
    if agrees(explanation.value, paper):
        return f"The paper's figure is {explanation.how}."
    return (
        f"The paper's figure is {explanation.how} on the study's own data; here that gives {shown(explanation.value)}, "
        "so these rows are not the ones it was printed from."
    )


def agrees(ours: Any, paper: Any) -> bool:
    """Whether ours rounds to the paper's figure; for objects every part that the paper prints."""
    if isinstance(paper, dict):
        return isinstance(ours, dict) and all(key in ours and agrees(ours[key], paper[key]) for key in paper)
    if isinstance(paper, list | tuple):
        alike = isinstance(ours, list | tuple) and len(ours) == len(paper)
        return alike and all(agrees(one, other) for one, other in zip(ours, paper, strict=True))
    if isinstance(paper, str) or isinstance(ours, str) or ours is None:
        return bool(ours == paper)
    exponent = paper.as_tuple().exponent if isinstance(paper, Decimal) else 0
    return abs(float(ours) - float(paper)) <= 0.5 * 10.0 ** int(exponent) + 1e-9


def plain(paper: Any) -> Any:
    """A transcribed figure with plain numbers."""
    if isinstance(paper, dict):
        return {key: plain(part) for key, part in paper.items()}
    if isinstance(paper, list):
        return [plain(part) for part in paper]
    return float(paper) if isinstance(paper, Decimal) else paper


def shown(value: Any) -> str:
    """A value in a sentence."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {shown(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(shown, value)) + "]"
    return str(value)
