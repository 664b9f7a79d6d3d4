"""How the blocks of :mod:`tests.docs.figures` look: from what was printed to Markdown, one function a block.

Each takes one text a command: what it printed, or a recorded file. A layout reads names of fields and rows as they are
printed and fails with a KeyError where one is gone.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
CALIBRATED = {at: f"calibrated out of fold, best {at} %" for at in (80, 60, 40)}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = (f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
    return re.sub(r"\|  (?=\|)", "| ", "\n".join(lines))


def fenced(text: str) -> str:
    return f"```text\n{text.strip()}\n```"


def percent(estimate: Row) -> str:
    """``74.2 (71.0 to 77.2)`` of a share with its interval; empty where there is none."""
    if "absent" in estimate:
        return ""
    return "{:.1f} ({:.1f} to {:.1f})".format(*(100 * estimate[name] for name in ("share", "low", "high")))


def points(difference: Row) -> str:
    """``+7.3 (+6.0 to +8.5)`` of a difference of shares; empty where there is none."""
    if "absent" in difference:
        return ""
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * difference[name] for name in ("value", "low", "high")))


def overall(judge: Row) -> dict[str, Row]:
    """The rows of a judge by the names of their columns, over all categories."""
    return {row["column"]: row["cells"]["Overall"] for row in judge["rows"]}


def kept(bench: str) -> str:
    """All verdicts, and what free evidence keeps of them."""
    rows = overall(json.loads(bench)["judges"][0])
    named = {
        "raw judgments": "all",
        "both orders agree": "both orders agree",
        "free evidence, best 60 %": "free evidence, best 60 %",
        "free evidence above 4.5": "free evidence above 4.5",
    }
    return table(
        ["kept", "verdicts", "questions", "coverage", "precision", "against all"],
        (
            [
                name,
                f"{rows[column]['selected']:,}",
                str(rows[column]["precision"]["questions"]),
                f"{100 * rows[column]['coverage']:.1f} %",
                percent(rows[column]["precision"]),
                points(rows[column]["against_raw"]),
            ]
            for column, name in named.items()
        ),
    )


def by_judge(bench: str) -> str:
    """What is right among the best of each judge, out of fold."""
    return table(
        ["judge", "verdicts", "all", *(f"best {at} %" for at in CALIBRATED)],
        (
            [judge["judge"].rpartition("/")[2], f"{judge['decided']:,}", *best(overall(judge))]
            for judge in json.loads(bench)["judges"]
        ),
    )


def best(rows: Mapping[str, Row]) -> Iterable[str]:
    """Precision of all and of the best 80, 60 and 40 %, with the coverage where equal scores reach beyond."""
    yield percent(rows["raw judgments"]["precision"])
    for at, column in CALIBRATED.items():
        reached = 100 * rows[column]["coverage"]
        beyond = f", best {reached:.0f} %" if abs(reached - at) > 1 else ""
        yield percent(rows[column]["precision"]) + beyond


def out_of_fold(*benches: str) -> str:
    """The best verdicts of whole benchmarks, and the precision aimed at."""

    def cells(bench: str) -> list[str]:
        found = json.loads(bench)
        judge = found["judges"][0]
        rows = overall(judge)
        who = judge["judge"] if len(found["judges"]) == 1 else "all judges"
        aimed = [rows[f"aims at {at} % precision"] for at in (85, 90)]
        return [
            f"{found['title']}, {who}",
            f"{judge['decided']:,}",
            *best(rows),
            *(part(one) for one in (rows.get("majority of peers agrees"), *aimed)),
        ]

    head = ["set", "verdicts", "all", *(f"best {at} %" for at in CALIBRATED)]
    return table([*head, "majority of peers", "aims at 85 %", "aims at 90 %"], map(cells, benches))


def part(row: Row | None) -> str:
    """Precision and coverage of what a row keeps."""
    if row is None:
        return ""
    return f"{percent(row['precision'])} of {100 * row['coverage']:.0f} %" if row["selected"] else "nothing"


RULES = {
    "ours: ranks (default)": "`ranks` (default)",
    "ours: e_process": "`e_process`",
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
SETS = {
    "judgebench": "JudgeBench",
    "realmistake": "ReaLMistake",
    "llmbar": "LLMBar",
    "themis_rewardbench2": "RewardBench 2",
    "mtbench": "MT-Bench",
}


def guarantees(recorded: str) -> dict[tuple[str, str], list[Row]]:
    """The rows of a rule on a set, by rising target."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in json.loads(recorded)["figures"]["rows"]:
        found.setdefault((row["procedure"], row["set"]), []).append(row)
    return {key: sorted(rows, key=lambda row: row["target"]) for key, rows in found.items()}


def rivals(recorded: str) -> str:
    """Coverage of each rule at .80 / .85 / .90, and the largest share of draws that broke the target."""
    rows = guarantees(recorded)

    def cell(rule: str, of: str) -> str:
        given = rows[rule, of]
        if given[0]["coverage"] is None:
            return "not applicable"
        broken = f" ({max(100 * row['broken'] for row in given):.0f})" * (rule != "oracle")
        return " / ".join(f"{row['coverage']:.3f}" for row in given).replace("0.", ".") + broken

    return table(
        ["rule", "promises", *SETS.values()],
        (
            [name, PROMISES[rows[rule, "judgebench"][0]["promise"]], *(cell(rule, of) for of in SETS)]
            for rule, name in RULES.items()
        ),
    )


