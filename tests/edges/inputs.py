"""Files that the recorded commands read: copied from the shipped sample and the stored data, or made here, all small.

Nothing is drawn by chance: what a made judge says follows from a checksum of the judge's and the question's names.
"""

import csv
import io
import json
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.edges.bench_inputs import BENCHES
from tests.edges.decided_store import fill
from tests.stored.commands import ANTHROPIC_STYLE, DATA, OPENAI_STYLE

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "benchmarks" / "sample"

SKILL = {"ash": 92, "birch": 78, "cedar": 60}
"""Made judges, and how often out of a hundred each is right."""


def chance(*names: object) -> int:
    """A number below 100 that names stand for."""
    return zlib.crc32(" ".join(map(str, names)).encode()) % 100


def lines(rows: Iterable[Any]) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def read(text: str) -> list[Any]:
    """The objects of such lines."""
    return [json.loads(line) for line in text.splitlines()]


def item(number: int, **more: Any) -> dict[str, Any]:
    """A question about a sum with two answers, of which one is right."""
    right = "A" if chance("right", number) < 50 else "B"
    said = {name: f"It is {2 * number + (name != right)}, since I added both." for name in "AB"}
    winner = f"{right}>{'B' if right == 'A' else 'A'}"
    place = {"id": f"m{number}", "question": f"What is {number} plus {number}?", "responses": said, "label": winner}
    return {**place, "category": ("Sums", "Puzzles")[number % 2], **more}


def verdict(judge: str, number: int, order: str) -> str:
    """What a judge says: right by its skill, the same in both orders nine times of ten."""
    label = item(number)["label"]
    right = chance(judge, number) < SKILL[judge]
    if chance(judge, number, "order") < 10 and order == "BA":
        right = not right
    first, second = label[0], label[2]
    return f"{first}>{second}" if right else f"{second}>{first}"


def pairs(count: int, judges: Iterable[str] = SKILL, orders: Iterable[str] = ("AB", "BA")) -> list[dict[str, Any]]:
    """Verdicts of made judges on made questions."""
    return [
        {
            "id": f"m{number}/{judge}/{order}",
            "item": item(number),
            "judge": judge,
            "verdict": (said := verdict(judge, number, order)),
            "rationale": f"I added the numbers of question {number}, and {said[0]} says what I found.",
            "order": list(order),
        }
        for number in range(count)
        for judge in judges
        for order in orders
    ]


def grades(count: int) -> list[dict[str, Any]]:
    """Grades from 1 to 5 with people's, each judge at most so far off as it is unskilled."""
    found = []
    for number in range(count):
        truth = 1 + chance("truth", number) % 5
        task = {"id": f"g{number}", "question": f"Explain {number}.", "responses": {"A": f"Text {number}."}}
        for judge, skill in SKILL.items():
            said = truth if chance(judge, number) < skill else 1 + (truth + 1) % 5
            found.append(
                {"id": f"g{number}/{judge}", "item": {**task, "label": truth}, "judge": judge, "verdict": said}
            )
    return found


def categories(count: int) -> list[dict[str, Any]]:
    """Passes and failures with people's."""
    found = []
    for number in range(count):
        truth = ("pass", "fail")[chance("truth", number) % 2]
        task = {"id": f"c{number}", "question": f"Check {number}.", "responses": {"A": f"Text {number}."}}
        for judge, skill in SKILL.items():
            said = truth if chance(judge, number) < skill else ("fail" if truth == "pass" else "pass")
            found.append(
                {"id": f"c{number}/{judge}", "item": {**task, "label": truth}, "judge": judge, "verdict": said}
            )
    return found


def rankings(count: int) -> list[dict[str, Any]]:
    """Rankings of three answers with people's."""
    found = []
    for number in range(count):
        said = {name: f"Answer {name} to {number}." for name in "ABC"}
        models = {"A": "ant", "B": "bee", "C": "cat"}
        task = {
            "id": f"r{number}",
            "question": f"Which {number}?",
            "responses": said,
            "models": models,
            "label": [["A"], ["B"], ["C"]],
        }
        for judge, skill in SKILL.items():
            place = chance(judge, number)
            order = "A B C" if place < skill else ("B A C", "C AB", "A C B")[place % 3]
            said_order = [list(group) for group in order.split()]
            found.append({"id": f"r{number}/{judge}", "item": task, "judge": judge, "verdict": said_order})
    return found


TABLE = ("id", "prompt", "output_1", "output_2", "winner", "judge_model", "human")


def table() -> list[tuple[str, ...]]:
    """Pairwise verdicts as rows of a table."""
    rows = []
    for one in pairs(6, orders=("AB",)):
        said, task = one["verdict"], one["item"]
        rows.append((one["id"], task["question"], *task["responses"].values(), said[0], one["judge"], task["label"][0]))
    return rows


