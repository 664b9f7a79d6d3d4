"""Recomputed figures with the paper's beside them, and why they differ."""

import tomllib
from collections.abc import Iterable, Sequence
from decimal import Decimal
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict

from metajudge.stats.agreement import Agreement, cohen_kappa

from .. import figure
from ..figure import Figure, absent

PUBLISHED: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("published.toml").read_text("utf-8"), parse_float=Decimal
)
"""The paper's figures by id; numbers with a point as Decimal, which keeps the digits as printed."""


class Explanation(BaseModel):
    """Another computation that may have given the paper's figure: what it does, and what it gives on these data."""

    model_config = ConfigDict(frozen=True)

    how: str
    value: Any


class Compared(Figure):
    """A recomputed figure before the paper's stands beside it.

    Attributes:
        remark: what a reader must know of ours even where the figures agree.
    """

    explanation: Explanation | None = None
    remark: str = ""


def beside(name: str, ours: Figure) -> Figure:
    """Puts the paper's figure beside ours.

    Where they differ beyond the paper's rounding, the explanation is checked: it is right if its value is the paper's.
    """
    paper = PUBLISHED.get(name)
    why = ours.why
    if ours.value is not None and isinstance(ours, Compared):
        why = ours.remark or None
        if paper is not None and not agrees(ours.value, paper):
            why = f"{_explained(paper, ours.explanation, ours.remark)} {ours.remark}".strip() or None
    return Figure(
        value=ours.value, n=ours.n, definition=ours.definition, interval=ours.interval, paper=plain(paper), why=why
    )


def compared(ours: Figure, explanation: Explanation | None = None, remark: str = "") -> Compared:
    """A figure with what may have given the paper's."""
    return Compared(**dict(ours), explanation=explanation, remark=remark)


def compare(
    value: Any,
    n: int,
    definition: str,
    interval: tuple[float, float] | None = None,
    explanation: Explanation | None = None,
    remark: str = "",
) -> Figure:
    """A figure of any kind; absent where no row carries it.

    A list contains the matching rows; an empty list is a result too.
    """
    if not n and not isinstance(value, list):
        return absent(definition)
    return compared(Figure(value=value, n=n, definition=definition, interval=interval), explanation, remark)


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
        return (
            isinstance(ours, list | tuple)
            and len(ours) == len(paper)
            and all(agrees(one, other) for one, other in zip(ours, paper, strict=True))
        )
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


def share(hits: int, n: int, definition: str, explanation: Explanation | None = None, remark: str = "") -> Compared:
    """A share in percent with its Wilson interval."""
    return compared(figure.share(hits, n, definition), explanation, remark)


def count(hits: int, n: int, definition: str, explanation: Explanation | None = None, remark: str = "") -> Compared:
    """A number of rows out of n."""
    return compared(figure.count(hits, n, definition), explanation, remark)


def kappa(
    labels: Iterable[tuple[Any, Any]], definition: str, explanation: Explanation | None = None, remark: str = ""
) -> Compared:
    """Cohen's kappa with its asymptotic interval and its customary word."""
    return compared(figure.kappa(labels, definition), explanation, remark)


def kappa_of(pairs: Sequence[tuple[Any, Any]]) -> Agreement:
    """Cohen's kappa of pairs of labels."""
    return cohen_kappa([one for one, _ in pairs], [other for _, other in pairs])
