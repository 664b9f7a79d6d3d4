"""Inspect's evaluation logs (UK AI Security Institute, ``inspect_ai``): model-graded scores as grades.

Both formats of the documentation's page "Eval Logs" are read, as inspect_ai 0.3 writes them (fixtures made by 0.3.285
are in ``tests/reading/interop/``): ``.eval``, a zip archive with ``header.json`` and one member a sample (an unfinished
log has ``_journal/start.json`` in place of the header), one sample at a time; and ``.json``, one object with ``eval``
and ``samples``. Both give the same records, with the ids ``task/sample/epoch/run/scorer``.

A score is a model's judgment where its metadata contains the grader's conversation (``metadata.grading``), or where
its scorer is ``model_graded_qa`` or the like; any other score is kept in ``meta.scores``. ``C``, ``P`` and ``I`` are
the grades 1, 0.5 and 0, any other word a category; ``N``, and a score without a value (NaN), are no verdict. The judge
is the grader's model, with ``/SCORER`` behind it unless the scorer is ``model_graded_qa``. A majority of several
graders (``metadata.panel``) is a verdict of each of them, a score with several values a verdict a value. Scores that
answer different instructions, or have several values, are items apart. What a person changed in a score
(``edit_score``, with its author) is a label, and the score as it was the verdict.
"""

import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from metajudge.errors import InputError
from metajudge.reading.containers.cells import object_in, objects_in
from metajudge.reading.containers.kinds import members_of, parsed_object, read_member, read_object
from metajudge.reading.containers.lines import EXCERPT, BadLine, Reject, RunRow, Source
from metajudge.reading.conversations import messages, text_of
from metajudge.reading.formats.scored_runs import AssessedRun, AssessedRuns, RecordedRun, RecordedScore
from metajudge.reading.formats.specs import Row
from metajudge.reading.formats.stated_scores import reason_text
from metajudge.reading.people import PersonScore
from metajudge.reading.reader import UNREADABLE, inside, why
from metajudge.reading.scales import grade_of
from metajudge.reading.vocabulary import MOST_CHARACTERS
from metajudge.types import Category, Grade
from metajudge.types.digests import digest

FORMAT = "Inspect log"
_SHAPE = "an Inspect sample"
_STANDARD = "model_graded_qa"
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0}
_SAME = "UNCHANGED"


def is_inspect_log(data: Row) -> bool:
    """Whether an object is a log."""
    return isinstance(data.get("eval"), dict) and "task" in data["eval"] and ("samples" in data or "status" in data)


def is_inspect_archive(source: Source) -> bool:
    """Whether a zip archive is a log."""
    return bool(members_of(source) & {"header.json", "_journal/start.json"})


def inspect_log(source: Source) -> AssessedRuns:
    """Reads one log."""
    return AssessedRuns(FORMAT, source, partial(_rows, source), shape=_SHAPE)


def _rows(source: Source) -> Iterator[RunRow | Reject]:
    """A row for every verdict of a model, and one for what people changed in a sample."""
    others: set[str] = set()
    graded = unscored = False
    number = 0
    with _opened(source) as (head, samples):
        for number, sample in enumerate(samples, start=1):
            if (problem := _problem(sample)) is not None:
                yield Reject(source.name, number, problem, "")
                continue
            scores = sample.get("scores") or {}
            others |= {name for name, score in scores.items() if not _is_graded(name, score)}
            unscored = unscored or not scores
            try:
                verdicts = [*_verdicts(sample, head["eval"])]
            except UNREADABLE as error:
                graded = True
                yield source.reject(number, why(error, _SHAPE), b"")
                continue
            graded = graded or bool(verdicts)
            for said in verdicts:
                short = {key: sample.get(key) for key in ("id", "epoch", "input", "target")} | {"value": said["value"]}
                yield RunRow(number, partial(_run, head, sample, said), short, EXCERPT * 4)
            yield RunRow(number, partial(_people, head, sample, verdicts))
        if not graded and (others or unscored or not number or head.get("status") is None):
            yield Reject(source.name, 1, _nothing(head, others, unscored=unscored), "")


@contextmanager
def _opened(source: Source) -> Iterator[tuple[dict[str, Any], Iterator[Any]]]:
    """A log's header and its samples, of an archive one at a time; an error in place of a sample that is damaged."""
    if not zipfile.is_zipfile(source.path):
        data = read_object(source)
        samples = data.get("samples")
        yield data, (_current(data, sample) for sample in (samples if isinstance(samples, list) else ()))
        return
    try:
        archive = zipfile.ZipFile(source.path)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{source.name} is a damaged zip archive: {error}") from None

    def member(name: str) -> dict[str, Any]:
        return parsed_object(read_member(archive, name, source), f"{source.name}: {name}")

    def sample(name: str) -> dict[str, Any] | InputError:
        try:
            return member(name)
        except InputError as error:
            return error

    with archive:
        names = set(archive.namelist())
        listed = sorted(name for name in names if name.startswith("samples/") and name.endswith(".json"))
        yield member("header.json" if "header.json" in names else "_journal/start.json"), map(sample, listed)