def separated(mark: str) -> str:
    """The rows with a separator."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=mark, lineterminator="\n")
    writer.writerows([TABLE, *table()])
    return text.getvalue()


def parquet(path: Path) -> None:
    """The rows as a Parquet file."""
    import duckdb

    columns = ", ".join(f"{name} VARCHAR" for name in TABLE)
    with duckdb.connect() as base:
        base.execute(f"CREATE TABLE rows ({columns})")
        base.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(TABLE))})", table())
        base.execute(f"COPY rows TO '{path}' (FORMAT parquet)")


def tied() -> list[dict[str, Any]]:
    """Verdicts of which a third are ties, one has no verdict and one label is a tie."""
    found = pairs(4, judges=("ash", "birch"))
    for number, one in enumerate(found):
        if number % 3 == 0:
            one["verdict"] = "A=B"
        if one["item"]["id"] == "m3":
            one["item"]["label"] = "A=B"
    found[4].update(verdict=None, no_verdict="refused")
    return found


def decisions() -> list[dict[str, Any]]:
    """People's decisions on what was kept: right at first nineteen times of twenty, later seven of ten."""
    return [
        {
            "id": f"j{number}",
            "question": f"q{number}",
            "judge": "ash",
            "category": "Sums",
            "correct": number % 20 > 0 if number < 100 else number % 10 > 2,
            "probability": 0.9 if number < 100 else 0.7,
        }
        for number in range(200)
    ]


def people(place: str = "item_id") -> str:
    """People's labels of the made questions as a table."""
    rows = [f"{name},{one['label'][0]},ann" for number in range(12) for one in [item(number)] for name in [one["id"]]]
    return "\n".join([f"{place},label,annotator", *rows]) + "\n"


def panel(strategy: str, count: int = 3, more: str = "") -> str:
    """A panel file of scripted agents."""
    names = ("ann", "ben", "cyd")[:count]
    text = f'rubric = "short"\nstrategy = "{strategy}"\n'
    for name in names:
        style = ANTHROPIC_STYLE if name == "ben" else OPENAI_STYLE
        text += f'\n[[agents]]\nname = "{name}"\nmodel = "{style.format(f"{name}-1")}"\n'
    return text + more


def sample(count: int) -> str:
    """The first judgments of the shipped sample."""
    text = (SAMPLE / "judgments.jsonl").read_text("utf-8")
    return "".join(line + "\n" for line in text.splitlines()[:count])


def rows(count: int) -> str:
    """Ballots of five voters over four candidates, with ties."""
    orders = (
        ["w", "x", "y", "z"],
        ["x", "w", ["y", "z"]],
        ["y", "x", "w", "z"],
        [["w", "z"], "x", "y"],
        ["z", "y", "x"],
    )
    return lines({"voter": f"v{n}", "ranking": orders[n % 5]} for n in range(count))


GOOD_POLICY = """\
name: mine
title: Mine
description: Bands of one's own.
basis: score
scale: {low: 1, high: 5}
agreement: same_side
bands:
  - {action: APPROVE, value: {at_least: 4.5}, justification: High.}
  - {action: REVIEW, value: {at_least: 2.5, below: 4.5}, justification: Middling.}
  - {action: REJECT, value: {below: 2.5}, justification: Low.}
missing:
  value: {action: REVIEW_PRIORITY, justification: No score.}
  confidence: {action: REVIEW_PRIORITY, justification: No agreement.}
"""
GOOD_RUBRIC = """\
version: 1
name: mine
title: Mine
description: Two criteria of one's own.
kind: criteria
scale: {low: 1, high: 5, step: 1}
criteria:
  - {name: right, title: Right, description: Is the verdict right?, weight: 0.7, levels: LEVELS}
  - {name: reasons, title: Reasons, judges_rationale: true, description: Are the reasons sound?, weight: 0.3, levels: LEVELS}
""".replace("LEVELS", "{1: Bad., 2: Weak., 3: Fair., 4: Good., 5: Best.}")

