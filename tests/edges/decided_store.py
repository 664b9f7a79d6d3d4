"""A store in which people decided hundreds of verdicts and found a policy too lenient.

Commands alone would take minutes to make it, so it is filled from within: the only place here that does so.
"""

import asyncio
from pathlib import Path

from metajudge.store import open_store
from tests.doubles.decided_cases import crowd
from tests.feedback.test_loop import decided


def fill(path: Path) -> None:
    """Writes the store."""
    asyncio.run(_fill(path))


async def _fill(path: Path) -> None:
    store = await open_store(path)
    await decided(store, crowd(800, 6, bias=0.25))
    await store.close()
