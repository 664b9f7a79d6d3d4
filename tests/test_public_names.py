"""What ``from metajudge import ...`` offers."""

import subprocess
import sys

import metajudge


def test_the_import_alone_loads_nothing_heavy():
    code = "import sys, metajudge; print(*(name for name in ('asyncio', 'numpy', 'pydantic') if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_an_unknown_name_is_an_attribute_error():
    try:
        metajudge.nothing_of_the_kind  # noqa: B018
    except AttributeError as error:
        assert "nothing_of_the_kind" in str(error)
    else:
        raise AssertionError("no error")


def test_version_matches_the_distribution():
    from importlib.metadata import version

    assert version("metajudge-vet") == metajudge.__version__
