"""What routes ask for: the service's parts, and a caller who may do this.

All are coroutines: plain functions would each go through a thread.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from metajudge.errors import StoreError
from metajudge.store.protocol import Store

from .audit import Changes
from .errors import request_id_of
from .keys import Caller, Scope
from .panels import Panels
from .service import Service

_bearer = HTTPBearer(auto_error=False, description="A key of the service.")
_header = APIKeyHeader(name="X-API-Key", auto_error=False, description="A key of the service.")


async def service(request: Request) -> Service:
    """The running service."""
    found: Service = request.app.state.service
    return found


ServiceDep = Annotated[Service, Depends(service)]


async def panels(running: ServiceDep) -> Panels:
    """The panels of this service."""
    return running.panels


async def store(running: ServiceDep) -> Store:
    """The store.

    Raises:
        StoreError: this service keeps nothing.
    """
    found = running.engine.store
    if found is None:
        raise StoreError("this service keeps nothing: start it with --store")
    return found


async def caller(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    header: Annotated[str | None, Depends(_header)],
) -> Caller:
    """Who asks, as the gate found out; the two schemes are parameters for the sake of the document."""
    found: Caller | None = request.scope["state"].get("who")
    if found is None:  # a path that the gate does not watch
        raise HTTPException(401, "a key is needed: send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`")
    return found


CallerDep = Annotated[Caller, Depends(caller)]


def needs(*scopes: Scope) -> Callable[[Caller], Awaitable[Caller]]:
    """A dependency that lets callers pass who have one of these scopes."""

    async def allowed(one: CallerDep) -> Caller:
        if one.scopes.isdisjoint(scopes):
            wanted = " or ".join(scopes)
            raise HTTPException(403, f"key {one.name!r} has no scope {wanted}: use a key that has")
        return one

    return allowed


async def changes(request: Request, running: ServiceDep, one: CallerDep) -> Changes:
    """Keeps on record what this caller changes."""
    return Changes(running.engine.store, by=one.name, request_id=request_id_of(request.scope))


PanelsDep = Annotated[Panels, Depends(panels)]
StoreDep = Annotated[Store, Depends(store)]
ChangesDep = Annotated[Changes, Depends(changes)]
