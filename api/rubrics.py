"""Rubrics by name: built in, or put here by an administrator as files beside the store."""

import time
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import HTTPException, Path

from metajudge.errors import RubricError, StoreError
from metajudge.files.replacing import replacing
from metajudge.rubric import BUILTIN_RUBRICS, CASE_RUBRICS, Rubric, list_rubrics, load_rubric
from metajudge.store.protocol import Store

NAME = r"^[A-Za-z0-9_-]{1,60}$"
Name = Annotated[str, Path(pattern=NAME, examples=["short"])]


class Rubrics:
    """Rubrics in a folder, one file each; None for none."""

    def __init__(self, folder: FilePath | None) -> None:
        self._folder = folder
        self._taken: dict[str, str] = {}

    def names(self) -> list[str]:
        """What callers may name."""
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
            raise HTTPException(404, f"there is no rubric {name!r}; there are {', '.join(self.names())}")
        return load_rubric(self.source(name))

    def source(self, name: str) -> str:
        """What a panel's configuration calls it: a built-in name, or a file.

        Raises:
            RubricError: there is none of that name.
        """
        if name in BUILTIN_RUBRICS:
            return name
        if name not in self.names():
            raise RubricError(f"unknown rubric {name!r}; this service has {', '.join(self.names())}")
        assert self._folder is not None
        return str(self._folder / f"{name}.json")

    async def keep(self, name: str, rubric: Rubric, store: Store, *, by: str) -> Rubric:
        """Keeps a rubric, and in the audit log its content and who put it there.

        Raises:
            HTTPException: 409 for a built-in name, 422 for another one than the rubric's own.
        """
        if name in BUILTIN_RUBRICS + CASE_RUBRICS:
            raise HTTPException(409, f"{name!r} is built in: choose another name")
        if self._folder is None:
            raise StoreError("this service keeps nothing: start it with --store")
        if rubric.name != name:
            raise HTTPException(422, f"the rubric is called {rubric.name!r}, and the path says {name!r}: make them one")
        text = rubric.model_dump_json()
        record = {"digest": rubric.digest, "by": by, "rubric": rubric.model_dump(mode="json")}
        await store.audit_log.append("rubric", name, record, now=time.time())
        self._write(name, text)
        return rubric

    def take(self, known: Mapping[str, Any]) -> None:
        """Takes over what other replicas were given, by name."""
        for name, rubric in known.items():
            text = Rubric.model_validate(rubric).model_dump_json()
            if self._taken.get(name) != text:
                self._write(name, text)

    def _write(self, name: str, text: str) -> None:
        assert self._folder is not None
        self._folder.mkdir(exist_ok=True)
        with replacing(self._folder / f"{name}.json") as part:
            part.write_text(text, "utf-8")
        self._taken[name] = text
