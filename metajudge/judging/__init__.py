"""Judging: pairs and grades, the ranking of responses, and how identities are hidden."""

from typing import TYPE_CHECKING, Any

from metajudge.judging.support import support  # imported now: on first use the name would be the module's

if TYPE_CHECKING:
    from metajudge.judging.blinding import Blinding, blind
    from metajudge.judging.combining import combine
    from metajudge.judging.pairwise import Game
    from metajudge.judging.ranking import rank_responses

__all__ = [
    "Blinding",
    "Game",
    "blind",
    "combine",
    "rank_responses",
    "support",
]

_HOMES = {
    "Blinding": "metajudge.judging.blinding",
    "Game": "metajudge.judging.pairwise",
    "blind": "metajudge.judging.blinding",
    "combine": "metajudge.judging.combining",
    "rank_responses": "metajudge.judging.ranking",
}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metajudge.judging' has no attribute {name!r}")
