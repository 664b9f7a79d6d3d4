"""Which of the vetted judgments an export looks at: by judge, category, policy action, run, panel and date."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self

from pydantic import BeforeValidator, Field, model_validator

from metajudge.errors import ConfigurationError, InputError
from metajudge.exports.workspace import Work
from metajudge.files.yaml_documents import did_you_mean, name_list
from metajudge.types.decision import Action
from metajudge.types.frozen import Frozen

SHORTEST_PANEL: Final = 8
_SHOWN: Final = 20

Value = Annotated[str, Field(min_length=1, max_length=1_000)]


def _moment(given: Any) -> datetime:
    """A date or a time in ISO 8601; UTC where it names no zone. Numbers are refused: which unit would they have?"""
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            raise ValueError("no date such as 2026-11-01 or 2026-11-01T08:00:00Z") from None
    if not isinstance(given, datetime):
        raise ValueError("no date such as 2026-11-01 or 2026-11-01T08:00:00Z")
    return given if given.tzinfo is not None else given.replace(tzinfo=UTC)


Moment = Annotated[datetime, BeforeValidator(_moment, json_schema_input_type=datetime)]


class Filters(Frozen):
    """Conditions that a judgment must meet to be looked at at all; an empty tuple or None asks for nothing.

    Several values of one condition mean any of them; several conditions mean all of them.

    Attributes:
        judges: ids of judges.
        categories: of the items.
        decisions: the policy's newest action.
        runs: ids of the runs that vetted them. Runs, panels and dates limit which assessments count: the newest of
            those that are left is taken.
        panels: digests of panels, or how they begin (8 characters or more).
        since: vetted at this time or later.
        until: vetted before this time.
    """

    judges: tuple[Value, ...] = ()
    categories: tuple[Value, ...] = ()
    decisions: tuple[Action, ...] = ()
    runs: tuple[Value, ...] = ()
    panels: tuple[Annotated[str, Field(min_length=SHORTEST_PANEL, max_length=200)], ...] = ()
    since: Moment | None = None
    until: Moment | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ConfigurationError(
                f"since {self.since.isoformat()} is not before until {self.until.isoformat()}: no judgment can match"
            )
        return self

    def values(self) -> dict[str, tuple[str, ...]]:
        """The conditions that name values, by what they are of."""
        given = {
            "judge": self.judges,
            "category": self.categories,
            "decision": self.decisions,
            "run": self.runs,
            "panel": self.panels,
        }
        return {kind: values for kind, values in given.items() if values}

    def sentence(self) -> str:
        """The conditions in words; empty if none is set."""
        conditions = [f"{name} {name_list(list(map(str, values)))}" for name, values in self.values().items()]
        conditions += [f"{name} {at.isoformat()}" for name, at in (("since", self.since), ("until", self.until)) if at]
        return ", ".join(conditions)


def resolved(filters: Filters, execute: Callable[[str], Any], sources: Mapping[str, str], where: str) -> Filters:
    """The filters with whole digests of panels; a value that nothing has is refused: it is a slip of the pen.

    Args:
        execute: runs a query on what the sources are in.
        sources: kind, as in :meth:`Filters.values` -> a query of one column, all values that there are.
        where: the source, for the message.

    Raises:
        InputError: with what there is.
    """
    panels: list[str] = []
    given = filters.values()
    for kind, query in sources.items():
        values = given.get(kind)
        if not values:
            continue
        names = sorted({str(name) for (name,) in execute(query).fetchall() if name is not None})
        fit = str.startswith if kind == "panel" else str.__eq__
        missing = min((value for value in values if not any(fit(name, value) for name in names)), default=None)
        if missing is not None:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            has = f"there are {', '.join(names[:_SHOWN])}{more}" if names else "nothing there has one"
            raise InputError(f"{where} has no {kind} {missing!r}: {has}{did_you_mean(missing, names)}")
        if kind == "panel":
            panels = [name for name in names if name.startswith(values)]
    return filters.model_copy(update={"panels": tuple(panels)})


def drop_unwanted(work: Work, filters: Filters) -> None:
    """Takes out of ``assessments`` those of other judges, by other panels, or with another policy decision."""
    for column, values in (
        ("judge", filters.judges),
        ("action", tuple(map(str, filters.decisions))),
        ("panel_digest", filters.panels),
    ):
        if values:
            work.execute(
                f"DELETE FROM assessments WHERE NOT coalesce({column} IN (SELECT unnest($1::VARCHAR[])), false)",
                [list(values)],
            )


def nothing_matches(filters: Filters, where: str, count: int) -> InputError:
    """No judgment meets all conditions."""
    return InputError(
        f"none of the {count} vetted judgments of {where} meets every filter ({filters.sentence()}): leave one out"
    )
