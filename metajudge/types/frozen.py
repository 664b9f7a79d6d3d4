"""The bases of records that cross YAML, HTTP or the store: never changed once made, and no unknown fields."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A record that cannot be changed; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Finite(Frozen):
    """A frozen record without NaN or infinity."""

    model_config = ConfigDict(allow_inf_nan=False)
