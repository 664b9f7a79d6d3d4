"""Which of the rows about one judgment counts.

Vetting appends: the result, then the same with a probability or a policy's decision, and later another policy's. Of the
rows about one judgment (by the digest of its content) by one panel, the one with the largest number counts; the others
are its history. Every list shows that row alone, and every count counts it alone. SQL that both databases understand.
"""


def is_newest(row: str, *, few: bool = False, among: str = "true", within_run: bool = False) -> str:
    """A condition that a row of ``assessments`` is the newest of its judgment and panel.

    Args:
        row: the name of the table, or its alias, in the query.
        few: whether the query looks at few rows, such as a page of the newest: then each is looked up by itself, which
            PostgreSQL does a hundred times as fast and DuckDB half as fast. Otherwise the newest of all are found at
            once, in time linear in the rows.
        among: a condition on ``assessments``; the row is then the newest of those that meet it. It selects all rows
            about some judgments, or one run's: what that run said last, whatever others said later. Not with ``few``.
        within_run: the newest of its judgment, panel and run, for several runs at once. Not with ``few``.
    """
    if few:
        return (
            f"{row}.assessment_id = (SELECT max(same.assessment_id) FROM assessments same "  # noqa: S608 - our own text
            f"WHERE same.judgment_digest = {row}.judgment_digest AND same.panel_digest = {row}.panel_digest)"
        )
    run = "run_id, " if within_run else ""
    found = f"SELECT max(assessment_id) FROM assessments WHERE {among} GROUP BY {run}judgment_digest, panel_digest"  # noqa: S608
    return f"{row}.assessment_id IN ({found})"
