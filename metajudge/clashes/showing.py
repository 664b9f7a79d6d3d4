"""An evaluation as a person may see it who is to judge blind: answers under labels, without names. Pure."""

import random
import re
from collections.abc import Iterable, Mapping

from metajudge.clashes.record import ClashRecord
from metajudge.errors import InputError
from metajudge.judging.identity import hide_identities
from metajudge.types import Ranking, digest

_SIGNS = re.compile(r">{1,2}")


def blind_texts(record: ClashRecord) -> dict[str, str]:
    """Candidate -> its answer without names that reveal its author.

    The rule is applied anew, whatever was hidden from the judges: an earlier version hid less, and hiding may have been
    switched off for the run.
    """
    known = [one.model for one in record.candidates if one.model is not None]
    found = [name for one in record.candidates for name in one.hidden_names]
    found += telling_names(record.answered)
    models = [*record.models.values(), *known]
    return hide_identities(record.answered, question=record.question, models=models, names=found).shown


def telling_names(names: Iterable[str]) -> list[str]:
    """The candidates' names that are hidden wherever they stand: those that are no ordinary words.

    A name of several parts, or with a digit or a capital letter, is taken for one that means the candidate; a plain
    word such as "python" is hidden only where the context tells (:mod:`metajudge.judging.identity`).
    """
    return [name for name in names if not name.isalpha() or name != name.lower()]


def labels_of(record: ClashRecord, review_id: str) -> dict[str, str]:
    """Label -> candidate, in the order in which the answers are shown; drawn for this review, the same every time.

    Labels are R1, R2, ... or begin with another letter where a candidate is called so.
    """
    names = sorted(record.answered)
    random.Random(int(digest(["labels", review_id]), 16)).shuffle(names)
    letter = next(one for one in "RSTUVWXYZ" if not any(re.fullmatch(rf"{one}\d+", name) for name in names))
    return {f"{letter}{place}": name for place, name in enumerate(names, start=1)}


def ranking_by_label(text: str, labels: Mapping[str, str]) -> Ranking:
    """A person's verdict in terms of candidates: ``R2>R1=R3``, or ``R2`` alone for the best one.

    Labels and candidates' names may be given, not both in one verdict.

    Args:
        labels: label -> candidate.

    Raises:
        InputError: not every answer once; says what to write.
    """
    groups = [[part.strip() for part in group.split("=")] for group in _SIGNS.split(text.strip())]
    named = [name for group in groups for name in group]
    known = dict(labels) if set(named) <= set(labels) else {name: name for name in labels.values()}
    if len(named) == 1 and named[0] in known and len(known) > 1:
        groups.append([name for name in known if name != named[0]])
        named = [name for group in groups for name in group]
    if sorted(named) != sorted(known):
        example = ">".join(labels)
        raise InputError(
            f"{text!r} does not rank {', '.join(labels)} once each: write a ranking such as {example} "
            f"(= for equals), or the best one alone, such as {next(iter(labels), 'R1')}"
        )
    return Ranking(tuple(tuple(sorted(known[name] for name in group)) for group in groups))
