"""The record itself: votes of candidates on their own answers, end-to-end cycles, and the audit of what was logged."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from metajudge.stats.stability import count_digests, winner_stability, winner_stability_by

from ..figure import FigureTable, absent, count, of_rows, share, share_of
from .figures import printed
from .records import PANEL_SIZE, LoggedEvaluation, Study, Vote, dollars


@dataclass(frozen=True, slots=True)
class SelfVote:
    """One candidate's vote on a comparison with itself.

    Attributes:
        first: whether it ranked itself first, by the stored label map.
        misread: the same where label A0 is taken for the winner of the final ranking.
    """

    model: str
    first: bool
    misread: bool
    expected: bool


def add_self_votes(table: FigureTable, study: Study) -> None:
    """Self-preference: candidates that judged their own answer without knowing it, in logged and in published rows."""
    logged = "logged mtbench and arena rows, unpublished attempts included"
    published = (row for row in study.published if row.experiment in ("mtbench", "arena"))
    for prefix, rows, which in (
        ("self", study.logged, logged),
        ("self_published", published, "published mtbench and arena rows"),
    ):
        votes = list(self_votes(rows))
        misread = 100 * sum(vote.misread for vote in votes) / max(1, len(votes))
        words = {"prefix": prefix, "which": which}
        table.add("{prefix}.first", share_of(vote.first for vote in votes), theirs=misread, **words)
        table.add("{prefix}.expected", share_of(vote.expected for vote in votes), **words)
        groups: defaultdict[str, list[SelfVote]] = defaultdict(list)
        for vote in votes:
            groups[vote.model].append(vote)
        models = groups.keys() | printed(f"{prefix}.by_model.")
        for model in sorted(models, key=lambda model: (-len(groups.get(model, [])), model)):
            _of_model(table, groups.get(model, []), {**words, "model": model})


def _of_model(table: FigureTable, votes: list[SelfVote], words: dict[str, str]) -> None:
    name, n = "{prefix}.by_model.{model}", len(votes)
    if not votes:
        table.add(name, absent("This model judged no comparison of its own in these data."), **words)
        return
    readings = ([v.first for v in votes], [v.expected for v in votes], [v.misread for v in votes])
    first, expected, misread = (100 * sum(one) / n for one in readings)
    value = {"first": first, "expected": expected, "difference": first - expected, "n": n}
    theirs, ends = {"difference": misread - expected, "n": n}, share_of(readings[0])("").ends
    table.add(name, of_rows(value, n, ends), theirs=theirs, misread=misread, **words)


def self_votes(rows: Iterable[LoggedEvaluation]) -> Iterable[SelfVote]:
    """Every vote of a candidate on its own answer, where a human's choice is known and the vote names a model."""
    for row in rows:
        for vote in row.of_role("candidate"):
            own = next((model for model in row.pair if model in (vote.judge, vote.model)), None)
            choice = row.choice(vote)
            if own is not None and choice is not None and row.labelled:
                yield SelfVote(own, choice == own, _misread(row, vote) == own, row.human_winner == own)


def _misread(row: LoggedEvaluation, vote: Vote) -> str | None:
    """Reads labels as places of the final ranking: A0 as the winner, A1 as the loser."""
    if row.ai_winner is None:
        return None
    loser = next(model for model in row.pair if model != row.ai_winner)
    return row.ai_winner if vote.first_label == row.first_shown else loser


def add_cycles(table: FigureTable, study: Study) -> None:
    """The end-to-end cycles of section 12: answers made anew, winners compared."""
    rows, every = study.valid("e2e"), study.of("e2e")
    winners: defaultdict[str, list[str | None]] = defaultdict(list)
    digests: defaultdict[tuple[str, str], list[str | None]] = defaultdict(list)
    groups: dict[str, str] = {}
    for row in rows:
        prompt = str(row.eval_id)
        winners[prompt].append(row.ai_winner)
        if row.e2e is not None:
            groups[prompt] = row.e2e.difficulty
            digests[prompt, "a"].append(row.e2e.hash_a)
            digests[prompt, "b"].append(row.e2e.hash_b)
    found, answers = winner_stability(winners), count_digests(digests) if digests else None
    tied = sorted({str(row.eval_id) for row in rows if row.weighted_tie} & set(found.split_prompts))
    remark = f"Of the split prompts, {', '.join(tied)} have a verdict that is an exact tie, settled by label order."
    table.add("e2e.stable", share(len(found.stable_prompts), found.n), remark if tied else "")
    table.add("e2e.split", share(len(found.split_prompts), found.n))
    by_group = winner_stability_by({name: said for name, said in winners.items() if name in groups}, groups)
    value: dict[str, Any] = {}
    for name, one in by_group.items():
        stable, split = len(one.stable_prompts), len(one.split_prompts)
        if one.n:
            value[name] = {"stable": stable, "split": split, "n": one.n, "share_stable": 100 * stable / one.n}
    n = sum(one["n"] for one in value.values())
    words = {} if answers is None else {"different": answers.all_different, "answers": answers.answers}
    table.add("e2e.by_difficulty", of_rows(value, n), **words)
    table.add("e2e.cost", of_rows(dollars(every), len(every)))


def add_audit(table: FigureTable, study: Study) -> None:
    """The audit of the record: votes, lost judges, ties, rankings, attempts, places, cost."""
    rows = [row for row in study.published if row.experiment in ("mtbench", "arena")]
    verdicts = [row for row in rows if row.valid]
    few = [row.row_id for row in rows if sum(one is not None for one in row.supreme_choices.values()) < PANEL_SIZE]
    ties = [row.row_id for row in study.published if row.weighted_tie]
    bad = [row.row_id for row in study.published if not all(map(row.well_formed, row.judges))]
    table.add("audit.candidate_votes", count(sum(bool(r.of_role("candidate")) for r in verdicts), len(verdicts)))
    table.add("audit.fewer_than_panel", count(len(few), len(rows)), size=PANEL_SIZE, names=_names(few))
    table.add("audit.ties", count(len(ties), len(study.published)), names=_names(ties))
    table.add("audit.invalid_rankings", count(len(bad), len(study.published)), _names(bad).strip())
    unpublished = sum(not row.published for row in study.rows)
    table.add("audit.unpublished_attempts", count(unpublished, len(study.rows)))
    firsts: defaultdict[str, list[bool]] = defaultdict(list)
    for row in study.rows:
        for vote in row.judges:
            if row.choice(vote) is not None:
                firsts[vote.judge].append(vote.first_label == row.first_shown)
    for judge in sorted(firsts):
        table.add("audit.position.{judge}", share_of(firsts[judge]), judge=judge)
    table.add("cost.total", of_rows(dollars(rows), len(rows)))


def _names(ids: list[str]) -> str:
    return f"{', '.join(ids)}. " if ids else ""
