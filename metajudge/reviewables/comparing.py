"""The answers a reviewer can pick with one key, and how to write one. Pure."""

from collections.abc import Sequence

from metajudge.reviewables.sheet import Asks, Choice
from metajudge.types import AnyVerdict, Category, Grade, Ranking
from metajudge.types.judgment import Scale

_MOST_KEYS = 9


def asked_for(verdict: AnyVerdict | None, responses: int) -> Asks:
    """What kind of answer is wanted, as the judge's was; else a comparison of two, a ranking of more."""
    if isinstance(verdict, Grade):
        return "grade"
    if isinstance(verdict, Category):
        return "category"
    if responses < 2:
        return "outcome"
    return "ranking" if responses > 2 or isinstance(verdict, Ranking) else "comparison"


def verdicts(asks: Asks, order: Sequence[str], verdict: AnyVerdict | None, scale: Scale | None) -> tuple[Choice, ...]:
    """Verdicts that can be picked; their values are labels, so that they tell nothing of the authors.

    Args:
        order: labels as shown; the first key is for the first.
        scale: the item's; names its categories.
    """
    match asks:
        case "comparison":
            left, right = order
            found = [
                (f"{left}>>{right}", f"{left} is much better"),
                (f"{left}>{right}", f"{left} is better"),
                ("=".join(sorted(order)), "Equally good"),
                (f"{right}>{left}", f"{right} is better"),
                (f"{right}>>{left}", f"{right} is much better"),
            ]
        case "ranking":
            found = [(best_of(one, order), f"{one} is best") for one in order]
            found.append(("=".join(sorted(order)), "All equally good"))
        case "category" if isinstance(verdict, Category) and isinstance(verdict.value, bool):
            found = [("true", "yes (true)"), ("false", "no (false)")]
        case "category":
            found = [(name, name) for name in scale or () if isinstance(name, str)]
        case _:
            found = []
    return tuple(
        Choice("verdict", value, words, str(place) if place <= _MOST_KEYS else "")
        for place, (value, words) in enumerate(found, 1)
    )


def best_of(label: str, labels: Sequence[str]) -> str:
    """One response before all others, which are equal: ``R2>R1=R3``."""
    return f"{label}>{'='.join(sorted(one for one in labels if one != label))}"


def hint(asks: Asks, order: Sequence[str], scale: Scale | None, verdict: AnyVerdict | None) -> str:
    """How to write a verdict; "" where none is asked for. Never gives the judge's away."""
    match asks:
        case "comparison":
            left, right = sorted(order)
            return f"{left}>{right}, {left}={right} or {right}>{left} (>> for much better)"
        case "ranking":
            ranked = sorted(order)
            tied = ">".join([*ranked[:-2], "=".join(ranked[-2:])])
            return f"{ranked[0]} (the best one), {'='.join(ranked)} or a whole ranking such as {tied}"
        case "grade":
            known = scale is not None and not isinstance(scale[0], str)
            return f"a number from {scale[0]:g} to {scale[1]:g}" if known and scale is not None else "a number"
        case "category" if isinstance(verdict, Category) and isinstance(verdict.value, bool):
            return "true or false"
        case "category":
            named = [name for name in scale or () if isinstance(name, str)]
            return " or ".join(named) if named else "a category"
        case _:
            return ""
