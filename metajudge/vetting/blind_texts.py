"""The responses of a judgment as people see them who judge it blind."""

from collections.abc import Mapping

from metajudge.clashes.sheet import telling_names
from metajudge.judging.identity import hide_identities
from metajudge.types import Judgment


def blind_texts(judgment: Judgment) -> Mapping[str, str]:
    """Response -> its text without names of models, of the judge and of the responses, where they tell something."""
    item = judgment.item
    known = [*(item.models or {}).values(), judgment.judge]
    names = telling_names(item.responses)
    return hide_identities(item.responses, question=item.question, models=known, names=names).shown
