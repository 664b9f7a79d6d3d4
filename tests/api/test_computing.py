"""Work in threads: it ends with the service."""

import asyncio

from metajudge.api.computing import Computing


async def test_a_coroutine_that_goes_on_ends_with_the_service() -> None:
    computing = Computing(4, 60.0)
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def endless() -> None:
        loop.call_soon_threadsafe(begun.set)
        await asyncio.Event().wait()

    asked = asyncio.create_task(computing.ask(endless))
    await begun.wait()
    async with asyncio.timeout(20):
        await computing.close()
    await asyncio.wait([asked], timeout=20)
    assert asked.cancelled()
    assert computing.in_progress == 0
