"""Watched systems in the service's file."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from metajudge.systems.catalogue import SYSTEMS
from metajudge.systems.system import NAME
from metajudge.systems.watch_state import WatchRules


class WatchTable(BaseModel):
    """One ``[[service.watches]]`` of a service's file; keys of systems are read from their variables alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: str
    name: Annotated[str, Field(max_length=100)] = ""
    url: str | None = None
    project: str | None = None
    panel: str | None = None
    policy: str | None = None
    since: str = "24h"
    again_h: Annotated[float, Field(ge=0)] = 24.0
    every_s: Annotated[float, Field(gt=0)] = 60.0
    items_per_minute: Annotated[float, Field(gt=0)] = 60.0
    budget_usd: Annotated[float, Field(gt=0)] | None = None
    requests_per_second: Annotated[float, Field(gt=0)] = 5.0
    workers: Annotated[int, Field(ge=1, le=64)] = 4
    push: bool = False
    note: Annotated[str, Field(min_length=1)] = NAME
    link: str | None = None

    @model_validator(mode="after")
    def _check(self) -> "WatchTable":
        if self.system not in SYSTEMS:
            raise ValueError(f"there is no system {self.system!r}; there are {', '.join(SYSTEMS)}")
        if self.link is not None and "{judgment_id}" not in self.link:
            raise ValueError("link needs {judgment_id} where the judgment's id belongs")
        return self

    @property
    def title(self) -> str:
        """The name, by default made of the system and its project."""
        return self.name or "/".join(filter(None, (self.system, self.project)))

    @property
    def rules(self) -> WatchRules:
        return WatchRules(
            name=self.title,
            since=self.since,
            again_h=self.again_h,
            every_s=self.every_s,
            items_per_minute=self.items_per_minute,
            budget_usd=self.budget_usd,
            workers=self.workers,
            puts=self.push,
            note=self.note,
            link=self.link,
        )
