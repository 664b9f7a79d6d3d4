"""Models' replies gone wrong, by the hundred thousand, through every parser of replies.

    metajudge bench perf fuzz [--replies 100000] [--seed 0] [--json-out OUT]

Each reply is a good one, broken in one to four ways: characters changed, cut or doubled, properties left out, repeated,
renamed or of another type, numbers made huge or tiny or not finite, Unicode of every kind, hundreds of levels of
nesting, prose and fences around. A parser may read it or refuse it with sentences about what is wrong; anything else
is a crash. What is read must stand in the reply: an independent reading of the JSON has to find the very same values,
each given exactly once.
"""

import json
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from metajudge.agents.parse import ReplyProblemsError, parse_reply
from metajudge.cases.judge import parse_case_reply
from metajudge.judging.judges import MARKS, parse_grading_reply, parse_pairwise_reply
from metajudge.judging.ranking_replies import parse_ranking_reply
from metajudge.prompts.reply_form import ReplyForm
from metajudge.rubric import load_rubric

from .measuring import JsonOut, keep

ALPHABET = '{}[]",:0123456789-+.eE\\\n\r\t\x00tfn\ud800\udfff\u202e\u200b\ufeff\u00a0é漢😀NaN'
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 3.5, 6, 99, 1e308, -1e-320, 10**4000, "5", " 5", "five", "", [], {}, [5], {"score": 5}),
    *(["A>B"], "A>B ", "a>b", "A>>>B", "correct ", "Correct", "\u202eB>A", "A0 > A1", "4 of 5"),
)
LITERALS = (
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "0x5", "05", "5.0000000000000000001", "\u0665", "\uff15"),
    "5" * 5000,
)

AROUND = (
    *(("```json\n", "\n```"), ("```\n", ""), ("<think>score 5</think>", ""), ("<think>", ""), ("Here you are: ", "")),
    *(("", "\nI hope this helps. Score: 5"), ("\ufeff", ""), ("[", "]"), ('{"answer": ', "}")),
)


@dataclass(slots=True)
class ReplyCounts:
    """The outcomes of the replies to one parser."""

    read: int = 0
    refused: int = 0
    crashes: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Target:
    """A parser, a maker of good replies, and what it read as plain values to compare."""

    make: Callable[[random.Random], dict[str, Any]]
    parse: Callable[[str], Any]
    values: Callable[[Any], Any]
    stated: Callable[[dict[str, Any]], Any]


def targets() -> dict[str, Target]:
    """Every parser of models' structured replies."""
    short, binary = load_rubric("short"), load_rubric("binary")
    labels, criteria = ("A0", "A1", "A2"), ("c1", "c2")

    def scores(rng: random.Random, words: str = "explanation") -> dict[str, Any]:
        return {name: {words: "so", "score": rng.randint(1, 5)} for name in short.scored_names}

    def ranking(rng: random.Random) -> dict[str, Any]:
        graded = {label: {name: {"reason": "", "score": rng.randint(1, 5)} for name in criteria} for label in labels}
        order = rng.sample(labels, 3)
        return {"scores": graded, "comparison": "so", "ranking": rng.choice([" > ".join(order), order])}

    def read_scores(found: Mapping[str, Any]) -> Any:
        return {name: one.score for name, one in found.items()}

    def stated_scores(answer: dict[str, Any]) -> Any:
        return {name: answer[name]["score"] for name in short.scored_names}

    votes = {"correct": binary.scale.high, "wrong": binary.scale.low}
    return {
        "criteria": Target(scores, lambda text: parse_reply(text, short).criteria, read_scores, stated_scores),
        "analysis": Target(
            lambda rng: {"analysis": "I solve it first.\nThen I check.", **scores(rng)},
            lambda text: parse_reply(text, short, ReplyForm(analysis=True)).criteria,
            read_scores,
            stated_scores,
        ),
        "binary": Target(
            lambda rng: {
                name: {"explanation": "so", "verdict": rng.choice(list(votes))} for name in binary.scored_names
            },
            lambda text: parse_reply(text, binary).criteria,
            read_scores,
            lambda answer: {name: votes[answer[name]["verdict"]] for name in binary.scored_names},
        ),
        "pairwise": Target(
            lambda rng: {"reasoning": "so", "verdict": rng.choice(MARKS)},
            parse_pairwise_reply,
            lambda found: found.verdict,
            lambda answer: answer["verdict"],
        ),
        "grading": Target(
            lambda rng: {"reasoning": "so", "grade": rng.randint(1, 10)},
            parse_grading_reply,
            lambda found: found.verdict,
            lambda answer: answer["grade"],
        ),
        "ranking": Target(
            ranking,
            lambda text: parse_ranking_reply(text, labels, criteria),
            lambda found: (
                [label for group in found.groups for label in group],
                {label: {name: one.score for name, one in row.items()} for label, row in found.scores.items()},
            ),
            lambda answer: (
                [part.strip() for part in answer["ranking"].split(">")]
                if isinstance(answer["ranking"], str)
                else [part[0] if isinstance(part, list) else part for part in answer["ranking"]],
                {label: {name: answer["scores"][label][name]["score"] for name in criteria} for label in labels},
            ),
        ),
        "case": Target(
            lambda rng: scores(rng, "comment"), lambda text: parse_case_reply(text, short), read_scores, stated_scores
        ),
    }


