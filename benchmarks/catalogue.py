"""The benchmarks there are."""

from metajudge.errors import InputError

from .benchmark import Benchmark
from .judgebench import JudgeBench
from .llmbar import LLMBar

BENCHMARKS: dict[str, Benchmark] = {benchmark.card.name: benchmark for benchmark in (JudgeBench(), LLMBar())}


def benchmark_named(name: str) -> Benchmark:
    """Finds a benchmark.

    Raises:
        InputError: there is none of that name, with those there are.
    """
    if name not in BENCHMARKS:
        raise InputError(f"no benchmark is named {name!r}; there are: {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]
