"""Records that nobody has vetted before, and what is on record of changes, for tests of every noun."""

import itertools

from tests.doubles.judgments import judgment

KEY = "k" * 32
SECRET = "The patient's name is Gertrude."


def record(**changes):
    return judgment(**changes).model_dump(mode="json")


NUMBERS = itertools.count()


def vetted(client, count=1, **choice):
    """Vets so many judgments, which nobody has seen before, and returns their assessments."""
    records = [record(id=f"j{n}", rationale=f"Reason {n}.") for n in itertools.islice(NUMBERS, count)]
    return [client.post("/v1/vet", json={"judgment": one, **choice}).json() for one in records]


def changes(client, subject=None):
    """What was changed, oldest first."""
    found = client.get("/v1/changes", params={"limit": 1000, **({"subject": subject} if subject else {})}).json()
    assert all(one["change"]["by"] == "ci" and one["change"]["request_id"] for one in found)
    return [one["change"] for one in found]
