from pydantic import ValidationError

from metajudge.types import Judgment

SECRET = "The patient's name is Gertrude."


def failed():
    """A defect whose words quote what was judged."""
    try:
        try:
            Judgment.model_validate({"id": SECRET, "rationale": 3})
        except ValidationError as error:
            raise RuntimeError(SECRET) from error
    except RuntimeError as error:
        return error
