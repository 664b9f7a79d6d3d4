"""From signals to the probability that a judgment is correct, and to thresholds that carry a guarantee.

``Guarantee`` and ``Abstention`` are what :func:`guaranteed_threshold` returns; they are told apart by ``kind``.
``Looks`` is the ledger of its looks. Names are imported on first use: they load numpy and scipy.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metajudge.calibration.guarantee import Abstention, Guarantee, guaranteed_threshold
    from metajudge.calibration.looks import Looks, Schedule
    from metajudge.calibration.procedures import Procedure

__all__ = ["Abstention", "Guarantee", "Looks", "Procedure", "Schedule", "guaranteed_threshold"]

_HOMES = {
    "Abstention": "metajudge.calibration.guarantee",
    "Guarantee": "metajudge.calibration.guarantee",
    "Looks": "metajudge.calibration.looks",
    "Procedure": "metajudge.calibration.procedures",
    "Schedule": "metajudge.calibration.looks",
    "guaranteed_threshold": "metajudge.calibration.guarantee",
}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metajudge.calibration' has no attribute {name!r}")
