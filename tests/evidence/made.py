"""Made judgments of every kind with what occurs in records: ties, missing verdicts, repeats, other orders, variants."""

import random
from typing import Any

from metajudge.types import Item, Judgment, Right, VerdictKind, parse_right

RULES: dict[VerdictKind, list[str | None]] = {
    "pairwise": [None, "equal", "kendall>=0.5"],
    "ranking": [None, "equal", "kendall>=0.5"],
    "grade": [None, "within:1", "side:3", "equal"],
    "category": [None, "side:3"],
}
TEXTS = (
    "",
    "A is better. [[A]]",
    "I think Response B is better, and my verdict is [[B>A]].",
    "score: 4",
    "the verdict is pass, rating: 2",
    "word " * 25 + "the winner is Assistant A",
)


def made_input(seed: int) -> tuple[list[Judgment], Right | None]:
    """Judgments of a few items, and what counts as right."""
    rng = random.Random(seed)
    kind = rng.choice(list(RULES))
    rule = rng.choice(RULES[kind])
    judges = [f"j{number}" for number in range(rng.choice([1, 2, 3, 8]))]
    models = {judge: rng.choice(["m1", "m2", ""]) for judge in judges}
    mixed, found = rng.random() < 0.3, []
    for number in range(rng.choice([1, 3, 8])):
        ids = rng.choice(["AB", "AB", "ABCD", ("m.x", "m.y", "Zed")])
        responses = {name: "w " * rng.randint(0, 6) for name in ids}
        item = Item(id=f"i{number}", question=f"q{number % 5}", responses=responses, category=rng.choice([None, "c"]))
        for judge in judges:
            for _ in range(rng.choice([0, 1, 1, 2, 3])):
                chosen = rng.choice(list(RULES)) if mixed else kind
                found.append(_judgment(rng, f"{len(found)}", item, judge, chosen, models[judge]))
    rng.shuffle(found)
    return found, None if rule is None else parse_right(rule)


def _judgment(rng: random.Random, name: str, item: Item, judge: str, kind: VerdictKind, model: str) -> Judgment:
    ids = list(item.responses)
    verdict = None if rng.random() < 0.1 else _verdict(rng, kind, ids)
    order = [rng.choice(ids)] if kind in ("grade", "category") else rng.sample(ids, len(ids))
    meta: dict[str, Any] = {"judge_model": model} if model else {}
    if rng.random() < 0.1:
        meta["confidence"] = rng.choice([0.5, "x", 7])
    return Judgment(
        id=name,
        item=item,
        judge=judge,
        verdict=verdict,
        no_verdict="cut off" if verdict is None else None,
        order=tuple(order),
        rationale=rng.choice(TEXTS),
        meta=meta,
    )


def _verdict(rng: random.Random, kind: VerdictKind, ids: list[str]) -> Any:
    if kind == "pairwise":
        first, second = rng.sample(ids, 2)
        return first + rng.choice([">", ">>", "="]) + second
    if kind == "ranking":
        groups: list[list[str]] = []
        for name in rng.sample(ids, rng.randint(2, len(ids))):
            if groups and rng.random() < 0.25:
                groups[-1].append(name)
            else:
                groups.append([name])
        return groups
    if kind == "grade":
        return rng.choice([1, 2, 3, 4, 5, 3.5])
    return rng.choice([True, False, "pass", "fail", "odd"])
