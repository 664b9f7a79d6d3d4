"""The bases of records that cross YAML, HTTP or the store: never changed once made, and no unknown fields."""

from collections.abc import Mapping
from functools import partial
from operator import is_, not_
from typing import Annotated, Any, Final, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

T = TypeVar("T")

DEEPEST: Final = 198
"""Levels of data of a caller's own. JSON is read to 200 levels and written to 255; a record adds its own."""


def shallow(data: T) -> T:
    """The data itself.

    Raises:
        ValueError: it is nested more than :data:`DEEPEST` levels deep, or has a whole number of more than 64 bits.
    """
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        inner = [one for own in level for one in (own.values() if isinstance(own, Mapping) else own)]
        if any(isinstance(one, int) and not -(2**63) <= one < 2**64 for one in inner):
            raise ValueError("a whole number in it has more than 64 bits: give it as a text")
        level = [one for one in inner if isinstance(one, Mapping | list | tuple)]
        if not level:
            return data
    raise ValueError(f"nested more than {DEEPEST} levels deep, and JSON is read to 200: give flatter data")


Data = Annotated[T, AfterValidator(shallow)]
"""Lists and objects of any content that can be written and read again."""


def left_out(description: str | None = None, default: object = None) -> Any:
    """A field that is left out of what is written where it has its default: None, an empty tuple or False.

    Records from before the field existed stay as they are.
    """
    # Functions in C: they are called several times for each criterion that is written.
    return Field(default=default, exclude_if=partial(is_, None) if default is None else not_, description=description)


class Frozen(BaseModel):
    """A record that cannot be changed; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values, which are not checked; what was computed from the old ones is left out."""
        if deep or self.__pydantic_private__ is not None:
            return super().model_copy(update=update, deep=deep)
        changed, fields = update or {}, type(self).__pydantic_fields__
        values = {**self.__dict__, **changed}
        if changed and len(values) > len(fields):
            values = {name: value for name, value in values.items() if name in fields}
        copied = object.__new__(type(self))  # the same as pydantic's copy in a fifth of the time
        object.__setattr__(copied, "__dict__", values)
        object.__setattr__(copied, "__pydantic_fields_set__", self.model_fields_set | changed.keys())
        object.__setattr__(copied, "__pydantic_extra__", None)
        object.__setattr__(copied, "__pydantic_private__", None)
        return copied


class Finite(Frozen):
    """A frozen record without NaN or infinity."""

    model_config = ConfigDict(allow_inf_nan=False)
