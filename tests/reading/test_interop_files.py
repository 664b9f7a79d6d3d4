"""The files of other tools are read to the last verdict and label, without a word from the user."""

from typing import Any

import pytest

from tests.reading.interop_files import COUNTED, COUNTS, INTEROP, counted


@pytest.mark.parametrize("own", COUNTS, ids=lambda own: own["file"])
def test_what_is_read_is_what_stands_there(own: dict[str, Any]) -> None:
    assert counted(INTEROP / own["file"]) == {name: own[name] for name in COUNTED}
