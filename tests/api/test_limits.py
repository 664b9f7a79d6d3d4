"""How often each caller may ask."""

import importlib

from starlette.exceptions import HTTPException

from metajudge.store import limits as stored
from metajudge.store import open_store

keys = importlib.import_module("metajudge.api.keys")
limits = importlib.import_module("metajudge.api.limits")
CI = keys.Caller("ci", keys.ALL_SCOPES)


async def passed(rates, caller, times):
    """How many of so many requests are let through."""
    count = 0
    for _ in range(times):
        try:
            await rates.check(caller, "too much")
        except HTTPException:
            continue
        count += 1
    return count


async def test_tokens_come_back_with_time(tmp_path, monkeypatch):
    store, now = await open_store(tmp_path / "s.db"), [1_000_000.0]
    monkeypatch.setattr(stored.time, "time", lambda: now[0])
    rates = limits.RateLimit(store, 60)
    assert await passed(rates, CI, 61) == 60
    now[0] += 1.0
    assert await passed(rates, CI, 2) == 1
    now[0] += 1e6
    assert await passed(rates, CI, 61) == 60
    await store.close()
