from pydantic import ValidationError

from metajudge.types import Judgment
from tests.doubles.judgments import judgment

SECRET = "The patient's name is Gertrude."


def record(**changes):
    return judgment(**changes).model_dump(mode="json")


def failed():
    """A defect whose words quote what was judged."""
    try:
        try:
            Judgment.model_validate({"id": SECRET, "rationale": 3})
        except ValidationError as error:
            raise RuntimeError(SECRET) from error
    except RuntimeError as error:
        return error
