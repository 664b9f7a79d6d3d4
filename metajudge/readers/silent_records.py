"""Records of our own whose verdict stands for no answer beside the verdicts of the others."""

from collections import Counter
from collections.abc import Sequence

from metajudge.errors import InputError
from metajudge.readers.vocabulary import beside
from metajudge.types import Category, Grade, Judgment
from metajudge.types.judgment import silent_reason
from metajudge.types.no_answer import no_answer


def without_silent_verdicts(judgments: Sequence[Judgment]) -> list[Judgment]:
    """The judgments, without the verdicts that :func:`~metajudge.types.no_answer.no_answer` says are none.

    A number that may be a grade is one here, as a record states its kind; so is whatever a declared scale has.

    Raises:
        InputError: a word that may be an answer or none.
    """
    own = [one for one in judgments if isinstance(one.verdict, Grade | Category) and not one.item.scale]
    seen = Counter(str(one.verdict) for one in own)
    truths = {str(truth) for one in own if (truth := one.item.truth) is not None}
    known = beside(seen, truths)
    found = {key: no_answer(key, known) for key in seen}
    unclear = [key for key in seen if found[key] is None and any(sign.isalpha() for sign in key)]
    if unclear:
        shown = ", ".join(f"{key!r} ({seen[key]:,})" for key in unclear)
        raise InputError(
            f"verdicts: {shown} may be an answer or stand for none: write null, with the reason in no_verdict, or "
            "declare the categories in item.scale"
        )
    silent = {key for key in seen if found[key]}
    if not silent:
        return list(judgments)
    chosen = {id(one) for one in own if str(one.verdict) in silent}
    return [
        one.model_copy(update={"verdict": None, "no_verdict": silent_reason(str(one.verdict))})
        if id(one) in chosen
        else one
        for one in judgments
    ]
