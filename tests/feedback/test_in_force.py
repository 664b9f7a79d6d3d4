"""Which version of a policy decides, remembered until something may have changed it."""

import asyncio

import pytest

from metajudge.errors import PolicyError
from metajudge.feedback.in_force import FRESH_S, PoliciesInForce
from metajudge.feedback.loop import ACTIVATION
from metajudge.store import open_store
from tests.doubles.waiting import Clock


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path / "s.duckdb")
    yield opened
    await opened.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def policies(store, clock):
    return PoliciesInForce(store, clock)


async def activate(store, policy):
    record = {"digest": policy.digest, "policy": policy.model_dump(mode="json")}
    await store.audit_log.append(ACTIVATION, policy.name, record, now=1.0)


def stricter(policy):
    data = policy.model_dump(mode="json")
    data["bands"] = [{**band, "action": "REJECT"} for band in data["bands"]]
    return type(policy).model_validate(data)


async def test_what_is_put_in_force_here_decides_the_very_next_vet(store, policies):
    first = await policies.named("verdict")
    new = stricter(first)
    await activate(store, new)
    assert (await policies.named("verdict")).digest == new.digest != first.digest


async def test_what_another_process_puts_in_force_is_seen_in_time(store, policies, clock):
    first = await policies.named("verdict")
    await policies.named("verdict")
    new = stricter(first)
    store.audit_log.appended = lambda _kind: 0  # as if this process had not done it
    await policies.named("verdict")
    await activate(store, new)
    assert (await policies.named("verdict")).digest == first.digest
    clock.now += FRESH_S
    assert (await policies.named("verdict")).digest == new.digest


async def test_one_put_in_force_while_it_is_looked_up_is_not_missed(store, policies):
    first = await policies.named("verdict")
    new = stricter(first)
    looking = asyncio.create_task(policies.named("verdict"))
    await asyncio.sleep(0)
    await activate(store, new)
    await looking
    assert (await policies.named("verdict")).digest == new.digest


async def test_an_unknown_one_stays_an_error(policies):
    for _ in range(2):
        with pytest.raises(PolicyError):
            await policies.named("nothing")
