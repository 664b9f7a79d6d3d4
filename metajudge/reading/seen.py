"""What was seen of an input, in a few lines that every surface shows first: verdicts, values, labels, one example.

Of a table that cannot be read yet: each column with values of it, and what it is taken for.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from metajudge.reading.containers.tables import Survey
from metajudge.reading.conversations import text_of
from metajudge.reading.mapping import FieldMap
from metajudge.reading.scales import scale_text
from metajudge.reading.spread import columns_in
from metajudge.types import VERDICT_KINDS, Category, Grade, Judgment, Pairwise, Right, VerdictKind, kind_of
from metajudge.types.label import answers

if TYPE_CHECKING:  # numpy is imported where there are columns to count
    from metajudge.evidence.verdicts import Verdicts
    from metajudge.stats.arrays import Bools

MOST: Final = 8
"""Names or values that are shown one by one."""
MOST_WORDS: Final = 20
"""Categories that are counted one by one."""
WIDTH: Final = 88
_EXAMPLE: Final = 36
_KINDS: Final = {"pairwise": "pair", "ranking": "ranking", "grade": "grade", "category": "category"}
UNNAMED: Final = "(no name)"
OWN: Final = "(label of the record)"


def counts_of(facts: "Verdicts | None", rules: Mapping[VerdictKind, Right]) -> dict[str, Any]:
    """Kinds of verdicts, grades, categories, scales, what counts as right, and people's labels; absent parts are null.

    The labels of an item count once, however many judges it has. None stands for an input that cannot be read yet.
    """
    given = Counter[int]() if facts is None else Counter(facts.verdict.tolist())
    items = [] if facts is None else [facts.items[place] for place in sorted(set(facts.item.tolist()))]
    kinds, words, grades = Counter[VerdictKind](), Counter[str](), list[float]()
    for code, count in given.items():
        verdict = None if facts is None else facts.verdict_of(code)
        if verdict is not None:
            kinds[kind_of(verdict)] += count
        if isinstance(verdict, Grade):
            grades.append(verdict.value)
        if isinstance(verdict, Category):
            words[str(verdict)] += count
    people, each = Counter[str](), Counter[int]()
    for item in items:
        names = [one.annotator or UNNAMED for one in answers(item.labels)] or [OWN] * (item.label is not None)
        people.update(names)
        each.update([len(names)] if names else [])
    return {
        "kinds": dict(kinds),
        "categories": dict(words.most_common(MOST_WORDS)) or None,
        "grades": [min(grades), max(grades)] if grades else None,
        "scales": dict(Counter(scale_text(item.scale) for item in items if item.scale)) or None,
        "right": {kind: str(rule) for kind, rule in rules.items()},
        "labels": {
            "items": len(items),
            "labelled_items": each.total(),
            "annotators": dict(people),
            "per_item": {str(count): items for count, items in sorted(each.items())},
        },
    }


def lines_of(facts: "Verdicts", rows: "Bools | None" = None) -> list[str]:
    """What was read: verdicts with their judges and items; values, ties and what has no verdict; labels of people.

    Args:
        rows: [n] the judgments to tell of; None for all.
    """
    if rows is not None:
        facts = facts.select(rows.nonzero()[0])
    counts = counts_of(facts, {})
    labels, kinds = counts["labels"], Counter(counts["kinds"])
    each = [plural(_KINDS[kind], count) for kind, count in kinds.most_common()]
    judges = Counter(facts.judges[code] for code in facts.judge.tolist())
    by = next(iter(judges), "") if len(judges) == 1 else f"{len(judges)} judges ({top(judges)})"
    items, questions = labels["items"], len({facts.items[place].question for place in set(facts.item.tolist())})
    about = (f"{plural('item', items)} of " if questions != items else "") + plural("question", questions)
    by_people = "labels: none (in this file: --map label=COLUMN; in another one: --labels FILE)"
    if labels["annotators"]:
        people, labelled = Counter(labels["annotators"]), labels["labelled_items"]
        by_people = f"labels: {people.total():,} on {labelled:,} of {plural('item', items)}, by {top(people)}"
    return [f"{' and '.join(each) or 'no verdict'} by {by} on {about}", _values(facts, counts), by_people]


def _values(facts: "Verdicts", counts: Mapping[str, Any]) -> str:
    """How often each value occurs, grades and declared scales, ties, and what has no verdict."""
    given = Counter(facts.verdict.tolist())
    silent = given.pop(-1, 0)
    verdicts = [(facts.verdicts[code], count) for code, count in given.items()]
    parts = [f"verdicts: {top(Counter({str(one): count for one, count in verdicts}))}" if verdicts else "no verdicts"]
    parts += ["grades from {:g} to {:g}".format(*counts["grades"])] if counts["grades"] else []
    parts += [f"declared scale {', '.join(counts['scales'])}"] if counts["scales"] else []
    if "pairwise" in counts["kinds"]:
        import numpy as np

        ties = sum(count for one, count in verdicts if isinstance(one, Pairwise) and not one.strength)
        pair = facts.kind == VERDICT_KINDS.index("pairwise")
        shown = np.unique(np.stack([facts.item[pair], facts.judge[pair], facts.order[pair]]), axis=1)
        asked, orders = np.unique(shown[:2], axis=1, return_counts=True)
        both = int((orders > 1).sum())
        in_orders = f"{both:,} of {asked.shape[1]:,} in both orders" if both else "each in one order"
        parts += [plural("tie", ties), in_orders]
    return "; ".join([*parts, f"{silent:,} without a verdict" if silent else "none without a verdict"])


def _said(record: Judgment) -> str:
    return f"no verdict ({record.no_verdict})" if record.verdict is None else str(record.verdict)


def example_of(record: Judgment) -> str:
    """One judgment in one line."""
    item = record.item
    label = "" if item.truth is None else f", people say {item.truth}"
    texts = [quote(text)[: WIDTH // 2] for text in (item.question, *item.responses.values()) if text]
    shown = " | ".join(texts) if item.has_texts else "no texts"
    return cut(f"for example {record.id}: {record.judge} says {_said(record)}{label}: {shown}", 2 * WIDTH)


def record_lines(number: int, record: Judgment) -> list[str]:
    """A record as it will be read, its texts cut to a line each."""
    item = record.item
    label = f", label {item.label}" if item.label is not None else ""
    lines = [f"{number}. {record.id}"]
    lines.append(f"   {record.judge} says {_said(record)}{label}, shown in the order {', '.join(record.order)}")
    lines.append(f"   question   {quote(item.question)}")
    for name, text in item.responses.items():
        model = (item.models or {}).get(name)
        lines.append(f"   {name:<10} {quote(text)}{f'  ({model})' if model else ''}")
    return [*lines, *([f"   rationale  {quote(record.rationale)}"] if record.rationale else [])]


def samples(survey: Survey, column: str) -> list[str]:
    """The first three different values of a column, as text."""
    texts = (text_of(value) for value in survey.cells(column) if value is not None)
    return list(dict.fromkeys(text for text in texts if text))[:3]


def column_lines(
    columns: Sequence[str], values: Mapping[str, Sequence[str]], mapping: FieldMap, why: Mapping[str, str]
) -> list[str]:
    """Each column with values of it, the field it is read as, and why."""
    used: dict[str, list[str]] = {}
    for field, column in mapping.columns.items():
        for name in columns_in(column):
            used.setdefault(name, []).append(field)
    inner = [name for name in used if name not in columns]
    width = min(max(map(len, (*columns, *inner)), default=0), 28)
    lines = []
    for name in columns:
        below = [one for one in inner if one.split(".")[0] == name]
        for place in (name, *below):
            shown = cut(" | ".join(cut(one, _EXAMPLE // 2) for one in values.get(place, ())) or "(empty)", _EXAMPLE)
            for field in used.get(place) or ["see below" if below else "not used"]:
                line = f"  {place:<{width}}  {shown:<{_EXAMPLE}}  {field:<12}  {why.get(field, '')}"
                lines.append(cut_end(line.rstrip(), WIDTH + 32))
    return lines


def plural(name: str, count: int) -> str:
    """A count with its noun."""
    several = f"{name.removesuffix('y')}ies" if name.endswith("y") else f"{name}s"
    return f"{count:,} {name if count == 1 else several}"


def top(counts: Counter[Any]) -> str:
    """The most frequent names with their counts."""
    shown = ", ".join(f"{name or '(empty)'} {count:,}" for name, count in counts.most_common(MOST))
    return shown + (f" and {len(counts) - MOST} more" if len(counts) > MOST else "")


def quote(text: str) -> str:
    """A text in quotation marks, in one short line."""
    return cut_end(json.dumps(text, ensure_ascii=False), WIDTH - 14)


def cut(text: str, width: int) -> str:
    """A text in one line of at most so many characters."""
    return cut_end(" ".join(text.split()), width)


def cut_end(text: str, width: int) -> str:
    """A line of at most so many characters."""
    return text if len(text) <= width else f"{text[: width - 3]}..."
