"""Answers from a thread to callers that wait in event loops."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Ticket:
    """The place of an answer."""

    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"

    @classmethod
    def new(cls) -> Self:
        """A ticket for the current event loop."""
        loop = asyncio.get_running_loop()
        return cls(loop, loop.create_future())


def answer(answers: Sequence[tuple[Ticket, Any]]) -> None:
    """Gives each its value; an exception is raised where it is awaited."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Ticket, Any]]] = {}
    for ticket, value in answers:
        by_loop.setdefault(ticket.loop, []).append((ticket, value))
    for loop, answered in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, answered)


def _resolve(answers: list[tuple[Ticket, Any]]) -> None:
    for ticket, value in answers:
        if ticket.future.done():  # cancelled meanwhile
            continue
        if isinstance(value, BaseException):
            ticket.future.set_exception(value)
        else:
            ticket.future.set_result(value)
