"""Dependencies of routes: the service's parts and the caller; :mod:`.authorization` checks permissions.

All are coroutines: plain functions would each run in a thread.
"""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from metajudge.errors import StoreError
from metajudge.store.protocol import Store

from .audit import Changes
from .authorization import key_owner
from .errors import request_id_of
from .keys import ANYBODY, Caller
from .service import Service
from .sight import Sight

_bearer = HTTPBearer(auto_error=False, description="A key of the service.")
_header = APIKeyHeader(name="X-API-Key", auto_error=False, description="A key of the service.")


async def service(request: Request) -> Service:
    """The running service."""
    found: Service = request.app.state.service
    return found


ServiceDep = Annotated[Service, Depends(service)]


async def store(running: ServiceDep) -> Store:
    """The store.

    Raises:
        StoreError: the service has no store.
    """
    found = running.engine.store
    if found is None:
        raise StoreError("this service has no store: start it with --store")
    return found


async def caller(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    header: Annotated[str | None, Depends(_header)],
) -> Caller:
    """The caller, as identified by the gate; the two schemes are parameters for the OpenAPI document."""
    return key_owner(request)


CallerDep = Annotated[Caller, Depends(caller)]


async def changes(request: Request, running: ServiceDep, one: CallerDep) -> Changes:
    """The change log for this caller's changes."""
    return Changes(running.engine.store, by=one.name, request_id=request_id_of(request.scope))


async def sight(one: CallerDep) -> Sight:
    """The caller's permissions to see labels; without keys the reviewer's name is unknown."""
    return Sight(one, None if one == ANYBODY else one.name)


SightDep = Annotated[Sight, Depends(sight)]
StoreDep = Annotated[Store, Depends(store)]
ChangesDep = Annotated[Changes, Depends(changes)]
