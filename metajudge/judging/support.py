"""How far verdicts on a pair bear out another verdict on it."""

from collections.abc import Sequence

from metajudge.types import AnyVerdict, Pairwise


def support(verdict: AnyVerdict, given: Sequence[Pairwise]) -> float:
    """Mean support of ``given`` for ``verdict``, in [-1, 1].

    With a winner: the mean of the signed strengths over 2, so that ``A>>B`` supports ``A>B`` by 1, ``A>B`` by 1/2,
    a tie by 0, ``B>A`` by -1/2 and ``B>>A`` by -1. How strongly ``verdict`` itself is stated plays no part.

    A tie is supported by ties: the mean of 1 - strength, so 1 for a tie, 0 for a plain preference and -1 for a
    strong one, whichever way it goes. Two opposite preferences (a model that likes what it sees first) are no
    agreement on a tie.

    Args:
        verdict: a preference or a tie between two responses.
        given: at least one verdict on the same two.

    Raises:
        ValueError: verdicts on other responses, or none.
    """
    if not given or len(verdict.ids) != 2 or any(set(one.ids) != set(verdict.ids) for one in given):
        there = ", ".join(map(str, given)) or "none"
        raise ValueError(f"only verdicts on the same two responses can support {verdict}; these are: {there}")
    first, second = verdict.ids
    if verdict.is_tie:
        return sum(1.0 - one.strength for one in given) / len(given)
    signed = [one.support(first, second) or 0 for one in given]
    return sum(signed) / (2 * len(given))
