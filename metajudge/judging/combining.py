"""How the two games of a pair, one in each order, become one verdict. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metajudge.types import Pairwise

Rule = Literal["agree", "sum", "strength"]


@dataclass(frozen=True, slots=True)
class Combined:
    """One verdict from several games, or the reason it is missing."""

    verdict: Pairwise | None
    why: str | None = None


def combine(pair: tuple[str, str], games: Sequence[Pairwise | None], rule: Rule) -> Combined:
    """Combines the games of one judge on one pair.

    ==============  ==================================================================================================
    rule            verdict
    ==============  ==================================================================================================
    ``agree``       the winner both games name, as strongly as the weaker of them says; else a tie. A game without a
                    verdict leaves none.
    ``sum``         each game is worth 1, whatever its strength, a tie and a missing verdict nothing; the sum decides,
                    0 is a tie. So one win and one tie is a win (the rule of JudgeBench).
    ``strength``    the sum of the signed strengths decides, so that a much better outweighs a better. A game without
                    a verdict leaves none.
    ==============  ==================================================================================================

    Args:
        games: verdicts on them, None for a game without one.
    """
    given = [game for game in games if game is not None]
    if not given or (len(given) < len(games) and rule != "sum"):
        missing = len(games) - len(given)
        return Combined(None, f"{missing} of {len(games)} games have no verdict, and rule {rule} needs all of them")
    return Combined(_RULES[rule](pair, given))


def _agree(pair: tuple[str, str], games: Sequence[Pairwise]) -> Pairwise:
    winners = {game.winner for game in games}
    if len(winners) > 1 or None in winners:
        return Pairwise(*pair, 0)
    return min(games, key=lambda game: game.strength)


def _sum(pair: tuple[str, str], games: Sequence[Pairwise]) -> Pairwise:
    signs = [_signed(pair, game) for game in games]
    return _preferred(pair, sum((sign > 0) - (sign < 0) for sign in signs), strong=False)


def _strength(pair: tuple[str, str], games: Sequence[Pairwise]) -> Pairwise:
    total = sum(_signed(pair, game) for game in games)
    return _preferred(pair, total, strong=abs(total) > len(games))


def _signed(pair: tuple[str, str], game: Pairwise) -> int:
    return game.support(*pair) or 0


def _preferred(pair: tuple[str, str], total: int, *, strong: bool) -> Pairwise:
    if total == 0:
        return Pairwise(*pair, 0)
    first, second = pair if total > 0 else pair[::-1]
    return Pairwise(first, second, 2 if strong else 1)


_RULES: Mapping[Rule, Callable[[tuple[str, str], Sequence[Pairwise]], Pairwise]] = {
    "agree": _agree,
    "sum": _sum,
    "strength": _strength,
}