def broken(reply: dict[str, Any], rng: random.Random) -> str:
    """A good reply, broken in one to four ways."""
    value: Any = reply
    for _ in range(rng.randint(0, 2)):
        value = _other_value(value, rng)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    for _ in range(rng.randint(0, 2)):
        text = rng.choice(TEXT_FAULTS)(text, rng)
    return text


def _other_value(value: Any, rng: random.Random) -> Any:
    """One place of a value changed: replaced, left out, renamed, nested, or a stranger put beside it."""
    if not isinstance(value, dict) or not value or rng.random() < 0.1:
        return _nested(value, rng.choice((1, 3, 50, 300))) if rng.random() < 0.3 else rng.choice(VALUES)
    name = rng.choice(list(value))
    match rng.randrange(5):
        case 0:
            return {key: inner for key, inner in value.items() if key != name}
        case 1:
            return {**value, rng.choice(("extra", name.upper(), name + " ", "", "\u200b" + name)): rng.choice(VALUES)}
        case 2:
            return {rng.choice((name, name.title())) if key == name else key: inner for key, inner in value.items()}
        case _:
            return {**value, name: _other_value(value[name], rng)}


def _nested(value: Any, depth: int) -> Any:
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def _characters(text: str, rng: random.Random) -> str:
    letters = list(text)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(letters) + 1)
        letters[at : at + rng.randint(0, 3)] = rng.choices(ALPHABET, k=rng.randint(0, 3))
    return "".join(letters)


def _literal(text: str, rng: random.Random) -> str:
    digits = [place for place, letter in enumerate(text) if letter.isdigit()]
    if not digits:
        return text + rng.choice(LITERALS)
    at = rng.choice(digits)
    return text[:at] + rng.choice(LITERALS) + text[at + 1 :]


def _deep_value(text: str, rng: random.Random) -> str:
    """A value nested deeply and properly, in the place of a text or of the last mark."""
    depth = rng.choice((90, 400, 900, 985, 20_000))
    if rng.random() < 0.5:
        return text.replace('"so"', "[" * depth + "]" * depth, 1)
    head, colon, rest = text.rpartition(": ")
    inner = rest.rstrip("}")
    return f"{head}{colon}{'[' * depth}{inner}{']' * depth}{'}' * (len(rest) - len(inner))}"


def _inserted(text: str, rng: random.Random) -> str:
    """Many levels opened somewhere."""
    depth = rng.choice((50, 1_000, 100_000))
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(("[", '{"a":')) * depth + text[at:]


TEXT_FAULTS: tuple[Callable[[str, random.Random], str], ...] = (
    _characters,
    lambda text, rng: text[: rng.randrange(len(text) + 1)],
    lambda text, rng: text + text if rng.random() < 0.5 else text[:-1] + "," + text[1:],  # all of it, or its properties
    _literal,
    _inserted,
    _deep_value,
    lambda text, rng: text.join(rng.choice(AROUND)),
)


def fuzz(replies: int, seed: int) -> dict[str, ReplyCounts]:
    """Feeds so many replies to the parsers in turn.

    Returns:
        By parser what was read, refused, what crashed, and what was read without standing in the reply.
    """
    rng = random.Random(seed)
    parsers = targets()
    tallies = {name: ReplyCounts() for name in parsers}
    names = list(parsers)
    for count in range(replies):
        name = names[count % len(names)]
        target, tally = parsers[name], tallies[name]
        text = broken(target.make(rng), rng)
        try:
            found = target.values(target.parse(text))
        except ReplyProblemsError as refused:
            tally.refused += 1
            if not all(isinstance(one, str) and one for one in refused.problems) or not refused.problems:
                tally.crashes.append(f"refused without a reason: {text[:200]!r}")
        except Exception:  # whatever it is, it is a crash
            tally.crashes.append(f"{traceback.format_exc(limit=-2)} on {text[:200]!r}")
        else:
            tally.read += 1
            if not _stands_there(text, found, target):
                tally.invented.append(f"{found} from {text[:400]!r}")
    return tallies


def _stands_there(text: str, found: Any, target: Target) -> bool:
    """Whether an independent reading, of the part between the outermost braces, says the same, each thing once."""
    body = text.rpartition("</think>")[2]

    def once(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("a name is given twice")
        return dict(pairs)

    try:
        answer = json.loads(body[body.index("{") : body.rindex("}") + 1], object_pairs_hook=once, strict=False)
        return bool(target.stated(answer) == found)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def main(replies: int = 100000, seed: int = 0, out: JsonOut = None) -> None:
    """Fuzzes and prints counts; exit code 1 where anything crashed or was invented."""
    started = time.perf_counter()
    tallies = fuzz(replies, seed)
    total: Counter[str] = Counter()
    parsers = list[dict[str, str | int]]()
    for name, tally in tallies.items():
        crashes, invented = len(tally.crashes), len(tally.invented)
        counts = {"read": tally.read, "refused": tally.refused, "crashes": crashes, "invented": invented}
        total.update(counts)
        parsers.append({"parser": name, **counts})
        said = f"{name:10} {tally.read:6} read  {tally.refused:6} refused  {crashes} crashes  {invented} invented"
        problems = (f"  {line}" for line in (*tally.crashes[:3], *tally.invented[:3]))
        print(said, *problems, sep="\n")
    print(f"{replies} replies, seed {seed}, {time.perf_counter() - started:.1f} s")
    keep({"replies": replies, "seed": seed, **total, "parsers": parsers}, out)
    raise SystemExit(1 if total["crashes"] or total["invented"] else 0)