def guarantee(recorded: str) -> str:
    """One sentence about the default on JudgeBench."""
    rows = guarantees(recorded)["ours: ranks (default)", "judgebench"]
    coverage, broken = (
        "{:.{}f}, {:.{}f} and {:.{}f} %".format(*(of for row in rows for of in (100 * row[name], digits)))
        for name, digits in (("coverage", 0), ("broken", 1))
    )
    return (
        f"With labels of 70 to 93 questions, guarantees of 80, 85 and 90 % keep {coverage} of the verdicts of four\n"
        f"judges of JudgeBench. They were broken in {broken} of draws, where 10 % are allowed."
    )


def shared_mistakes(recorded: str) -> str:
    """Weak judges on LLMBar's adversarial subsets."""
    found = json.loads(recorded)["figures"]["llmbar"]["adversarial subsets"]
    return table(
        ["judge", "n", "raw", "orders agree", "calibrated, as many kept"],
        (
            [judge, str(row["n"]), *(f"{row[name]:.1f}" for name in ("raw", "orders agree", "same coverage"))]
            for judge, row in sorted(found.items(), key=lambda one: one[1]["raw"])
        ),
    )


def wrong_pairs(recorded: str) -> str:
    """What of exported pairs is wrong, by judge and over all judges."""
    rows = json.loads(recorded)["figures"]
    chosen = {"all": "all", "vetted": "vetted", "probability": "P >= 0.8", "guarantee": "guarantee"}

    def cell(judge: str, selection: str) -> str:
        given = [one for one in rows if one["selection"] == selection and judge in ("all twelve", one["judge"])]
        pairs, wrong = (sum(one[name] for one in given) for name in ("pairs", "wrong"))
        bounds = f" ({100 * given[0]['low']:.1f} to {100 * given[0]['high']:.1f})" * (len(given) == 1)
        return f"{100 * wrong / pairs:.1f}{bounds} of {pairs:,}" if pairs else "none"

    judges = [one for one in dict.fromkeys(row["judge"] for row in rows) if one.endswith("/CoT")]
    return table(
        ["judge", *chosen.values()],
        ([judge, *(cell(judge, one) for one in chosen)] for judge in ["all twelve", *judges]),
    )


def until_blank(text: str) -> str:
    """The lines up to the first blank one."""
    return text.partition("\n\n")[0]


def fit(printed: str) -> str:
    return fenced("\n".join(until_blank(printed).splitlines()[:-1]))  # the last says how figures below were made


def promise(_: str, threshold: str) -> str:
    return fenced(next(line for line in threshold.splitlines() if line.startswith("Judgments by ")))


def abstained(_: str, threshold: str) -> str:
    """All but the first line, which has the time of the look."""
    return fenced(threshold.partition("\n")[2])


def diagnose(printed: str) -> str:
    """Two of the pairs of judges stand for all."""
    lines = printed.splitlines()
    pairs = [number for number, line in enumerate(lines) if line.endswith(" items")]
    del lines[pairs[2] : pairs[-1] + 1]
    return fenced("\n".join([*lines[: pairs[2]], "  ...", *lines[pairs[2] :]]))


def audited(printed: str) -> str:
    """Up to the first disagreement, what the jury is worth, and what comes next."""
    one = r"(^  Worst disagreements with people\n(?:[^\n]*\n){6}).*?(?=^What the jury is worth)"
    text = re.sub(one, r"\1...\n\n", printed, count=1, flags=re.M | re.S)
    text = re.sub(r"^(?:Whether the judges|Notes).*?(?=^Next)", "...\n\n", text, count=1, flags=re.M | re.S)
    return fenced(text.partition("Written: ")[0])


def demonstrated(printed: str) -> str:
    return fenced(printed).replace("```text", "```", 1)


def recorded_figures(listed: str) -> str:
    """Every command that no test runs again, with the pages that show what it printed."""
    rows: dict[tuple[str, ...], dict[str, None]] = {}
    for row in json.loads(listed)["runs"]:
        key = tuple(row[name] for name in ("command", "of", "date", "seconds"))
        rows.setdefault(key, {})[row["page"]] = None
    return table(
        ["command", "of", "last run", "seconds", "pages"],
        (
            [f"`{command}`", *rest, ", ".join(f"[{page.removesuffix('.md')}]({page})" for page in pages)]
            for (command, *rest), pages in sorted(rows.items(), key=lambda one: (one[0][1] != "now", one[0]))
        ),
    ).replace("[README](README.md)", "README")


LAYOUTS: dict[str, Callable[..., str]] = {
    "abstained": abstained,
    "audit": audited,
    "by-judge": by_judge,
    "demo": demonstrated,
    "diagnose": diagnose,
    "fit": fit,
    "guarantee": guarantee,
    "kept": kept,
    "out-of-fold": out_of_fold,
    "promise": promise,
    "recorded-figures": recorded_figures,
    "rivals": rivals,
    "shared-mistakes": shared_mistakes,
    "wrong-pairs": wrong_pairs,
}
