"""Clashes: a blind panel ranks the answers of several models."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metajudge.clashes.clash import Judge, evaluate
    from metajudge.clashes.record import ClashRecord, recount

__all__ = [
    "ClashRecord",
    "Judge",
    "evaluate",
    "recount",
]

_HOMES = {
    "ClashRecord": "metajudge.clashes.record",
    "Judge": "metajudge.clashes.clash",
    "evaluate": "metajudge.clashes.clash",
    "recount": "metajudge.clashes.record",
}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metajudge.clashes' has no attribute {name!r}")
