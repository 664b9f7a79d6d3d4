"""The audit of the record: votes, lost judges, ties, rankings, attempts, places, cost."""

from collections import defaultdict

from ..figure import Figures
from .figures import compare, count, share
from .records import PANEL_SIZE, LoggedEvaluation, Study


def figures(study: Study) -> Figures:
    """All figures of the audit, by id."""
    rows = [row for row in study.published if row.experiment in ("mtbench", "arena")]
    verdicts = [row for row in rows if row.valid]
    voted = sum(bool(row.of_role("candidate")) for row in verdicts)
    few = [row for row in rows if len(_said(row)) < PANEL_SIZE]
    ties = [row.row_id for row in study.published if row.weighted_tie]
    bad = [row.row_id for row in study.published if not all(map(row.well_formed, row.judges))]
    unpublished = sum(not row.published for row in study.rows)
    return {
        "audit.candidate_votes": count(
            voted,
            len(verdicts),
            "published mtbench and arena rows with a verdict that includes a candidate's vote",
            remark="The paper says that only the three panel judges vote; the recorded workflow adds the candidates' "
            "votes with weight 1 to the panel's with weight 2.",
        ),
        "audit.fewer_than_panel": count(
            len(few),
            len(rows),
            f"published mtbench and arena rows with fewer than {PANEL_SIZE} panel judges, or without a verdict",
            remark=f"{_names([row.row_id for row in few])}The paper names the row without a verdict alone; lost panel "
            "judges were not counted.",
        ),
        "audit.ties": count(
            len(ties),
            len(study.published),
            "published rows, e2e included, whose weighted score (panel 2, candidates 1) is an exact tie",
            remark=f"{_names(ties)}The published verdict is then the model with label A0.",
        ),
        "audit.invalid_rankings": count(
            len(bad),
            len(study.published),
            "published rows, e2e included, with a ranking that is not a permutation of the labels",
            remark=_names(bad).strip(),
        ),
        "audit.unpublished_attempts": count(unpublished, len(study.rows), "rows that no published result refers to"),
        **_positions(study),
        "cost.total": compare(
            sum(row.cost_usd or 0.0 for row in rows),
            len(rows),
            "sum of cost_usd of published mtbench and arena rows, in US dollars",
        ),
    }


def _said(row: LoggedEvaluation) -> list[str]:
    return [judge for judge, choice in row.supreme_choices.items() if choice is not None]


def _names(ids: list[str]) -> str:
    return f"{', '.join(ids)}. " if ids else ""


def _positions(study: Study) -> Figures:
    firsts: defaultdict[str, list[bool]] = defaultdict(list)
    for row in study.rows:
        for vote in row.judges:
            if row.choice(vote) is not None:
                firsts[vote.judge].append(vote.first_label == min(row.label_map or {"": ""}))
    return {
        f"audit.position.{judge}": share(
            sum(firsts[judge]),
            len(firsts[judge]),
            f"all rows: {judge} ranked the response shown as A0 first; without a preference for a place half",
        )
        for judge in sorted(firsts)
    }
