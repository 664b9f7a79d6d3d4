"""Judge pairs: a kept judgment over a discarded one that answered the very same prompt."""

from typing import Any

import orjson

from metajudge.errors import InputError
from metajudge.exports.decisions import PEOPLE, UNKNOWN
from metajudge.exports.request import ExportRequest, Format, Pairing, Rule
from metajudge.exports.workspace import FunnelStep, Work, make_entries, only, quoted
from metajudge.types import Item, Judgment

_GROUPS = {
    Pairing.BEST_WORST: "item_no, prompt_key",
    Pairing.ONE_PER_JUDGE: "item_no, prompt_key, judge",
    Pairing.ALL: "",
}


def pair_judgments(work: Work, request: ExportRequest) -> list[FunnelStep]:
    """Fills ``entries`` from ``selected``.

    Both judgments of a pair saw the same item, in the same order, under the same labels and instruction. The margin is
    the difference of their probabilities (of their scores, where the selection goes by these); it is absent where one
    of them has none. Equally good ones are chosen between by a seeded hash of their ids.
    """
    _displays(work)
    first = _candidates(work, request)
    return [first, _unpaired(work) if request.format is Format.KTO else _paired(work, request)]


def _candidates(work: Work, request: ExportRequest) -> FunnelStep:
    unknown = ", ".join(map(quoted, ("no_probability", "no_guarantee", "outside_calibration_domain", *UNKNOWN)))
    good = "kept"
    bad = f"NOT kept AND why NOT IN ({unknown}) AND (status = 'assessed' OR why IN {PEOPLE})"
    if request.by_label:  # where people and the label contradict each other neither is a lesson
        good, bad = "kept AND correct", "NOT correct AND kept_by IS DISTINCT FROM 'people'"
    by_probability = request.selection.rule in (Rule.MIN_PROBABILITY, Rule.GUARANTEE)
    quality = "a.probability" if by_probability else "coalesce(a.score, a.probability)"
    work.execute(
        f"""
        CREATE OR REPLACE TABLE candidates AS
        WITH verdicts AS (
            SELECT j.judgment_no, j.judgment_id, i.item_no, j.judge, j.verdict, winner(j.verdict) AS winner,
                a.probability, a.score, a.agents, {quality} AS quality, a.kept, a.kept_by, a.by_rule, a.status, a.why,
                right_by_label(j.verdict, i.label) AS correct, len(j.shown) AS shown_count,
                md5(i.item_no || chr(31) || d.display || chr(31) || coalesce(j.instruction, '')) AS prompt_key
            FROM selected a JOIN judgments j USING (judgment_id) JOIN items i ON i.item_id = j.item_id
            JOIN judgment_displays d ON d.judgment_no = j.judgment_no
        )
        SELECT *, {good} AS good, {bad} AS bad,
            CASE WHEN verdict IS NULL THEN 'no_verdict' WHEN NOT comparable(verdict) THEN 'single_response'
                WHEN winner IS NULL THEN 'tie' {"WHEN correct IS NULL THEN 'no_label'" if request.by_label else ""}
                WHEN NOT coalesce({good}, false) AND NOT coalesce({bad}, false)
                    THEN coalesce(why, 'neither_kept_nor_discarded') END AS lost
        FROM verdicts"""
    )
    rows = work.execute("SELECT coalesce(lost, ''), count(*) FROM candidates GROUP BY 1 ORDER BY 1").fetchall()
    counts = dict(rows)
    usable = counts.pop("", 0)
    work.execute("DELETE FROM candidates WHERE lost IS NOT NULL")
    if request.by_label and not usable:
        raise InputError(
            "no judgment has a label that says which response is right: add labels to items, or leave --by-label"
        )
    return FunnelStep("verdicts", "judgments", usable + sum(counts.values()), usable, counts)


