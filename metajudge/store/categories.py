"""The names that a category goes by in a store: those of built-in profiles and of the policies it keeps."""

import orjson
from pydantic import ValidationError

from metajudge.decision import Policy
from metajudge.decision.load import spellings
from metajudge.store.sql import Connection


def spellings_in(connection: Connection, category: str) -> list[str]:
    """The names, in lower case, that a category goes by: its own and those of every profile for it.

    Every version of a policy that decided something counts, so that what an earlier one decided is still found.
    """
    rows = connection.execute(
        "SELECT payload FROM audit_log WHERE kind = 'policy' AND strpos(payload, '\"profiles\":[') > 0"
    ).fetchall()
    policies = []
    for (payload,) in rows:
        try:
            policies.append(Policy.model_validate(orjson.loads(payload)["policy"]))
        except (KeyError, ValidationError):  # another version's, or altered: it is not used for decisions either
            continue
    return list(spellings(category, policies))
