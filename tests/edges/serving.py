"""The service in this process: the only place here that knows how it is built."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from metajudge.clashes.setup import candidate_config
from metajudge.panels.config import load_panel_file
from tests.api.conftest import KEYS, app_module, running

__all__ = ["candidate", "key", "limits", "panel", "routes", "service"]


def panel(folder: Path, name: str, text: str) -> Any:
    """A panel of its file's text."""
    path = folder / f"{name}.panel.toml"
    path.write_text(text, "utf-8")
    return load_panel_file(path)


def candidate(model: str, **more: str) -> Any:
    """A model that answers questions."""
    return candidate_config({"model": model, **more}, "1")


def key(name: str, *scopes: str, a_minute: int | None = None) -> Any:
    """A key whose text is its name over and over, with all scopes unless some are given."""
    given = frozenset(KEYS.Scope(one) for one in scopes) or KEYS.ALL_SCOPES
    return KEYS.ApiKey(name, KEYS.hashed(key_text(name)), given, a_minute)


def key_text(name: str) -> str:
    """What a caller sends."""
    return (name * 32)[:32]


def limits(**given: Any) -> Any:
    """Limits of a service."""
    return app_module.Limits(**given)


@contextlib.contextmanager
def service(**options: Any) -> Iterator[httpx2.Client]:
    """A running service; hands out a client for it."""
    with running(app_module.ServiceOptions(**options)) as client:
        yield client


def routes() -> list[tuple[str, str]]:
    """Method and path of every route, in the order in which they are tried."""
    return list(_walk(app_module.create_app(app_module.ServiceOptions()).routes))


def openapi() -> dict[str, Any]:
    """The OpenAPI document."""
    found: dict[str, Any] = app_module.create_app(app_module.ServiceOptions()).openapi()
    return found


def _walk(found: Any) -> Iterator[tuple[str, str]]:
    for one in found:
        if (inner := getattr(one, "original_router", one)) is not one or not hasattr(one, "methods"):
            yield from _walk(getattr(inner, "routes", ()))
        else:
            yield from ((method, one.path) for method in sorted(one.methods) if method != "HEAD")


class Matcher:
    """Finds the route of a path."""

    def __init__(self) -> None:
        self.routes = routes()

    def __call__(self, method: str, path: str) -> str | None:
        """The route as ``METHOD PATH``; None where there is none."""
        given = path.partition("?")[0].partition("#")[0]
        fits = (f"{verb} {one}" for verb, one in self.routes if verb == method and _pattern(one).fullmatch(given))
        return next(fits, None)

    def page(self, link: str) -> str:
        """A link with its ids named by their kind."""
        path = link.partition("?")[0].partition("#")[0]
        found = self("GET", path) or self("POST", path)
        return found.partition(" ")[2] if found else path


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", re.sub(r"\{\w+:path\}", ".+", path)))