MADE: dict[str, Callable[[], str]] = {
    "s24.jsonl": lambda: sample(24),
    "s12.jsonl": lambda: sample(12),
    "s6.jsonl": lambda: sample(6),
    "broken.jsonl": lambda: (SAMPLE / "broken.jsonl").read_text("utf-8") + sample(6),
    "empty.jsonl": lambda: "",
    "made60.jsonl": lambda: lines(pairs(60)),
    "made120.jsonl": lambda: lines(pairs(120)),
    "made12.jsonl": lambda: lines(pairs(12)),
    "made4.jsonl": lambda: lines(pairs(4)),
    "more.jsonl": lambda: lines(pairs(200)[720:]),
    "plain.jsonl": lambda: lines(one for one in pairs(16, ("ash", "cedar")) if one["item"]["category"] == "Sums"),
    "people_items.jsonl": lambda: lines({**item(number), "question": f"What is {number}?"} for number in range(4)),
    "unlabelled.jsonl": lambda: lines({**one, "item": {**one["item"], "label": None}} for one in pairs(12)),
    "one_judge.jsonl": lambda: lines(pairs(12, judges=("ash",), orders=("AB",))),
    "constant.jsonl": lambda: lines({**one, "verdict": "A>B"} for one in pairs(12, judges=("ash", "birch"))),
    "mixed.jsonl": lambda: lines(one for one in pairs(6) if one["item"]["id"] in ("m4", "m5")),
    "one.jsonl": lambda: lines(pairs(1, judges=("ash",), orders=("AB",))),
    "no_verdicts.jsonl": lambda: lines({**one, "verdict": None, "no_verdict": "refused"} for one in pairs(2)),
    "ties.jsonl": lambda: lines(tied()),
    "grades.jsonl": lambda: lines(grades(24)),
    "answers.jsonl": lambda: lines(
        {
            "id": f"a{number}/{place}/{judge}",
            "item": {"id": f"a{number}-{place}", "question": f"Explain tide {number}.", "responses": {"A": said}},
            "judge": judge,
            "verdict": 1 + (place + number % 2) % 5,
        }
        for number in range(4)
        for place, said in enumerate(("The moon pulls.", "It is the wind, I think.", "Water runs up and down."))
        for judge in SKILL
    ),
    "categories.jsonl": lambda: lines(categories(24)),
    "rankings.jsonl": lambda: lines(rankings(24)),
    "kinds.jsonl": lambda: lines([*pairs(4), *grades(4), *categories(4), *rankings(4)]),
    "verdicts.csv": lambda: separated(","),
    "verdicts.tsv": lambda: separated("\t"),
    "verdicts.json": lambda: json.dumps(pairs(4)),
    "people.csv": people,
    "decisions.jsonl": lambda: lines(decisions()),
    "ballots.jsonl": lambda: rows(5),
    "tied.jsonl": lambda: rows(4) + rows(4),
    "ballots.csv": lambda: "w,x,y,z\n1,2,3,4\n2,1,3,3\n3,2,1,4\n",
    "ballots.soc": lambda: (
        "# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: w\n# ALTERNATIVE NAME 2: x\n"
        "# ALTERNATIVE NAME 3: y\n3: 1,2,3\n2: 2,3,1\n1: 3,1,2\n"
    ),
    "cycle.jsonl": lambda: lines({"ranking": order} for order in (["x", "y", "z"], ["y", "z", "x"], ["z", "x", "y"])),
    "average.toml": lambda: panel("weighted_average"),
    "majority.toml": lambda: panel("majority_vote"),
    "discussing.toml": lambda: panel("panel_discussion", 2, '\n[discussion]\naggregate = "average"\n'),
    "routed.toml": lambda: panel(
        "weighted_average", 2, '\n[routes.Puzzles]\nstrategy = "majority_vote"\nrubric = "baseline"\n'
    ),
    "good_policy.yaml": lambda: GOOD_POLICY,
    "bad_policy.yaml": lambda: GOOD_POLICY.replace("at_least: 2.5", "at_least: 3").replace("REJECT", "DISMISS"),
    "good_rubric.yaml": lambda: GOOD_RUBRIC,
    "bad_rubric.yaml": lambda: GOOD_RUBRIC.replace("0.7", "1.7").replace("step: 1", "step: 0"),
    "basic.yaml": lambda: "- correctness of the sum\n- clarity of the reasons\n",
    "peer_rankings.jsonl": lambda: lines(
        {
            "question_id": f"q{number}",
            "evaluator": judge,
            "ranking": sorted(("ant", "bee", "cat"), key=lambda one: (one != judge, chance(one, judge, number))),
        }
        for number in range(8)
        for judge in ("ant", "bee", "cat")
    ),
    **BENCHES,
}
"""Name -> how its text is made."""


def write(folder: Path, name: str) -> bool:
    """Writes a file that a command names, if it is one of ours; says whether it is."""
    path = folder / name
    if name == "verdicts.parquet":
        parquet(path)
    elif name == "decided.db":
        fill(path)
    elif name in MADE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MADE[name](), "utf-8")
    elif "/" not in name and (DATA / name).is_file() and name != "calibration.json":
        path.write_bytes((DATA / name).read_bytes())
    elif found := [one for one in MADE if one.startswith(f"{name}/")]:
        for one in found:
            write(folder, one)
    else:
        return False
    return True