def _paired(work: Work, request: ExportRequest) -> FunnelStep:
    kinds = "true" if request.quality_pairs else "g.winner <> b.winner"
    groups = _GROUPS[request.pairing]
    best = (
        f"QUALIFY row_number() OVER (PARTITION BY {groups} ORDER BY quality DESC NULLS LAST, "
        f"worst ASC NULLS LAST, md5('{request.seed}' || chosen_id || chr(31) || rejected_id)) = 1"
        if groups
        else ""
    )
    make_entries(
        work,
        f"""WITH combined AS (
            SELECT g.item_no, g.prompt_key, g.judge, b.judge AS other, g.judgment_id AS chosen_id,
                b.judgment_id AS rejected_id, g.judgment_no AS chosen_ref, b.judgment_no AS rejected_ref,
                g.quality, b.quality AS worst, g.probability, g.score, b.probability AS rejected_probability,
                b.score AS rejected_score, g.agents, g.kept_by, g.by_rule,
                CASE named(g.verdict).sign WHEN '>>' THEN 2 ELSE 1 END AS strength
            FROM candidates g JOIN candidates b ON g.item_no = b.item_no AND g.prompt_key = b.prompt_key
            WHERE g.good AND b.bad AND g.judgment_no <> b.judgment_no AND {kinds}
        )
        SELECT md5('judgments' || chr(31) || chosen_id || chr(31) || rejected_id)[:16] AS entry_id, item_no, chosen_ref,
            rejected_ref, quality - worst AS margin, strength, probability, score, rejected_probability,
            rejected_score, judge || ' over ' || other AS judge, [chosen_id, rejected_id] AS judgments, agents,
            kept_by, by_rule, 1 AS votes
        FROM combined {best}""",
    )
    good, bad, alone = only(
        work,
        """WITH prompts AS (SELECT prompt_key, count(*) FILTER (good) AS g, count(*) FILTER (bad) AS b,
                count(*) AS n FROM candidates GROUP BY 1)
            SELECT count(*) FILTER (g > 0 AND b > 0), count(*), count(*) FILTER (g = 0 OR b = 0) FROM prompts""",
    )
    (paired,) = only(
        work, "SELECT count(DISTINCT prompt_key) FROM candidates SEMI JOIN entries ON judgment_no = chosen_ref::BIGINT"
    )
    dropped = {"nothing_kept_or_nothing_discarded": alone, "same_winner": good - paired}
    return FunnelStep("pairing", "prompts", bad, paired, dropped)


def _unpaired(work: Work) -> FunnelStep:
    make_entries(
        work,
        """SELECT md5('judgment' || chr(31) || judgment_id)[:16] AS entry_id, item_no, judgment_no AS chosen_ref,
            good AS label, CASE named(verdict).sign WHEN '>>' THEN 2 ELSE 1 END AS strength, probability, score, judge,
            [judgment_id] AS judgments, agents, kept_by, by_rule, 1 AS votes FROM candidates""",
    )
    (count,) = only(work, "SELECT count(*) FROM entries")
    return FunnelStep("unpaired", "judgments", count, count)


def _displays(work: Work) -> None:
    """What the judge called the responses: few different arrangements, worked out by the record's own rule."""
    work.execute("""
        CREATE OR REPLACE TABLE judgment_displays AS
        SELECT j.judgment_no, to_json([json_keys(i.responses), j.shown, j.labels])::VARCHAR AS display
        FROM judgments j JOIN items i USING (item_id)""")
    work.execute("CREATE OR REPLACE TABLE displays (display VARCHAR, names VARCHAR[])")
    for (display,) in work.execute("SELECT DISTINCT display FROM judgment_displays ORDER BY 1").fetchall():
        work.execute("INSERT INTO displays VALUES ($1, $2)", [display, _shown_labels(*orjson.loads(display))])


def _shown_labels(names: list[str], shown: list[str], labels: list[str] | None) -> list[str]:
    item = Item(id="-", question="", responses=dict.fromkeys(names, ""))
    data: dict[str, Any] = {"id": "-", "item": item, "judge": "-", "verdict": None, "no_verdict": "-"}
    return list(Judgment(**data, order=tuple(shown), labels=None if labels is None else tuple(labels)).shown_labels)
