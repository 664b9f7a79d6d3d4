"""Stores of 0.2, opened once a module: commands that change nothing share one."""

import contextlib

import pytest

from tests.doubles.llm_server import LLMServer
from tests.edges.stored.stores import opened


@pytest.fixture(scope="module")
def models():
    """The server that models would be asked on."""
    with LLMServer() as server:
        yield server


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Opens a kind of store on a database, once a module; hands out its folder, and where it is while inside."""
    folders = {}

    @contextlib.contextmanager
    def inside(kind, **options):
        folder = folders.setdefault(kind, tmp_path_factory.mktemp(kind))
        with opened(folder, kind, **options) as where:
            yield folder, where

    return inside


@pytest.fixture
def fresh(tmp_path):
    """The same, in a folder of the test's own, for commands that change something."""

    @contextlib.contextmanager
    def inside(kind, **options):
        with opened(tmp_path, kind, **options) as where:
            yield tmp_path, where

    return inside
