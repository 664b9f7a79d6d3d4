"""How many came in and went out at each step, and why the others were dropped."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """One step of an export.

    Attributes:
        name: of the step.
        unit: what is counted.
        before: how many came in.
        after: how many went on.
        dropped: reason -> how many.
    """

    name: str
    unit: str
    before: int
    after: int
    dropped: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "step": self.name,
            "unit": self.unit,
            "before": self.before,
            "after": self.after,
            "dropped": {reason: count for reason, count in self.dropped.items() if count},
        }
