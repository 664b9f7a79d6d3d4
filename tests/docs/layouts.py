"""How the blocks of :mod:`tests.docs.figures` look: from what was printed to Markdown, one function a block.

Each takes one text a command: what it printed, or a recorded file. A layout fails where a field or a row that it shows
is no longer printed.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]
CALIBRATED = {at: f"calibrated out of fold, best {at} %" for at in (80, 60, 40)}
BEST = "decided | precision | best 80 % | best 60 % | best 40 %"


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown; the head has `` | `` between its names."""
    cells = [head.split(" | "), ["---"] * (head.count(" | ") + 1), *rows]
    return re.sub(r"\|  (?=\|)", "| ", "\n".join(f"| {' | '.join(row)} |" for row in cells))


def fenced(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.strip()}\n```"


def percent(estimate: Row) -> str:
    """``74.2 (71.0 to 77.2)`` of a share with its interval."""
    return "{:.1f} ({:.1f} to {:.1f})".format(*(100 * estimate[name] for name in ("share", "low", "high")))


def points(difference: Row) -> str:
    """``+7.3 (+6.0 to +8.5)`` of a difference of shares; empty where there is none."""
    if "absent" in difference:
        return ""
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * difference[name] for name in ("value", "low", "high")))


def overall(judge: Row) -> dict[str, Row]:
    """The rows of a judge over all categories, by the names of their columns; ``decided`` is the first."""
    return {"decided" if row["kind"] == "raw" else row["column"]: row["cells"]["Overall"] for row in judge["rows"]}


def kept(bench: str) -> str:
    """All verdicts, and what free evidence keeps of them."""
    judge = json.loads(bench)["judges"][0]
    rows = overall(judge)
    given = judge.get("counts", {}).get("all", {}).get("share")
    cells = [
        [
            name,
            f"{(row := rows[name])['selected']:,}",
            str(row["precision"]["questions"]),
            f"{100 * row['coverage']:.1f} %",
            percent(row["precision"]),
            points(row["against_raw"]),
        ]
        for name in ("decided", "both orders agree", "free evidence, best 60 %", "free evidence above 4.5")
    ]
    if given:
        whole = percent({**given, "share": given["estimate"]})
        cells.insert(0, ["all, ties are wrong", f"{given['n']:,}", str(given["clusters"]), "", whole, ""])
    return table("kept | verdicts | questions | coverage | precision | against decided", cells)


def best(judge: Row) -> Iterable[str]:
    """Decided verdicts, precision of all and of the best; with the coverage where equal scores reach beyond it."""
    rows = overall(judge)
    yield f"{judge['decided']:,}"
    yield percent(rows["decided"]["precision"])
    for at, column in CALIBRATED.items():
        reached = 100 * rows[column]["coverage"]
        yield percent(rows[column]["precision"]) + f", best {reached:.0f} %" * (abs(reached - at) > 1)


def by_judge(bench: str) -> str:
    """What is right among the best of each judge, out of fold."""
    judges = json.loads(bench)["judges"]
    return table(f"judge | {BEST}", ([judge["judge"].rpartition("/")[2], *best(judge)] for judge in judges))


def out_of_fold(*benches: str) -> str:
    """The best verdicts of whole benchmarks, and the precision aimed at."""

    def cells(found: Row) -> Iterable[str]:
        judge = found["judges"][0]
        yield f"{found['title']}, {judge['judge'] if len(found['judges']) == 1 else 'all judges'}"
        yield from best(judge)
        for column in ("majority of peers agrees", "aims at 85 % precision", "aims at 90 % precision"):
            row = overall(judge).get(column)
            share = (
                f"{percent(row['precision'])} of {100 * row['coverage']:.0f} %"
                if row and row["selected"]
                else "nothing"
            )
            yield share if row else ""

    head = f"set | {BEST} | majority of peers | aims at 85 % | aims at 90 %"
    return table(head, (cells(json.loads(bench)) for bench in benches))


RULES = {
    "ours: ranks (default)": "`ranks` (default)",
    "ours: e_process": "`e_process`, at any time",
    "one drawn: ranks": "`ranks`, one judgment drawn",
    "Trust or Escalate": "Trust or Escalate",
    "one drawn: learn-then-test": "Learn then Test, fixed sequence",
    "one drawn: Bonferroni, own ranks": "Bonferroni",
    "MAPIE": "MAPIE 1.6",
    "SCOPE": "SCOPE",
    "z test (asymptotic)": "z test",
    "oracle": "best threshold in hindsight",
}
PROMISES = {"kept": "all kept", "drawn": "one drawn", "average": "on average", "nothing": "nothing"}
SETS = ("judgebench", "realmistake", "llmbar", "themis_rewardbench2", "mtbench")


def guarantees(recorded: str) -> dict[tuple[str, str], list[Row]]:
    """The rows of a rule on a set, by rising target."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(json.loads(recorded)["figures"]["rows"], key=lambda row: row["target"]):
        found.setdefault((row["procedure"], row["set"]), []).append(row)
    return found


def rivals(recorded: str) -> str:
    """Coverage of each rule at .80 / .85 / .90, and the largest share of draws that broke the target."""
    rows = guarantees(recorded)

    def cell(rule: str, given: list[Row]) -> str:
        if given[0]["coverage"] is None:
            return "not applicable"
        broken = f" ({max(100 * row['broken'] for row in given):.0f})" * (rule != "oracle")
        return " / ".join(f"{row['coverage']:.3f}" for row in given).replace("0.", ".") + broken

    return table(
        "rule | promises | JudgeBench | ReaLMistake | LLMBar | RewardBench 2 | MT-Bench",
        (
            [name, PROMISES[rows[rule, SETS[0]][0]["promise"]], *(cell(rule, rows[rule, of]) for of in SETS)]
            for rule, name in RULES.items()
        ),
    )


def guarantee(recorded: str) -> str:
    """One sentence about the default on JudgeBench."""
    rows = guarantees(recorded)["ours: ranks (default)", "judgebench"]
    coverage = "{:.0f}, {:.0f} and {:.0f} %".format(*(100 * row["coverage"] for row in rows))
    broken = "{:.1f}, {:.1f} and {:.1f} %".format(*(100 * row["broken"] for row in rows))
    return (
        f"With labels of 70 to 93 questions, guarantees of 80, 85 and 90 % keep {coverage} of the verdicts of four\n"
        f"judges of JudgeBench. They were broken in {broken} of draws, where 10 % are allowed."
    )


def shared_mistakes(recorded: str) -> str:
    """Weak judges on LLMBar's adversarial subsets."""
    found = json.loads(recorded)["figures"]["llmbar"]["adversarial subsets"]
    shown = ("raw", "orders agree", "same coverage")
    return table(
        "judge | n | raw | orders agree | calibrated, as many kept",
        (
            [judge, str(row["n"]), *(f"{row[name]:.1f}" for name in shown)]
            for judge, row in sorted(found.items(), key=lambda one: one[1]["raw"])
        ),
    )


def wrong_pairs(recorded: str) -> str:
    """What of exported pairs is wrong, by judge and over all judges."""
    rows = json.loads(recorded)["figures"]
    judges = [judge for judge in dict.fromkeys(row["judge"] for row in rows) if judge.endswith("/CoT")]

    def cell(judge: str, selection: str) -> str:
        given = [row for row in rows if row["selection"] == selection and judge in ("all twelve", row["judge"])]
        pairs, wrong = (sum(row[name] for row in given) for name in ("pairs", "wrong"))
        bounds = f" ({100 * given[0]['low']:.1f} to {100 * given[0]['high']:.1f})" * (len(given) == 1 and pairs > 0)
        return f"{100 * wrong / pairs:.1f}{bounds} of {pairs:,}" if pairs else "none"

    return table(
        "judge | all | vetted | P >= 0.8 | guarantee",
        (
            [judge, *(cell(judge, one) for one in ("all", "vetted", "probability", "guarantee"))]
            for judge in ("all twelve", *judges)
        ),
    )


def without(text: str, *starts: str) -> str:
    """The text without the lines that start so."""
    return fenced("\n".join(line for line in text.splitlines() if not line.startswith(starts)))


def audited(printed: str) -> str:
    """Up to the first disagreement, what the jury is worth, and what comes next."""
    one = r"(^  Worst disagreements with people\n(?:[^\n]*\n){6}).*?(?=^What the jury is worth)"
    text = re.sub(one, r"\1...\n\n", printed, count=1, flags=re.M | re.S)
    text = re.sub(r"^(?:Whether the judges|Notes).*?(?=^Next)", "...\n\n", text, count=1, flags=re.M | re.S)
    return fenced(text.partition("Written: ")[0])


def recorded_figures(listed: str) -> str:
    """Every command that no test runs again, with the pages that show what it printed."""
    rows: dict[tuple[str, ...], dict[str, None]] = {}
    for row in json.loads(listed):
        key = (row["of"] != "now", row["command"], row["of"], row["date"], row["seconds"])
        rows.setdefault(key, {})["README" if row["page"] == "README.md" else f"[{row['page'][:-3]}]({row['page']})"] = (
            None
        )
    return table(
        "command | of | last run | seconds | pages",
        ([f"`{command}`", *rest, ", ".join(pages)] for (_, command, *rest), pages in sorted(rows.items())),
    )


def files(printed: str) -> str:
    """What is read of each tool's file: counts, and the own count where it is another."""
    rows = json.loads(printed)
    head = "file | of | records | judgments | no verdict | judges x judgments | labels | own count"
    same = sum(row[-1] == "the same" for row in rows)
    return f"{len(rows)} files, {same} read as counted.\n\n{table(head, rows)}"


LAYOUTS: dict[str, Callable[..., str]] = {
    "abstained": lambda _, threshold: without(threshold, "This is look", "Verdicts: ", "Written: "),  # it has the time
    "audit": audited,
    "by-judge": by_judge,
    "demo": lambda printed: fenced(printed, ""),
    "files": files,
    "fit": lambda printed: without(printed.partition("\n\n")[0], "The figures below"),
    "guarantee": guarantee,
    "kept": kept,
    "million": str.strip,
    "out-of-fold": out_of_fold,
    "promise": lambda _, threshold: without(threshold, "This is look", "Verdicts: ", "Written: "),
    "promise-study": lambda recorded: json.loads(recorded)["figures"]["printed"],
    "recorded-figures": recorded_figures,
    "rivals": rivals,
    "shared-mistakes": shared_mistakes,
    "wrong-pairs": wrong_pairs,
}
