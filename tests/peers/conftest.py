"""The installed command, as tests of the command line run it."""

from tests.cli.conftest import metajudge

__all__ = ["metajudge"]
