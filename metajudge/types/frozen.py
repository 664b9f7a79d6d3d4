"""The bases of records that cross YAML, HTTP or the store: never changed once made, and no unknown fields."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A record that cannot be changed; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values, which are not checked; what was computed from the old ones is left out."""
        copied = super().model_copy(update=update, deep=deep)
        if update:
            for name in copied.__dict__.keys() - type(self).model_fields.keys():
                del copied.__dict__[name]
        return copied


class Finite(Frozen):
    """A frozen record without NaN or infinity."""

    model_config = ConfigDict(allow_inf_nan=False)
