"""Rubrics by name: built-in ones, and files next to the store added by an administrator."""

import asyncio
import contextlib
import time
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import HTTPException, Path

from metajudge.errors import MetajudgeError, RubricError, StoreError
from metajudge.files.replacing import replacing
from metajudge.rubric import BUILTIN_RUBRICS, CASE_RUBRICS, Rubric, list_rubrics, load_rubric
from metajudge.store.protocol import Store

NAME = r"^[A-Za-z0-9_-]{1,60}$"
REFRESH_S = 2.0
Name = Annotated[str, Path(pattern=NAME, examples=["short"])]


class Rubrics:
    """Rubrics in a folder, one file each; None for built-in ones alone."""

    def __init__(self, folder: FilePath | None) -> None:
        self._folder = folder
        self._taken: dict[str, str] = {}

    def names(self) -> list[str]:
        """The names callers may use."""
        own = [] if self._folder is None else sorted(path.stem for path in self._folder.glob("*.json"))
        return [*BUILTIN_RUBRICS, *own]

    def all(self) -> list[Rubric]:
        return [*list_rubrics(), *(self.load(name) for name in self.names()[len(BUILTIN_RUBRICS) :])]

    def load(self, name: str) -> Rubric:
        """One rubric.

        Raises:
            HTTPException: 404.
        """
        if name not in self.names():
            raise HTTPException(404, f"unknown rubric {name!r}; this service has {', '.join(self.names())}")
        return load_rubric(self.source(name))

    def source(self, name: str) -> str:
        """The rubric as a panel's configuration names it: a built-in name, or a file.

        Raises:
            RubricError: no rubric has this name.
        """
        if name in BUILTIN_RUBRICS:
            return name
        if name not in self.names():
            raise RubricError(f"unknown rubric {name!r}; this service has {', '.join(self.names())}")
        assert self._folder is not None
        return str(self._folder / f"{name}.json")

    async def keep(self, name: str, rubric: Rubric, store: Store, *, by: str) -> Rubric:
        """Stores a rubric, and its content and author in the audit log.

        Raises:
            HTTPException: 409 for a built-in name, 422 for a name other than the rubric's.
            StoreError: the service has no store.
        """
        if name in BUILTIN_RUBRICS + CASE_RUBRICS:
            raise HTTPException(409, f"{name!r} is built in: choose another name")
        if self._folder is None:
            raise StoreError("this service has no store: start it with --store")
        if rubric.name != name:
            raise HTTPException(422, f"name: the rubric is named {rubric.name!r}, but the path has {name!r}")
        text = rubric.model_dump_json()
        record = {"digest": rubric.digest, "by": by, "rubric": rubric.model_dump(mode="json")}
        await store.audit_log.append("rubric", name, record, now=time.time())
        self._write(name, text)
        return rubric

    async def refresh(self, store: Store) -> None:
        """Adds the rubrics in the audit log, which may have been given to other processes."""
        known = {entry.subject: entry.payload["rubric"] for entry in await store.audit_log.entries("rubric")}
        for name, rubric in known.items():
            text = Rubric.model_validate(rubric).model_dump_json()
            if self._taken.get(name) != text:
                self._write(name, text)

    async def keep_fresh(self, store: Store) -> None:
        """Refreshes until cancelled."""
        while True:
            await asyncio.sleep(REFRESH_S)
            with contextlib.suppress(MetajudgeError):  # the store is unavailable: retried next time
                await self.refresh(store)

    def _write(self, name: str, text: str) -> None:
        assert self._folder is not None
        self._folder.mkdir(exist_ok=True)
        with replacing(self._folder / f"{name}.json") as part:
            part.write_text(text, "utf-8")
        self._taken[name] = text
