"""Exports of other tools, made by the tools themselves, that the tests of the readers read.

Each script runs in an environment of its own, where its tool is installed, from the folder that contains
``benchmarks``: ``python -m benchmarks.interop.make_mlflow tests/readers/interop``. The tests need none of the tools.
"""
