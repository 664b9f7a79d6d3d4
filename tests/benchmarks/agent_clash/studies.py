"""Small studies and their figures."""

from typing import Any


def values(found: dict[str, Any]) -> dict[str, Any]:
    return {name: (one.value, one.n, one.ends) for name, one in found.items()}