def _current(head: Row, sample: Any) -> Any:
    """A sample of the first logs, with the one score that they have under its scorer's name."""
    if not isinstance(sample, dict) or "scores" in sample or "score" not in sample:
        return sample
    name = object_in((head.get("results") or {}).get("scorer")).get("name")
    return {**sample, "scores": None if sample["score"] is None else {str(name or "score"): sample["score"]}}


def _problem(sample: Any) -> str | None:
    """Why a sample gives no verdict at all; None where it may."""
    if isinstance(sample, InputError):
        return str(sample)
    if not isinstance(sample, dict) or not isinstance(sample.get("scores"), dict | None):
        return "not the shape of an Inspect sample"
    error = sample.get("error")
    if not error or sample.get("scores"):
        return None
    kind = str(error.get("message") if isinstance(error, dict) else error).partition("(")[0][:60]
    return f"the sample {sample.get('id')!r} ended with an error before it was scored ({kind})"


def _nothing(head: Row, others: set[str], *, unscored: bool) -> str:
    """Why a log contains no verdict of a model."""
    if others:
        return (
            f"the log contains no score of a model: its scorers are {', '.join(sorted(others))}, which leave no "
            "conversation of a grader; judgments are the scores of model_graded_qa and its like"
        )
    if unscored:
        return "the samples of the log are not scored: `inspect score LOG` adds scores"
    status = str(head.get("status", "started"))
    if status == "success":
        return "the log has no samples: it was written without them, or is the header alone"
    return (
        f"the log has the status {status!r} and no samples: the evaluation ended before any was finished; the log "
        "says why under error, and `inspect eval-retry LOG` repeats it"
    )


def _history(score: Any) -> list[dict[str, Any]]:
    return objects_in(object_in(score).get("history"))


def _as_judged(score: Row) -> Row:
    """The score before anybody edited it."""
    return {**score, **{key: value for one in _history(score)[:1] for key, value in one.items() if value != _SAME}}


def _base(name: str) -> str:
    """The scorer's name without its package and number."""
    return name.split("/")[-1].rstrip("0123456789")


def _is_graded(name: str, score: Any) -> bool:
    """Whether a model gave a score: its first entry has no author, who would have added it."""
    if not isinstance(score, dict) or any(isinstance(one.get("provenance"), dict) for one in _history(score)[:1]):
        return False
    return bool(object_in(_as_judged(score).get("metadata")).get("grading")) or _base(name).startswith("model_graded")


def _verdicts(sample: Row, run: Row) -> Iterator[Row]:
    """Every verdict of a model on a sample; ``run`` is the log's ``eval``, which names scorers and their models.

    A verdict has the ``name`` of its score, the first score that was ``asked`` the same, ``member`` of a panel,
    ``value``, ``missing`` (why there is no value), ``told`` (the rationale), ``model``, ...
    """
    asked: dict[str, str] = {}
    for name, score in (sample.get("scores") or {}).items():
        if not _is_graded(name, score):
            continue
        judged = _as_judged(score)
        metadata = object_in(judged.get("metadata"))
        spoken = objects_in(metadata.get("grading"))
        prompt = next((text_of(one.get("content") or "") for one in spoken if one.get("role") == "user"), "")
        replied = next((one for one in spoken if one.get("role") == "assistant"), {})
        instruction, told = prompt.partition("[END DATA]")[2].strip() or None, judged.get("explanation")
        first = name if instruction is None else asked.setdefault(instruction, name)
        whole = {"name": name, "asked": first, "answer": judged.get("answer"), "instruction": instruction}
        grader, panel = replied.get("model") or None, object_in(metadata.get("panel"))
        votes = panel.get("votes")
        given: list[tuple[Any, ...]] = []
        if isinstance(votes, list) and len(votes) > 1:
            models, failures = _panel_models(name, run, len(votes), grader), objects_in(panel.get("failures"))
            failed = {one.get("index"): str(one["reason"]) for one in reversed(failures) if one.get("reason")}
            shown = [told] * len(votes)
            if grader:
                shown[0] = text_of(replied["content"]) if replied.get("content") else None
            given = [(at + 1, vote, failed.get(at), shown[at], models[at]) for at, vote in enumerate(votes)]
        else:
            reason = judged.get("reason") or metadata.get("unscored_reason")
            model = grader or object_in((run.get("model_roles") or {}).get("grader")).get("model")
            given = [(None, judged.get("value"), None if reason is None else str(reason), told, model)]
        for member, value, missing, words, model in given:
            for key, one in value.items() if isinstance(value, dict) and value else [(None, value)]:
                place = "/".join(str(part) for part in (name, key, member) if part is not None)
                about = first if key is None else f"{first}/{key}"
                part = {"id": place, "member": member, "value": one, "missing": missing, "told": words}
                yield {**whole, **part, "about": about, "model": model}


