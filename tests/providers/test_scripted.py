"""The public model for tests complains when its script ends."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.providers.scripted import ScriptedModel
from tests.doubles.model_requests import ask


async def test_an_exhausted_script_is_an_error_and_never_an_empty_answer():
    model = ScriptedModel(["only"])
    await model.complete(ask())
    with pytest.raises(ConfigurationError, match="asked 2 times, but its script has only 1 answers"):
        await model.complete(ask())
