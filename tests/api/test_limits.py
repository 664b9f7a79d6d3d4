"""How often each caller may ask."""

import importlib

import pytest
from starlette.exceptions import HTTPException

keys = importlib.import_module("metajudge.api.keys")
limits = importlib.import_module("metajudge.api.limits")


def test_callers_who_went_away_are_not_remembered_for_ever():
    now = [0.0]
    rates = limits.RateLimit(60, clock=lambda: now[0])
    for number in range(limits.MOST_BUCKETS):
        rates.wait(keys.Caller(f"{number}", keys.ALL_SCOPES))
    now[0] = 61.0
    rates.wait(keys.Caller("one more", keys.ALL_SCOPES))
    assert len(rates._buckets) == 1


def test_tokens_come_back_with_time():
    now = [0.0]
    rates = limits.RateLimit(60, clock=lambda: now[0])
    caller = keys.Caller("ci", keys.ALL_SCOPES)
    assert [rates.wait(caller) for _ in range(60)] == [0.0] * 60
    assert rates.wait(caller) == pytest.approx(1.0)
    now[0] = 1.0
    assert rates.wait(caller) == 0.0
    assert rates.wait(caller) > 0
    now[0] = 1e6
    assert [rates.wait(caller) for _ in range(61)].count(0.0) == 60


async def test_a_refusal_says_what_there_was_too_much_of_and_when_to_come_back():
    rates = limits.RateLimit(2, clock=lambda: 0.0)
    caller = keys.Caller("ci", keys.ALL_SCOPES)
    await rates.check(caller, "too many login attempts")
    await rates.check(caller, "too many login attempts")
    with pytest.raises(HTTPException) as refused:
        await rates.check(caller, "too many login attempts")
    assert (refused.value.status_code, refused.value.detail) == (429, "too many login attempts: try again in 30.0 s")
    assert refused.value.headers == {"Retry-After": "30"}


def test_a_key_s_own_rate_wins_and_without_any_rate_nobody_waits():
    own = keys.Caller("ci", keys.ALL_SCOPES, requests_per_minute=1)
    rates = limits.RateLimit(None, clock=lambda: 0.0)
    assert [rates.wait(own), rates.wait(own)] == [0.0, 60.0]
    assert [rates.wait(keys.Caller("any", keys.ALL_SCOPES)) for _ in range(1000)] == [0.0] * 1000
