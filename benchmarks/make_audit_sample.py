"""Makes the sample of ``metajudge audit --demo``: simulated verdicts with planted biases, on texts of our own.

    python -m benchmarks.make_audit_sample benchmarks/sample/audit

writes ``judgments.jsonl.gz`` (pairs, nine judges), ``grades.csv`` (grades by two judges) and ``people.csv`` (labels by
three people). The same code gives the same content. Judges, people and responses are simulated: the sample
measures nothing.
"""

import csv
import gzip
import io
import random
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

from metajudge.audit.simulate import SimulatedJudge, simulate
from metajudge.types import AnyVerdict, Category, Grade, Item, Judgment, Pairwise

SEED = 1
PAIRS, GRADED = 320, 150
LABELLED = 0.6
"""Share of items with labels of people, drawn at random."""
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
EVERY = timedelta(hours=6)
"""Between two items."""

UNBIASED = ("wren-9b", "robin-4")
PLANTED = {
    "osprey-70b": ("position",),
    "kestrel-32b": ("length",),
    "heron-70b": ("own_family",),
    "merlin-xl": ("drift",),
    "sparrow-1b": ("weaker_than_peers",),
    "plover-2": ("copy",),
    "siskin-3": ("copy",),
}
"""Judge -> the checks that must find something; in the cards of :data:`UNBIASED` nothing may be found."""

JUDGES = {
    "wren-9b": SimulatedJudge(accuracy=0.85),
    "robin-4": SimulatedJudge(accuracy=0.85),
    "osprey-70b": SimulatedJudge(accuracy=0.85, position=0.4),
    "kestrel-32b": SimulatedJudge(accuracy=0.85, length=0.4),
    "heron-70b": SimulatedJudge(accuracy=0.85, own_family=0.6),
    "merlin-xl": SimulatedJudge(accuracy=0.8, drift=0.5),
    "sparrow-1b": SimulatedJudge(accuracy=0.55),
    "plover-2": SimulatedJudge(accuracy=0.8),
    "siskin-3": SimulatedJudge(accuracy=0.8),
}
COPIED, COPY, SAME = "plover-2", "siskin-3", 0.93
"""Two names of one judge: so many verdicts are the same, in the same order."""
GRADERS = {"kestrel-32b": SimulatedJudge(accuracy=0.9, lenient=0.35), "wren-9b": SimulatedJudge(accuracy=0.88)}

PADDING = (
    "I checked this twice before I wrote it down.",
    "The steps are short, so they are easy to follow.",
    "Nothing else in the question changes the result.",
    "Other ways to reach it take longer and give the same.",
    "Please say so if a unit was meant in another sense.",
    "The numbers are taken from the question as they stand.",
    "A short answer is enough here, and this is the whole of it.",
    "If one number changes, the same steps still apply.",
)


def make(folder: Path) -> None:
    """Writes the three files."""
    lines = "".join(f"{one.model_dump_json(exclude_defaults=True)}\n" for one in pairs())
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, compresslevel=9) as stream:
        stream.write(lines.encode())
    (folder / "judgments.jsonl.gz").write_bytes(packed.getvalue())
    graded = list(grades())
    _write(folder / "grades.csv", _grade_rows(graded))
    _write(folder / "people.csv", _label_rows(graded))


def pairs() -> Iterator[Judgment]:
    """Nine judges on all pairs in both orders; three people labelled some of them."""
    truths = _truths(simulate(JUDGES, items=PAIRS, seed=SEED))
    copied: dict[tuple[str, tuple[str, ...]], AnyVerdict | None] = {}
    rng = random.Random(SEED)
    for one in simulate(JUDGES, items=PAIRS, seed=SEED, annotators=3):
        told, place = _retold(one, truths[one.item.id], "pairs"), (one.item.id, one.order)
        if one.judge == COPIED:
            copied[place] = one.verdict
        if one.judge == COPY and rng.random() < SAME:
            told = told.model_copy(update={"verdict": copied[place]})
        yield told


def grades() -> Iterator[Judgment]:
    """Two judges' grades; three people labelled some of the items."""
    truths = _truths(simulate(GRADERS, items=GRADED, seed=SEED, kind="grade"))
    for one in simulate(GRADERS, items=GRADED, seed=SEED, kind="grade", annotators=3, person=0.97):
        yield _retold(one, truths[one.item.id], "grades")


