"""JudgeBench: response pairs of which one is objectively right.

Tan, Zhuang, Montgomery, Tang, Cuadron, Wang, Popa, Stoica: "JudgeBench: A Benchmark for Evaluating LLM-based Judges",
ICLR 2025 (arXiv 2410.12784). 350 pairs written by GPT-4o and 270 by Claude 3.5 Sonnet over knowledge (MMLU-Pro),
reasoning and mathematics (LiveBench) and coding (LiveCodeBench).

Label rule: a pair contains one response whose final answer is verified right and one whose is verified wrong.

Games: every judge is asked in both orders. A game counts +1 when it names the label, -1 when it names the other
response, 0 for a tie or no verdict; a pair is correct when the sum is positive. Reward models score each response
once: equal scores go to the response shown second, so such a pair is won once and lost once and is not correct.
Pointwise judges are asked twice and follow the rule of the games; a response without a readable score loses.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from metajudge.errors import InputError
from metajudge.reading.containers.lines import Line, Source, read_lines
from metajudge.types import Judgment

from .findings import Accuracy
from .tally import TIE, JudgedGames, JudgedSet, PairGames, Tally

Kind = Literal["pairwise", "reward model", "pointwise"]


def accuracy(judgments: Iterable[Judgment], folder: Path) -> list[Accuracy]:
    """Judges by model and set of pairs, then reward models and pointwise judges where their scores are there."""
    games = JudgedGames()
    deque(games.of(judgments), maxlen=0)
    questions = {name: pair.question for pairs in games.by_set.values() for name, pair in pairs.items()}
    # In the repository's own outputs reward models are judges with a prompt of that name.
    kinds: Mapping[bool, Kind] = {True: "reward model", False: "pairwise"}
    found = [
        _accuracy(judged, kinds[judged.judge.endswith("/reward_model")], pairs.values())
        for judged, pairs in games.by_set.items()
    ]
    scored = _scored_games(folder, questions).items()
    return found + [_accuracy(judged, kind, pairs.values()) for (kind, judged), pairs in scored]


def _accuracy(judged: JudgedSet, kind: Kind, pairs: Iterable[PairGames]) -> Accuracy:
    tally = Tally(kind)
    for pair in pairs:
        tally.add(pair.category, pair.correct, pair.question)
        tally.play(pair.games, pair)
        if pair.agree:
            tally.agreeing.add(pair.correct, pair.question)
    return tally.accuracy(
        judged.judge,
        alike="no pair was judged alike in both orders",
        decided="no game names a winner",
        responses_by=judged.responses_by,
    )


def _scored_games(
    folder: Path, questions: Mapping[str, str]
) -> Mapping[tuple[Kind, JudgedSet], Mapping[str, PairGames]]:
    """Judges that score responses one by one, as games; a pair whose question is not known is one of its own."""
    found: dict[tuple[Kind, JudgedSet], dict[str, PairGames]] = defaultdict(dict)
    for data in _score_rows(folder):
        kind: Kind = "pointwise" if "text_a" in data else "reward model"
        rubric, scorer = data.get("rubric_model"), str(data["judge_model"])
        if kind == "pointwise":
            scorer += "/pointwise, " + ("no rubric" if rubric in (None, "none") else f"{rubric} rubric")
        pairs = found[kind, JudgedSet(scorer, data.get("response_model"))]
        name, question = data["item_id"], questions.get(data["item_id"], data["item_id"])
        pair = pairs.setdefault(name, PairGames(data.get("category") or "", _winner(data, "label"), question))
        if kind == "pointwise":
            pair.note(tuple(data["order"]), _decision(data))
            continue
        # Scores of a reward model do not depend on the order: one row covers both games.
        for order, game in zip(("AB", "BA"), _reward_games(data), strict=True):
            pair.note(tuple(order), game)
    return found


def _score_rows(folder: Path) -> Iterator[dict[str, Any]]:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if not path.is_file() or not path.name.endswith((".jsonl", ".jsonl.gz")):
            continue
        for line in read_lines(Source(path, str(path))):
            if isinstance(line, Line) and _is_scored(line.data):
                yield _checked(line, path)
            elif isinstance(line, Line) and line.number == 1:
                break  # another file: the rest of it need not be read


def _is_scored(data: dict[str, Any]) -> bool:
    return data.keys() >= {"item_id", "judge_model", "order", "label", "decision", "score_a", "score_b"} and (
        "judgment_text" not in data
    )


def _checked(line: Line, path: Path) -> dict[str, Any]:
    data = line.data
    numbers = all(isinstance(data[side], int | float) for side in ("score_a", "score_b"))
    if data["order"] not in ("AB", "BA") or not numbers or data["label"] not in ("A>B", "B>A"):
        raise InputError(
            f"{path}:{line.number}: order must be AB or BA, label A>B or B>A, score_a and score_b numbers; found "
            f"{data['order']!r}, {data['label']!r}, {data['score_a']!r}, {data['score_b']!r}; repair or remove the line"
        )
    return data


def _reward_games(data: dict[str, Any]) -> list[str | None]:
    first, second = float(data["score_a"]), float(data["score_b"])
    if first == second:
        return ["B", "A"]
    return ["A", "A"] if (first > second) == (data["order"] == "AB") else ["B", "B"]


def _decision(data: dict[str, Any]) -> str | None:
    if data["decision"] is None:
        return None
    return TIE if data["decision"] == "A=B" else _winner(data, "decision")


def _winner(data: dict[str, Any], field: str) -> str:
    """The response a mark in the order shown prefers, as a response id."""
    shown_first = data[field] == "A>B"
    return "A" if shown_first == (data["order"] == "AB") else "B"
