"""A block is taken as known only if all that it says is what an earlier run kept."""

from dataclasses import replace

import numpy as np

from metajudge.bulk.keeping import Keeping
from metajudge.store.bulk import AnnotationRow, Annotations, Appended, AssessmentBlock

SAID = AnnotationRow("assessed", True, "c1", None, None, None, None, b'{"probability":\x01}', (None,) * 3)
NUMBERS = np.full((2, 3), np.nan)
BLOCK = AssessmentBlock(
    *("run", ["k1", "k2"], ["d1", "d2"], ["j1", "j2"], ["i", "i"], ["owl", "owl"], ["assessed"] * 2, [5.0, 1.0]),
    *([True, False], ["signals"] * 2, ["p", "p"], [b"{}", b"{}"]),
    annotations=Annotations([SAID], np.zeros(2, dtype=np.int64), np.array([0.5, np.nan]), NUMBERS),
)


class Remembering:
    """A store to which nothing else is appended."""

    def __init__(self) -> None:
        self.results, self.appended, self.newest = {}, 0, 0

    async def newest_version(self):
        return self.newest

    async def find_results(self, blocks):
        return [self.results.get(one) for one in blocks]

    async def without_texts(self, items, judgments):
        return set(), set()

    async def append_block(self, block):
        self.appended += 1
        self.newest += len(block)
        return Appended(np.arange(len(block)), len(block), len(block))

    async def keep_results(self, blocks, numbers):
        self.results.update(zip(blocks, numbers, strict=True))


async def kept(store, block):
    """How many of a block's assessments a run recognises."""
    keeping = Keeping(store)
    await keeping.start()
    await keeping.keep(block, ["i"], lambda *_: ((), ()))
    await keeping.finish()
    return keeping.reused


async def test_the_same_block_is_known():
    store = Remembering()
    assert [await kept(store, BLOCK), await kept(store, BLOCK)] == [0, 2]
    assert store.appended == 1


async def test_another_number_makes_another_block():
    said, store = BLOCK.annotations, Remembering()
    await kept(store, BLOCK)
    margins = NUMBERS.copy()
    margins[1, 2] = 0.25
    for other in (replace(said, probabilities=np.array([0.5, 0.25])), replace(said, numbers=margins)):
        assert await kept(store, replace(BLOCK, annotations=other)) == 0
    assert await kept(store, replace(BLOCK, annotations=None)) == 0
