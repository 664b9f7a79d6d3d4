"""Commands that read a store: it must exist, and it is closed at the end."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from metajudge.cli.loop import run, say
from metajudge.cli.options import store_path
from metajudge.errors import StoreError
from metajudge.outcomes.sending import sending, webhook_of
from metajudge.settings import Settings
from metajudge.store import Store, open_store

T = TypeVar("T")


def with_store(
    given: str | None,
    use: Callable[[Store], Awaitable[T]],
    *,
    maker: str = "vet",
    option: str = "--store",
    decides: bool = False,
) -> T:
    """Opens the store, uses it and closes it.

    Args:
        given: the value of ``--store``; None for the default place.
        use: receives the open store; its result is returned.
        maker: the command that makes such a store, for the message.
        option: the option that names a store.
        decides: whether people decide: then the outcomes go to the webhook of the settings, if there is one.

    Raises:
        StoreError: there is no store, or it cannot be opened.
    """
    path = store_path(given)
    if not path.exists():
        raise StoreError(f"{path}: no such store; name it with {option}, or make one with `metajudge {maker}`")

    hook = webhook_of(Settings.load()) if decides else None

    async def opened() -> T:
        store = await open_store(path)
        try:
            if hook is None:
                return await use(store)
            async with sending(store, hook, say):
                return await use(store)
        finally:
            await store.close()

    return run(opened())
