"""One pass over judgments: verdicts as columns, items by their id, and what the caller's own data say of each.

These say when a judgment was made, by which version and under which prompt.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from metajudge.evidence.format import word_counts
from metajudge.evidence.grouping import Interned
from metajudge.evidence.units import Asked, ItemFact, unit_of
from metajudge.evidence.verdicts import Coded, Verdicts, collected
from metajudge.stats.arrays import Floats
from metajudge.types import Item, Judgment, Label
from metajudge.types.digests import text_digest
from metajudge.types.label import answers, combined
from metajudge.types.verdict import AnyVerdict

EXCERPT = 200
"""Characters kept of a question, a response and a rationale."""

TIMES = ("time", "timestamp", "created_at", "createdAt", "judged_at", "start_time", "datetime", "date", "tstamp")
VERSIONS = ("judge_version", "model_version", "version", "snapshot", "revision")
PROMPTS = ("prompt_version", "prompt_name", "prompt_id", "prompt_template", "template", "prompt")
"""Keys of ``meta``, the first one present counts."""

LONGEST = 80
"""A longer value is a text, not the name of a version or a prompt."""

_MILLISECONDS = 1e11
"""Numbers above it are milliseconds since 1970."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """The judgments of an audit, those without a verdict last.

    Attributes:
        facts: of all n judgments; an item is what has its id, with the truth and the category of all its records.
        records: [n] the judgments.
        items: [items] the first record of each item, with the labels of all.
        duplicates: judgments left out since an earlier one has their id.
        relabelled: items whose records have two different labels of their own.
        version, prompt, instruction: of the judge, where they are known.
    """

    facts: Verdicts
    records: Sequence[Judgment]
    items: Sequence[Item]
    duplicates: int
    relabelled: int
    version: Coded[str]
    prompt: Coded[str]
    instruction: Coded[str]

    @cached_property
    def heard(self) -> Verdicts:
        """The judgments with a verdict, the first ones of ``facts``; only their judges."""
        found = self.facts.select(np.flatnonzero(self.facts.verdict >= 0))
        return replace(found, judges=found.judges[: int(found.judge.max(initial=-1)) + 1])

    @cached_property
    def time(self) -> Floats:
        """[n] seconds since 1970; NaN without a time."""
        return np.array([time_of(one.meta) if one.meta else None for one in self.records], dtype=np.float64)

    @cached_property
    def people(self) -> Sequence[tuple[Label, ...]]:
        """[items] one answer a person."""
        return [answers(one.labels) for one in self.items]


def gather(judgments: Iterable[Judgment]) -> Gathered:
    """Reads all judgments once; a repeated id is counted and left out."""
    seen: dict[str, Judgment] = {}
    items: dict[str, Item] = {}
    relabelled, duplicates = set(), 0
    for one in judgments:
        if one.id in seen:
            duplicates += 1
            continue
        seen[one.id], item = one, one.item
        known = items.setdefault(item.id, item)
        if known is not item and (known.label, known.labels) != (item.label, item.labels):
            if None not in (known.label, item.label) and known.label != item.label:
                relabelled.add(item.id)
            label = item.label if known.label is None else known.label
            labels = known.labels if item.labels == known.labels else combined(known.labels, item.labels)
            items[item.id] = known.model_copy(update={"label": label, "labels": labels})
    records = sorted(seen.values(), key=lambda one: one.verdict is None)
    words = np.array(word_counts([one.rationale for one in records]), dtype=np.int32)
    return Gathered(
        facts=replace(_by_id(collected(records, texts=False), items), words=words),
        records=records,
        items=list(items.values()),
        duplicates=duplicates,
        relabelled=len(relabelled),
        version=_coded(named(one.meta, VERSIONS) for one in records),
        prompt=_coded(named(one.meta, PROMPTS) for one in records),
        instruction=_coded(_told_apart(one.instruction) for one in records),
    )


def _coded(values: Iterable[str | None]) -> Coded[str]:
    """Names that some judgments have, in order of their first use."""
    known = Interned[str]()
    return Coded(np.array([known.optional(one) for one in values], dtype=np.intp), known.values)


def _by_id(facts: Verdicts, items: Mapping[str, Item]) -> Verdicts:
    """The table with one item per id, merged from all records of that id."""
    place = {name: at for at, name in enumerate(items)}
    item = np.array([place[one.id] for one in facts.items], dtype=np.int32)[facts.item]
    asked = [Asked.of(one) for one in items.values()]
    unit = unit_of(asked)
    truths, categories = Interned[AnyVerdict](), Interned[str]()
    for name in sorted({one.category for one in items.values() if one.category is not None}):
        categories.code(name)
    codes = [(truths.optional(one.truth), categories.optional(one.category)) for one in items.values()]
    truth, category = np.array(codes, dtype=np.int32).reshape(-1, 2).T
    named = [
        ItemFact(one.id, one.digest, said.named(unit), one.scale, said.text, said.unit, said.stated)
        for one, said in zip(items.values(), asked, strict=True)
    ]
    found = replace(facts, item=item, items=named, truth=truth[item], truths=truths.values)
    return replace(found, category=category[item], categories=categories.values)


def _told_apart(text: str | None) -> str | None:
    return None if text is None else text if len(text) <= EXCERPT else f"{text[:60]}... {text_digest(text)[:12]}"


def time_of(meta: Mapping[str, Any]) -> float | None:
    """Seconds since 1970, from ISO 8601, a number of seconds or of milliseconds; None without a time."""
    for key in TIMES:
        if key in meta and (found := _seconds(meta[key])) is not None:
            return found
    return None


def named(meta: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first of some keys with a short text or a number."""
    for key in keys:
        value = meta.get(key)
        if isinstance(value, str) and 0 < len(value.strip()) <= LONGEST:
            return value.strip()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:g}"
    return None


def iso(seconds: float) -> str:
    """ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _seconds(value: Any) -> float | None:
    if isinstance(value, str):
        for read in (datetime.fromisoformat, float):
            with suppress(ValueError):
                value = read(value.strip())
                break
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    seconds = value / 1000 if abs(value) > _MILLISECONDS else float(value)
    return seconds if 0 < seconds < _MILLISECONDS else None
