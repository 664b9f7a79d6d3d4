"""What routes ask for: the panels, and a caller who may use them."""

import hmac
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from .panels import Panels

_bearer = HTTPBearer(auto_error=False, description="The service's key.")
_header = APIKeyHeader(name="X-API-Key", auto_error=False, description="The service's key.")


def panels(request: Request) -> Panels:
    """The panels of this service."""
    found: Panels = request.app.state.panels
    return found


def authorised(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    header: Annotated[str | None, Depends(_header)],
) -> None:
    """Refuses callers without the key, where the service has one (compared in constant time)."""
    expected: str | None = request.app.state.api_key
    if expected is None:
        return
    given = bearer.credentials if bearer is not None else header
    if given is None:
        raise HTTPException(401, "a key is needed: send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`")
    if not hmac.compare_digest(given.encode(), expected.encode()):
        raise HTTPException(401, "the key is not valid")


PanelsDep = Annotated[Panels, Depends(panels)]
