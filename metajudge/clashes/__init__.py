"""Clashes: a blind panel ranks the answers of several models."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metajudge.clashes.clash import Clash, Judge, Place, evaluate
    from metajudge.clashes.pareto import CandidateFigures, ParetoStanding, pareto_front
    from metajudge.clashes.record import ClashRecord, recount
    from metajudge.clashes.tally import Tally, Voter

__all__ = [
    "CandidateFigures",
    "Clash",
    "ClashRecord",
    "Judge",
    "ParetoStanding",
    "Place",
    "Tally",
    "Voter",
    "evaluate",
    "pareto_front",
    "recount",
]

_HOMES = {
    "CandidateFigures": "metajudge.clashes.pareto",
    "Clash": "metajudge.clashes.clash",
    "ClashRecord": "metajudge.clashes.record",
    "Judge": "metajudge.clashes.clash",
    "ParetoStanding": "metajudge.clashes.pareto",
    "Place": "metajudge.clashes.clash",
    "Tally": "metajudge.clashes.tally",
    "Voter": "metajudge.clashes.tally",
    "evaluate": "metajudge.clashes.clash",
    "pareto_front": "metajudge.clashes.pareto",
    "recount": "metajudge.clashes.record",
}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metajudge.clashes' has no attribute {name!r}")
