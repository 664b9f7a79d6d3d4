"""The end-to-end cycles of section 12: answers made anew, winners compared."""

from collections import defaultdict
from typing import Any

from metajudge.stats.stability import WinnerStability, count_digests, winner_stability, winner_stability_by

from ..figure import Figure, Figures, absent
from .figures import compare, share
from .records import LoggedEvaluation, Study


def figures(study: Study) -> Figures:
    """All figures of the cycles, by id."""
    rows = study.valid("e2e")
    winners: defaultdict[str, list[str | None]] = defaultdict(list)
    for row in rows:
        winners[str(row.eval_id)].append(row.ai_winner)
    found = winner_stability(winners)
    stable, split = len(found.stable_prompts), len(found.split_prompts)
    which = "e2e prompts with a verdict in at least two cycles"
    tied = sorted({str(row.eval_id) for row in rows if row.weighted_tie} & set(found.split_prompts))
    remark = (
        f"Of the split prompts, {', '.join(tied)} have a verdict that is an exact tie, settled by label order."
        if tied
        else ""
    )
    return {
        "e2e.stable": share(stable, found.n, f"{which}: every cycle names the same winner", remark=remark),
        "e2e.split": share(split, found.n, f"{which}: two cycles name different winners"),
        "e2e.by_difficulty": _by_difficulty(rows, winners),
        "e2e.cost": compare(
            sum(row.cost_usd or 0.0 for row in study.of("e2e")),
            len(study.of("e2e")),
            "sum of cost_usd of published e2e rows, in US dollars",
        ),
    }


def _by_difficulty(rows: list[LoggedEvaluation], winners: dict[str, list[str | None]]) -> Figure:
    definition = (
        "e2e prompts by difficulty: how many have the same winner in every cycle (stable) and not (split), and the "
        "stable share in percent"
    )
    groups = {str(row.eval_id): row.e2e.difficulty for row in rows if row.e2e is not None}
    known = {prompt: labels for prompt, labels in winners.items() if prompt in groups}
    value = {name: _counts(found) for name, found in winner_stability_by(known, groups).items() if found.n}
    if not value:
        return absent(definition)
    digests: defaultdict[tuple[str, str], list[str | None]] = defaultdict(list)
    for row in rows:
        if row.e2e is not None:
            digests[str(row.eval_id), "a"].append(row.e2e.hash_a)
            digests[str(row.eval_id), "b"].append(row.e2e.hash_b)
    answers = count_digests(digests)
    remark = f"In {answers.all_different} of {answers.answers} series of answers every cycle gave a different text."
    n = sum(one["n"] for one in value.values())
    return compare(value, n, definition, remark=remark)


def _counts(found: WinnerStability) -> dict[str, Any]:
    stable = len(found.stable_prompts)
    return {"stable": stable, "split": len(found.split_prompts), "n": found.n, "share_stable": 100 * stable / found.n}