def _truths(judgments: Iterator[Judgment]) -> dict[str, bool]:
    """Item -> whether its first response is the better one, or its only one is good."""
    return {one.item.id: _side(one.item.label) for one in judgments}


def _side(value: object) -> bool:
    if isinstance(value, Pairwise):
        return value.winner == "A"
    assert isinstance(value, Grade)
    return value.value > 3


def _retold(one: Judgment, truth: bool, name: str) -> Judgment:
    """The judgment with texts of ours, and a time that is days apart."""
    number = int(one.item.id.rpartition("-")[2])
    rng = random.Random(f"{name}/{number}")
    question, right, wrong = _task(rng)
    answers = {key: right if (key == "A") == truth else wrong for key in one.item.responses}
    texts = {key: _padded(answers[key], len(text), rng) for key, text in one.item.responses.items()}
    good, bad = Grade(float(rng.choice((4, 5)))), Grade(float(rng.choice((1, 2))))

    def kept(value: object) -> object:
        return (good if value.value > 3 else bad) if isinstance(value, Grade) else value

    people = tuple(label.model_copy(update={"value": kept(label.value)}) for label in one.item.labels)
    labelled = rng.random() < LABELLED
    item = Item(
        id=one.item.id,
        question=question,
        responses=texts,
        category=one.item.category,
        labels=people if labelled else (),
        models=one.item.models,
    )
    verdict = kept(one.verdict)
    assert isinstance(verdict, Pairwise | Grade | Category)
    return Judgment(
        id=one.id,
        item=item,
        judge=one.judge,
        verdict=verdict,
        order=one.order,
        meta={"time": (START + number * EVERY).isoformat()},
    )


def _task(rng: random.Random) -> tuple[str, str, str]:
    """A question, its answer and a wrong one."""
    a, b, c = rng.randint(12, 48), rng.randint(3, 19), rng.randint(4, 9)
    questions = (
        (f"A crate holds {a} boxes of {b} nails each. How many nails are in {c} crates?", a * b * c),
        (
            f"A train leaves at 9:00 and needs {a * c} minutes. After how many minutes is half of the way done?",
            a * c // 2,
        ),
        (f"Ada reads {b} pages a day for {a} days, then {c} pages more. How many pages are that?", a * b + c),
        (f"A field is {a} m long and {b} m wide. How long is a fence around it, in metres?", 2 * (a + b)),
        (f"{a} chairs stand in each of {b} rows, and {c} are taken away. How many chairs are left?", a * b - c),
    )
    question, answer = questions[rng.randrange(len(questions))]
    wrong = answer + rng.choice((-1, 1)) * rng.choice((1, 2, 10, c))
    return question, f"The answer is {answer:,}.", f"The answer is {wrong:,}."


def _padded(answer: str, length: int, rng: random.Random) -> str:
    """The answer with further sentences, of about so many characters."""
    text = answer
    for sentence in cycle(rng.sample(PADDING, len(PADDING))):
        if len(text) + len(sentence) / 2 >= length:
            return text
        text = f"{text} {sentence}"
    return text


def _grade_rows(graded: Sequence[Judgment]) -> list[list[object]]:
    rows: list[list[object]] = [["item_id", "question", "response", "model", "judge", "grade", "time"]]
    for one in graded:
        item, verdict = one.item, one.verdict
        assert isinstance(verdict, Grade)
        assert item.models is not None
        answer = [item.id, item.question, item.responses["A"], item.models["A"]]
        rows.append([*answer, one.judge, f"{verdict.value:g}", one.meta["time"]])
    return rows


def _label_rows(graded: Sequence[Judgment]) -> list[list[object]]:
    rows: list[list[object]] = [["item_id", "annotator", "grade"]]
    items = {one.item.id: one.item for one in graded}
    for item in items.values():
        rows += [[item.id, one.annotator, str(one.value)] for one in item.labels]
    return rows


def _write(path: Path, rows: list[list[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    make(Path(sys.argv[1] if len(sys.argv) > 1 else "benchmarks/sample/audit"))
