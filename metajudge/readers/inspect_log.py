"""Inspect's evaluation logs (UK AI Security Institute, ``inspect_ai``): model-graded scores as grades.

Both formats of the documentation's page "Eval Logs" are read, as inspect_ai 0.3 writes them (checked against
0.3.285): ``.eval``, a zip archive with ``header.json`` and one member a sample (``samples/ID_epoch_N.json``; an
unfinished log has ``_journal/start.json`` in place of the header), one sample at a time; and ``.json``, one object
with ``eval`` and ``samples``. A score is a model's judgment where its metadata contains the grader's conversation
(``metadata.grading``, as ``model_graded_qa`` and ``model_graded_fact`` leave it), or where its scorer is one of
these; what programs scored (``match``, ``includes``) is kept in ``meta.scores``.

The sample's input is the question, the answer that was graded the only response, the target the reference. ``C``,
``P`` and ``I`` are the grades 1, 0.5 and 0, as Inspect counts them, any other word a category; ``N``, and a score
without a value (NaN), are no verdict, with the scorer's reason. The judge is the grader's model, with ``/SCORER``
behind it unless the scorer is ``model_graded_qa``. Ids are ``task/sample/epoch/run/scorer``, so that the same log in
both formats gives the same records.
"""

import math
import zipfile
from collections.abc import Iterator
from typing import Any

import orjson

from metajudge.errors import InputError
from metajudge.readers.conversations import messages, text_of
from metajudge.readers.json_object import parsed_object, read_member, read_object
from metajudge.readers.lines import EXCERPT, BadLine, Reject, Source
from metajudge.readers.reader import UNREADABLE, FoundJudgment, why
from metajudge.readers.vocabulary import MOST_CHARACTERS
from metajudge.types import Category, Grade, Item, Judgment

STANDARD = "model_graded_qa"
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0}


def is_inspect_log(data: dict[str, Any]) -> bool:
    return isinstance(data.get("eval"), dict) and "task" in data["eval"] and ("samples" in data or "status" in data)


