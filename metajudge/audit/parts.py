"""The one place that runs the parts of an audit: one that fails says so in its place, and ends nothing."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no result: an error of the program, in words with its place."""

    why: str


def attempt(make: Callable[..., T], *data: Any) -> T | Failed:
    """What ``make`` gives for some data. What the data do not allow, it says itself: an error is a fault of ours."""
    try:
        return make(*data)
    except MemoryError:
        raise
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(at.filename).name}:{at.lineno}"
        return Failed(f"an error of metajudge ({type(error).__name__}: {error}, at {where}); please report it")


@dataclass(slots=True)
class Parts:
    """Parts of an audit that stand for themselves.

    Attributes:
        notices: a sentence for each that failed, in order.
    """

    notices: list[str] = field(default_factory=list)

    def of(self, make: Callable[..., T], *data: Any, without: Any, whose: str = "") -> T | Any:
        """What ``make`` gives for some data, or ``without`` and a notice."""
        found = attempt(make, *data)
        if not isinstance(found, Failed):
            return found
        name = make.__name__.replace("_", " ").strip()
        self.notices.append(f"Not computed: {name}{f' of {whose}' if whose else ''}: {found.why}.")
        return without
