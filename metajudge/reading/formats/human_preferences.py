"""Human preferences between two responses, as published: MT-Bench human judgments and Arena-100k.

* ``lmsys/mt_bench_human_judgments`` (Zheng et al., "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", 2023,
  CC-BY-4.0): rows of question_id, model_a, model_b, winner, judge, conversation_a, conversation_b, turn.
* ``lmarena-ai/arena-human-preference-100k`` (Chiang et al., "Chatbot Arena", 2024, CC-BY-4.0): the same without judge,
  with anony and language. Its conversations may be stored as text that contains JSON.

Export either as JSONL, one row a line. The inclusion rule is that of the Agent Clash study (Boisbouvier and Claude
Opus 4.5, sections 8.1 and 9.1): a clear winner and one turn; for Arena-100k also a list of models, an anonymous battle,
English, and at least 30 characters a response. Every row left out is counted with its reason.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from metajudge.errors import InputError
from metajudge.files.packaged import packaged
from metajudge.reading.containers.cells import nested
from metajudge.reading.containers.lines import BadLine, Line, Reject, Source, read_lines
from metajudge.reading.formats.pairs import list_of, pair_of, shape
from metajudge.reading.items import open_items
from metajudge.reading.reader import each, split
from metajudge.types import Item

SEED = 42
"""The study's."""

MIN_CHARACTERS = 30

ARENA_MODELS: Mapping[str, str] = packaged("reading.formats", "arena_models")
"""Ids in Arena-100k -> the names of the study's table 5."""

_WINNERS: Final = {"model_a": "A>B", "model_b": "B>A"}
_LABELS: Final = ("label", "winner", "human_winner_side", "human_winner")
_UNLABELLED: Final = "without a labelled winner"
_ENGLISH: Final = {"english", "en"}
_WANTED: Final = (
    "no labelled pairs; wanted are rows of MT-Bench human judgments or Arena-100k (question_id, model_a, model_b, "
    "winner, conversation_a, ...), items (id, question, responses, label), or flat rows (question, response_a, "
    "response_b, label), one a line"
)
_TALK: Final = list_of(shape("role content"))
_BATTLE = shape(
    "question_id model_a model_b winner conversation_a conversation_b turn judge~ anony~ language~",
    conversation_a=_TALK,
    conversation_b=_TALK,
    turn=int,
    anony=bool,
)


@dataclass(slots=True)
class Preferences:
    """Labelled pairs read from a file.

    Attributes:
        items: responses A and B with their models and the human's verdict as label.
        kind: what the file was taken for.
        rule: which rows were taken, in a sentence.
        excluded: rows left out by the rule, by reason.
        rejects: lines that could not be read.
        eligible: items before sampling.
    """

    items: list[Item]
    kind: str
    rule: str
    excluded: Counter[str] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list)
    eligible: int = 0


def _battle(row: Mapping[str, Any]) -> Any:
    """A row whose numbers may be names, and whose conversations may be text: JSON, or the literal of some exports."""
    data = {name: str(one) if type(one) in (int, float) and name != "turn" else one for name, one in row.items()}
    for name in {"conversation_a", "conversation_b"} & data.keys():
        data[name] = nested(row[name])
        if isinstance(data[name], str):
            raise BadLine(f"'{name}': is text that contains no list of messages")
    return _BATTLE.model_validate(data)


def read_preferences(path: str | Path, *, sample: int | None = None, seed: int = SEED) -> Preferences:
    """Reads labelled pairs: MT-Bench human judgments, Arena-100k, or items of our own with labels.

    Args:
        path: a JSONL file, plain or gzip.
        sample: draw so many of the eligible pairs, without replacement; None for all, in the order of the file. The
            study's own script is not published, so the same seed need not give the same hundred.
        seed: of that draw.

    Raises:
        InputError: no such file, no format known here, or nothing eligible, with the reasons counted.
    """
    name = str(path)
    first = next((line.data for line in read_lines(Source(Path(path), name)) if isinstance(line, Line)), {})
    if "conversation_a" in first:
        found = _battles(name, "anony" in first)
    elif first.keys() >= {"question", "response_a", "response_b"}:
        found = _flat(name)
    elif first.keys() >= {"question", "responses"}:
        found = _own(name)
    else:
        raise InputError(f"{name}: {_WANTED}")
    found.eligible = len(found.items)
    if not found.items:
        counts = ", ".join(f"{n} {reason}" for reason, n in found.excluded.most_common()) or "no row"
        raise InputError(f"{name}: no pair is eligible ({counts}; {len(found.rejects)} lines unreadable). {found.rule}")
    if sample is not None:
        if not 1 <= sample <= found.eligible:
            raise InputError(f"{name}: a sample of {sample} cannot be drawn from {found.eligible} eligible pairs")
        found.items = random.Random(seed).sample(found.items, sample)
        found.rule += f" {len(found.items)} of {found.eligible} eligible pairs drawn with seed {seed}."
    return found