def is_inspect_archive(source: Source) -> bool:
    """Whether a zip archive is a log."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            names = set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
    return bool(names & {"header.json", "_journal/start.json"})


class InspectLog:
    """Reads one log."""

    format = "Inspect log"

    def __init__(self, source: Source, *, archive: bool) -> None:
        self.source = source
        self._archive = archive

    def read(self) -> Iterator[FoundJudgment | Reject]:
        header: dict[str, Any] | None = None
        others: set[str] = set()
        graded = False
        for number, (head, sample) in enumerate(self._samples(), start=1):
            header = head
            if isinstance(sample, InputError):
                yield Reject(self.source.name, number, str(sample), "")
                continue
            scores = sample.get("scores") if isinstance(sample, dict) else []
            if not isinstance(scores, dict | None):
                yield Reject(self.source.name, number, "not the shape of an Inspect sample", "")
                continue
            for name, score in (scores or {}).items():
                if not _is_graded(name, score):
                    others.add(name)
                    continue
                graded = True
                yield self._found(number, head, sample, name, score)
        if header is not None and not graded and others:
            reason = (
                f"the log contains no score of a model: its scorers are {', '.join(sorted(others))}, which leave no "
                "conversation of a grader; judgments are the scores of model_graded_qa and its like"
            )
            yield Reject(self.source.name, 1, reason, "")

    def _found(
        self, number: int, head: dict[str, Any], sample: dict[str, Any], name: str, score: Any
    ) -> FoundJudgment | Reject:
        try:
            return FoundJudgment(_judgment(head, sample, name, score), self.source.name, number)
        except UNREADABLE as error:
            reason = f"scores.{name}: {why(error, 'an Inspect sample')}"
        short = {key: sample.get(key) for key in ("id", "epoch", "input", "target")} | {"scores": {name: score}}
        return self.source.reject(number, reason, orjson.dumps(short, default=str)[: EXCERPT * 4])

    def _samples(self) -> Iterator[tuple[dict[str, Any], dict[str, Any] | InputError]]:
        """Header and sample, one at a time."""
        if not self._archive:
            data = read_object(self.source)
            samples = data.get("samples")
            yield from ((data, sample) for sample in (samples if isinstance(samples, list) else ()))
            return
        try:
            archive = zipfile.ZipFile(self.source.path)
        except (OSError, zipfile.BadZipFile) as error:
            raise InputError(f"{self.source.name} is a damaged zip archive: {error}") from None
        with archive:
            names = archive.namelist()
            first = "header.json" if "header.json" in names else "_journal/start.json"
            head = parsed_object(read_member(archive, first, self.source), f"{self.source.name}: {first}")
            for name in sorted(dict.fromkeys(n for n in names if n.startswith("samples/") and n.endswith(".json"))):
                try:
                    yield head, parsed_object(read_member(archive, name, self.source), f"{self.source.name}: {name}")
                except InputError as error:
                    yield head, error


def _is_graded(name: str, score: Any) -> bool:
    metadata = score.get("metadata") if isinstance(score, dict) else None
    grading = metadata.get("grading") if isinstance(metadata, dict) else None
    return bool(grading) or name.split("/")[-1].startswith("model_graded")


def _judgment(head: dict[str, Any], sample: dict[str, Any], name: str, score: dict[str, Any]) -> Judgment:
    run = head["eval"]
    place = f"{run['task']}/{sample['id']}/{sample.get('epoch', 1)}/{str(run.get('run_id', ''))[:8]}"
    answer = score.get("answer")
    if answer is None:
        answer = (sample.get("output") or {}).get("completion")
    if answer is None:
        raise BadLine("the score has no 'answer' and the sample no output")
    target = sample.get("target")
    item = Item.model_validate(
        {
            "id": place,
            "question": text_of(sample["input"]),
            "responses": {"A": str(answer)},
            "category": (sample.get("metadata") or {}).get("category"),
            "reference": "\n".join(map(str, target)) if isinstance(target, list) else target,
            "models": {"A": run["model"]} if run.get("model") else None,
            "conversation": [{"role": role, "content": text} for role, text in messages(sample["input"], {})],
        }
    )
    verdict, why = _verdict(score)
    prompt, grader = _grading(score, run)
    others = {key: value.get("value") for key, value in sample["scores"].items() if not _is_graded(key, value)}
    standard = name.split("/")[-1].rstrip("0123456789") == STANDARD
    meta = {"scorer": name, "value": _finite(score.get("value"))} | ({"scores": others} if others else {})
    if grader and not standard:
        meta["judge_model"] = grader
    return Judgment(
        id=f"{place}/{name}",
        item=item,
        judge=(grader if standard else f"{grader}/{name}") if grader else name,
        verdict=verdict,
        no_verdict=why,
        rationale=str(score.get("explanation") or ""),
        instruction=prompt.partition("[END DATA]")[2].strip() or None,
        meta=meta,
    )


def _verdict(score: dict[str, Any]) -> tuple[Grade | Category | None, str | None]:
    value = score.get("value")
    if isinstance(value, str) and value in _GRADES:
        return Grade(_GRADES[value]), None
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return Grade(float(value)), None
    if value == "N":
        return None, "the scorer said N: no answer, or a refusal"
    if value is None or isinstance(value, float):  # NaN, which Inspect writes for a score without a value
        reason = score.get("reason") or (score.get("metadata") or {}).get("unscored_reason")
        return None, f"the scorer gave no value{f' ({reason})' if reason else ''}"
    if isinstance(value, str) and 0 < len(value.strip()) <= MOST_CHARACTERS:
        return Category(value.strip()), None
    raise BadLine(f"the value {str(value)[:60]!r} is none of C, P, I, N or a number")


def _grading(score: dict[str, Any], run: dict[str, Any]) -> tuple[str, str | None]:
    """The grader's prompt, and its model."""
    messages = [one for one in (score.get("metadata") or {}).get("grading") or () if isinstance(one, dict)]
    prompt = next((text_of(one.get("content") or "") for one in messages if one.get("role") == "user"), "")
    model = next((one["model"] for one in messages if one.get("role") == "assistant" and one.get("model")), None)
    role = (run.get("model_roles") or {}).get("grader")
    return prompt, model or (role.get("model") if isinstance(role, dict) else None)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
