"""A uvicorn server that ends as soon as it is told to, for tests that start hundreds of services."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Thread
from time import monotonic, sleep
from types import MethodType

import uvicorn


async def _main_loop(server: uvicorn.Server) -> None:
    """Looks every 10 ms whether the server is to end; uvicorn's own looks every 100 ms."""
    for tick in count():
        if await server.on_tick(tick // 10):
            return
        await asyncio.sleep(0.01)


@contextmanager
def serving(server: uvicorn.Server) -> Iterator[str]:
    """Serves in a thread on a free port; gives the address."""
    server.main_loop = MethodType(_main_loop, server)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    deadline = monotonic() + 20
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        assert monotonic() < deadline
        sleep(0.005)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