def _numbered(key: str, seen: Counter[str]) -> str:
    """An id of its own for what comes again."""
    seen[key] += 1
    return key if seen[key] == 1 else f"{key}#{seen[key]}"


def _taken(name: str, kind: str, rule: str, made: Callable[[Line], Item | str]) -> Preferences:
    """The pairs of a file; ``made`` gives a row's item, or why it is left out."""
    source = Source(Path(name), name)
    found, rejects = split(each(source, read_lines(source), made))
    items = [one for one in found if isinstance(one, Item)]
    return Preferences(items, kind, rule, Counter(one for one in found if isinstance(one, str)), rejects)


def _battles(name: str, arena: bool) -> Preferences:
    among = len(set(ARENA_MODELS.values()))
    more = (
        f", anonymous, English, at least {MIN_CHARACTERS} characters a response, both models among {among} named ones."
    )
    seen: Counter[str] = Counter()

    def made(line: Line) -> Item | str:
        battle = _battle(line.data)
        if why := _excluded(battle, arena):
            return why
        by = "" if arena else f"/{battle.model_a}/{battle.model_b}/{battle.judge or 'nobody'}"
        models = [ARENA_MODELS.get(one, one) if arena else one for one in (battle.model_a, battle.model_b)]
        key, answers = _numbered(battle.question_id + by, seen), (battle.conversation_a[1], battle.conversation_b[1])
        texts = [answer.content for answer in answers]
        return pair_of(key, battle.conversation_a[0].content, texts, models, label=_WINNERS[battle.winner])

    rule = "Taken: a clear winner, turn 1" + (more if arena else ".")
    return _taken(name, "Arena-100k" if arena else "MT-Bench human judgments", rule, made)


def _excluded(battle: Any, arena: bool) -> str:
    """Why a row is left out; empty where it is taken."""
    one, other = battle.conversation_a, battle.conversation_b
    paired = min(len(one), len(other)) > 1 and one[0].content == other[0].content
    shortest = min(len(one[1].content), len(other[1].content)) if paired else 0
    reasons = {
        "without a clear winner": battle.winner not in _WINNERS,
        "of a model against itself": battle.model_a == battle.model_b,
        "not of turn 1": battle.turn != 1,
        "whose conversations do not begin with one question and two answers": not paired,
        "not anonymous": arena and not battle.anony,
        "not English": arena and (battle.language or "").lower() not in _ENGLISH,
        "of models outside the list": arena and not {battle.model_a, battle.model_b} <= ARENA_MODELS.keys(),
        f"with fewer than {MIN_CHARACTERS} characters in a response": arena and shortest < MIN_CHARACTERS,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _flat(name: str) -> Preferences:
    """Rows of a question, response_a and response_b; the winner is in one of :data:`_LABELS`."""
    seen: Counter[str] = Counter()

    def made(line: Line) -> Item | str:
        row, label = line.data, _flat_label(line.data)
        if label is None:
            return _UNLABELLED
        key = str(next((row[field] for field in ("item_id", "id", "row_id") if row.get(field)), f"line-{line.number}"))
        texts, models = ([row.get(f"{what}_{side}") for side in "ab"] for what in ("response", "model"))
        known = models if all(models) else (None, None)
        name, question = _numbered(key, seen), row.get("question")
        return pair_of(name, question, texts, known, label=label, category=row.get("category"))

    rule = f"Taken: pairs of which one of {', '.join(_LABELS)} names the winner."
    return _taken(name, "flat rows", rule, made)


def _flat_label(row: Mapping[str, Any]) -> str | None:
    sides = {
        label: (side, side.upper(), label, label.replace(">", ">>"), f"model_{side}", row.get(f"model_{side}"))
        for side, label in (("a", "A>B"), ("b", "B>A"))
    }
    said = [row[name] for name in _LABELS if row.get(name) is not None]
    return next((label for value in said for label, names in sides.items() if value in names), None)


def _own(name: str) -> Preferences:
    source = open_items([name], responses=2)
    items = [(item, item.label is None or item.label.winner is None) for item in source]
    excluded = Counter(_UNLABELLED for _, unlabelled in items if unlabelled)
    rule = "Taken: items of two responses whose label names a winner."
    return Preferences([item for item, left in items if not left], "items", rule, excluded, source.rejects)
