"""Arena-Hard-Auto's judgment files (Li et al., "From Crowdsourced Data to High-Quality Benchmarks", 2024).

The shape is what ``gen_judgment.py`` of the repository lmarena/arena-hard-auto writes to
``data/BENCH/model_judgment/JUDGE/MODEL.jsonl``, in both of its versions:

- v0.1 (2024): ``question_id, model, judge, games: [{user_prompt, judgment, score}]``
- v2.0 (April 2025): ``uid, category, judge, model, baseline, games: [{score, judgment: {answer}, prompt}]``

The first game shows the baseline as assistant A and the model as B, the second one the other way round; ``score`` is in
the order shown and is turned back here: response ``A`` is the baseline's, ``B`` the model's. A game is null where the
runner failed to ask. The texts appear in the prompt alone, between the template's marks; where a judged text contains
such marks the record is rejected, because the end of a response is ambiguous. Ids are ``question/model/judge/order``.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from pydantic import Field

from metajudge.reading.containers.lines import BadLine, Line
from metajudge.reading.formats.pairs import (
    NOT_PLAYED,
    ORDERS,
    GameOrder,
    game_of,
    game_verdict,
    list_of,
    pair_of,
    shape,
)
from metajudge.types import Item, Judgment

FORMAT = "Arena-Hard judgments"
_START_A: Final = "<|The Start of Assistant A's Answer|>\n"
_BETWEEN: Final = "\n<|The End of Assistant A's Answer|>\n\n<|The Start of Assistant B's Answer|>\n"
_END_B: Final = "\n<|The End of Assistant B's Answer|>"
_QUESTION: Final = "<|User Prompt|>\n"
_LESS: Final = re.compile(r"([AB])(<<|<|=)([AB])")

_GAME = shape(
    "score? judgment~ user_prompt~ prompt~",
    judgment=str | dict[str, Any],
    user_prompt=str | list[Any],
    prompt=list[dict[str, Any]],
)
_ROW = shape(
    "question_id~ uid~ category~ model baseline~ judge games",
    games=(list_of(_GAME | None), Field(min_length=1, max_length=2)),
)
_Texts: TypeAlias = tuple[str, tuple[str, str]]
"""The question, and the responses."""


def is_arena_hard(record: Mapping[str, Any]) -> bool:
    return record.keys() >= {"model", "judge", "games"} and ("question_id" in record or "uid" in record)


def judgments(line: Line) -> list[Judgment]:
    """The games of a row."""
    row = _ROW.model_validate(line.data)
    question = row.uid or row.question_id
    if not question:
        raise BadLine("missing field 'uid' (or 'question_id' in version 0.1)")
    pair = f"{question}/{row.baseline}/{row.model}" if row.baseline else f"{question}/{row.model}"
    item = pair_of(pair, *_texts(row), (row.baseline, row.model), category=row.category)
    return [_judgment(row.judge, item, game, order) for game, order in zip(row.games, ORDERS, strict=False)]


def _judgment(judge: str, item: Item, game: Any, order: GameOrder) -> Judgment:
    meta = {"dataset": "arena-hard"}
    if game is None:
        return game_of(item, judge, order, NOT_PLAYED, meta=meta)
    less = _LESS.fullmatch((game.score or "").strip())  # judges write A<<B, too, which is B>>A
    mark = f"{less[3]}{less[2].replace('<', '>')}{less[1]}" if less else game.score
    said, first = game.judgment, game.prompt[0] if game.prompt else {}
    text = str((said.get("answer") if isinstance(said, dict) else said) or "")
    told = str(first.get("content")) if first.get("role") == "system" else None
    outcome = game_verdict(mark, mark, text, order)
    return game_of(item, judge, order, outcome, rationale=text.strip(), instruction=told, meta=meta)


def _texts(row: Any) -> _Texts:
    """Question and responses in the order of the first game.

    Raises:
        BadLine: no game has its prompt, the prompt is not the template's, or the two games show different texts.
    """
    seen: list[_Texts] = []
    for number, game in enumerate(row.games):
        shown = None if game is None else _shown(game)
        if shown is not None:
            asked, answers = _parsed(shown, number)
            seen.append((asked, answers if number == 0 else answers[::-1]))
    if not seen:
        raise BadLine("no game has its prompt, and question and answers are not stored elsewhere")
    if len(set(seen)) > 1:
        raise BadLine("games.0 and games.1 do not show the same question and answers in both orders")
    return seen[0]


def _shown(game: Any) -> str | None:
    """What the judge was shown after the instruction."""
    if game.prompt:
        return str(game.prompt[-1].get("content"))
    if isinstance(game.user_prompt, list):
        return str(game.user_prompt[0]) if game.user_prompt else None
    return None if game.user_prompt is None else str(game.user_prompt)


def _parsed(prompt: str, number: int) -> _Texts:
    head, start, rest = prompt.partition(_START_A)
    body, end, _ = rest.rpartition(_END_B)
    if not start or not end or body.count(_BETWEEN) != 1 or not head.startswith(_QUESTION):
        where = f"games.{number}: the prompt"
        if rest.count(_BETWEEN) > 1:
            raise BadLine(f"{where} contains the template's marks several times: a judged text may contain them")
        raise BadLine(
            f"{where} is not that of Arena-Hard (<|User Prompt|>, <|The Start of Assistant A's Answer|>, ...)"
        )
    first, _, second = body.partition(_BETWEEN)
    return head.removeprefix(_QUESTION).removesuffix("\n\n"), (first, second)
