import pytest
from metajudge.benchmarks.catalogue import benchmark_named

from metajudge.errors import InputError


def test_an_unknown_benchmark_names_those_there_are():
    with pytest.raises(InputError, match="judgebench, llmbar"):
        benchmark_named("mt-bench")