def _panel_models(name: str, run: Row, size: int, first: str | None) -> Sequence[str | None]:
    """The models of a panel's members, called as the first one's replies call it."""
    scorer = next((one for one in objects_in(run.get("scorers")) if one.get("name") == name), {})
    named, roles = (scorer.get("options") or {}).get("model"), (run.get("model_roles") or {}).get("grader")
    if not isinstance(named, list) and isinstance(roles, list):
        named = [role.get("model") if isinstance(role, dict) else role for role in roles]
    if not isinstance(named, list) or len(named) != size:
        return [first, *[None] * (size - 1)]
    models = [str(one) for one in named]
    prefix = models[0].removesuffix(first) if first and models[0].endswith(first) else ""
    return [one.removeprefix(prefix) for one in models]


def _run(head: Row, sample: Row, said: Row) -> AssessedRun:
    """A verdict on what was graded."""
    name, model = said["name"], said["model"]
    with inside(f"scores.{name}", _SHAPE):
        of = head["eval"]
        place = f"{of['task']}/{sample['id']}/{sample.get('epoch', 1)}/{str(of.get('run_id', ''))[:8]}"
        run = _graded(head, sample, said["answer"])
        verdict, missing = _verdict(said["value"], said["missing"])
    others = {key: value.get("value") for key, value in sample["scores"].items() if not _is_graded(key, value)}
    standard = _base(name) == _STANDARD
    unnamed = name if said["member"] is None else f"{name}/{said['member']}"
    noted = {"scorer": name, "value": _finite(said["value"]), "scores": others or None}
    score = RecordedScore(
        id=f"{place}/{said['id']}",
        judge=unnamed if model is None else model if standard else f"{model}/{name}",
        value=verdict,
        error=missing,
        comment=reason_text(said["told"]),
        instruction=said["instruction"],
        meta={**noted, "judge_model": None if standard else model, "time": sample.get("completed_at")},
        about=said["about"],
        place=f"scores.{name}",
        keeps=("value",),
    )
    return AssessedRun(run, [score])


def _graded(head: Row, sample: Row, given: Any) -> RecordedRun:
    """What was graded; ``given`` is the answer that the score names, None for the sample's output.

    The id ends with a digest of what it is: the grades of one answer in several epochs or logs are about one item.
    """
    answer = (sample.get("output") or {}).get("completion") if given is None else given
    if answer is None:
        raise BadLine("the score has no 'answer' and the sample no output")
    target, model = sample.get("target"), head["eval"].get("model") or None
    reference = "\n".join(map(str, target)) if isinstance(target, list) else target
    more: dict[str, Any] = {"category": (sample.get("metadata") or {}).get("category"), "reference": reference}
    models = {"A": model} if model else None
    content = {"question": text_of(sample["input"]), "responses": {"A": str(answer)}, **more, "models": models}
    name, spoken = f"{head['eval']['task']}/{sample['id']}/{digest(content)[:12]}", messages(sample["input"])
    return RecordedRun(name, content["question"], str(answer), **more, model=model, conversation=spoken)


def _verdict(value: Any, reason: str | None) -> tuple[Grade | Category | None, str | None]:
    """The verdict, or why it is missing.

    Raises:
        BadLine: a value that is neither a grade nor a word.
    """
    text = value.strip() if isinstance(value, str) else ""
    if text in _GRADES:
        return Grade(_GRADES[text]), None
    if text == "N":
        return None, "the scorer said N: no answer, or a refusal"
    if text and not _is_number(text) and len(text) <= MOST_CHARACTERS:
        return Category(text), None
    if value is not None and not isinstance(value, bool | int | float | str):
        raise BadLine(f"the value {str(value)[:60]!r} is none of C, P, I or a number")
    grade, missing = grade_of(value, "value")
    return grade, missing and "the scorer gave no value" + (f" ({reason})" if reason else "")


def _is_number(text: str) -> bool:
    """Whether a text is a number, a boolean, or a word for none."""
    try:
        float(text)
    except ValueError:
        return text.casefold() in ("true", "false", "none", "null", "n/a")
    return True


def _finite(value: Any) -> Any:
    """The value, or None for a number that is none."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _people(head: Row, sample: Row, verdicts: Sequence[Row]) -> AssessedRun:
    """What people changed or added in a sample's scores, the last value of each."""
    found: list[PersonScore] = []
    judged = {said["name"]: (said["asked"], said["answer"]) for said in verdicts}
    for name, score in (sample.get("scores") or {}).items():
        asked, answer = judged.get(name, (name, None))
        try:
            item = _graded(head, sample, answer).id
        except UNREADABLE:
            continue  # its scores are rejects
        last: dict[str, tuple[Any, Any]] = {}
        for edit in _history(score):
            by = object_in(edit.get("provenance"))
            if by.get("author") and edit.get("value", _SAME) != _SAME:
                last[str(by["author"])] = edit["value"], by.get("timestamp")
        for author, (value, time) in last.items():
            for key, one in value.items() if isinstance(value, dict) else [("", value)]:
                shown = _GRADES.get(one, one) if isinstance(one, str) else _finite(one)
                found.append(PersonScore(f"{asked}/{key}" if key else asked, author, item, shown, time))
    return AssessedRun(None, (), found)
