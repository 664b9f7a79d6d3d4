"""Clashes: a blind panel ranks the answers of several models."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metajudge.clash.clash import Clash, Judge, Place, evaluate
    from metajudge.clash.pareto import CandidateFigures, ParetoStanding, pareto_front
    from metajudge.clash.record import ClashRecord, recount
    from metajudge.clash.tally import Tally, Voter

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
    "CandidateFigures": "metajudge.clash.pareto",
    "Clash": "metajudge.clash.clash",
    "ClashRecord": "metajudge.clash.record",
    "Judge": "metajudge.clash.clash",
    "ParetoStanding": "metajudge.clash.pareto",
    "Place": "metajudge.clash.clash",
    "Tally": "metajudge.clash.tally",
    "Voter": "metajudge.clash.tally",
    "evaluate": "metajudge.clash.clash",
    "pareto_front": "metajudge.clash.pareto",
    "recount": "metajudge.clash.record",
}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metajudge.clash' has no attribute {name!r}")
