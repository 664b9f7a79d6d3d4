"""Inspect's evaluation logs (UK AI Security Institute, ``inspect_ai``): model-graded scores as grades.

Both formats of the documentation's page "Eval Logs" are read, as inspect_ai 0.3 writes them (fixtures made by 0.3.285
are in ``tests/readers/interop/``): ``.eval``, a zip archive with ``header.json`` and one member a sample
(``samples/ID_epoch_N.json``; an unfinished log has ``_journal/start.json`` in place of the header), one sample at a
time; and ``.json``, one object with ``eval`` and ``samples``. What a score says is in
:mod:`metajudge.readers.inspect_scores`; what programs scored (``match``, ``includes``) is kept in ``meta.scores``.

The sample's input is the question, the answer that was graded the only response, the target the reference. Scores that
answer different instructions, or have several values, are items apart. What a person changed in a score
(``edit_score``, with its author) is a label, and the score as it was the verdict. The time is when the sample was
completed. Ids are ``task/sample/epoch/run/scorer``, so that the same log in both formats gives the same records. An
item's id ends with a digest of what it is: the grades of one answer in several epochs or logs are about one item.
"""

import zipfile
from collections.abc import Iterator
from typing import Any

import orjson

from metajudge.errors import InputError
from metajudge.readers.conversations import messages, text_of
from metajudge.readers.inspect_scores import Said, edits_of, finite, is_graded, said_in, verdict_of
from metajudge.readers.json_object import parsed_object, read_member, read_object
from metajudge.readers.lines import EXCERPT, BadLine, Reject, Source
from metajudge.readers.people import ByPeople, PersonScore
from metajudge.readers.people_index import Target
from metajudge.readers.reader import UNREADABLE, FoundJudgment, why
from metajudge.readers.stated_scores import reason_text
from metajudge.types import Item, Judgment
from metajudge.types.digests import digest


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
    """Reads one log.

    Attributes:
        separate: scores that answer different instructions are items apart.
    """

    format = "Inspect log"
    separate = True

    def __init__(self, source: Source, *, archive: bool) -> None:
        self.source = source
        self._archive = archive

    def read(self) -> Iterator[FoundJudgment | Reject | ByPeople]:
        others: set[str] = set()
        graded = unscored = False
        status = None
        for number, (head, sample) in enumerate(self._samples(), start=1):
            status = head.get("status")
            problem = _problem(sample)
            if problem is not None or not isinstance(sample, dict):
                yield Reject(self.source.name, number, problem or "", "")
                continue
            scores = sample.get("scores") or {}
            others |= {name for name, score in scores.items() if not is_graded(name, score)}
            unscored = unscored or not scores
            for found in self._of_sample(number, head, sample):
                graded = graded or not isinstance(found, ByPeople)
                yield found
        if not graded and (others or unscored or status is None):
            yield Reject(self.source.name, 1, self._nothing(others, unscored=unscored), "")

    def targets(self) -> Iterator[Target]:
        """What every score and correction is about; see :class:`~metajudge.readers.people_index.ScoredByPeople`."""
        for number, (head, sample) in enumerate(self._samples(), start=1):
            if not isinstance(sample, dict) or _problem(sample) is not None:
                continue
            try:
                found = [(said, _item(head, sample, said.answer)) for said in said_in(sample, head["eval"])]
                people = _people(head, sample)
            except UNREADABLE:
                continue
            yield from (Target(item.id, said.aspect) for said, item in found)
            for person in people:
                if person.target is not None:
                    yield Target(person.target, person.name, ByPeople(person, self.source.name, number))

    def _nothing(self, others: set[str], *, unscored: bool) -> str:
        """Why a log contains no verdict of a model."""
        if others:
            return (
                f"the log contains no score of a model: its scorers are {', '.join(sorted(others))}, which leave no "
                "conversation of a grader; judgments are the scores of model_graded_qa and its like"
            )
        if unscored:
            return "the samples of the log are not scored: `inspect score LOG` adds scores"
        status = self._status()
        if status == "success":
            return "the log has no samples: it was written without them, or is the header alone"
        return (
            f"the log has the status {status!r} and no samples: the evaluation ended before any was finished; the log "
            "says why under error, and `inspect eval-retry LOG` repeats it"
        )

    def _status(self) -> str:
        if self._archive:
            with zipfile.ZipFile(self.source.path) as archive:
                if "header.json" not in archive.namelist():
                    return "started"
                return str(parsed_object(read_member(archive, "header.json", self.source), "header.json").get("status"))
        return str(read_object(self.source).get("status"))

    def _of_sample(
        self, number: int, head: dict[str, Any], sample: dict[str, Any]
    ) -> Iterator[FoundJudgment | Reject | ByPeople]:
        try:
            verdicts = [*said_in(sample, head["eval"])]
        except UNREADABLE as error:
            yield self.source.reject(number, why(error, "an Inspect sample"), b"")
            return
        for said in verdicts:
            try:
                judgment = _judgment(head, sample, said)
            except UNREADABLE as error:
                reason = f"scores.{said.name}: {why(error, 'an Inspect sample')}"
                short = {key: sample.get(key) for key in ("id", "epoch", "input", "target")} | {"value": said.value}
                yield self.source.reject(number, reason, orjson.dumps(short, default=str)[: EXCERPT * 4])
            else:
                yield FoundJudgment(judgment, self.source.name, number, said.aspect)
        yield from (ByPeople(one, self.source.name, number) for one in _people(head, sample))

    def _samples(self) -> Iterator[tuple[dict[str, Any], dict[str, Any] | InputError]]:
        """Header and sample, one at a time."""
        if not self._archive:
            data = read_object(self.source)
            samples = data.get("samples")
            yield from ((data, _current(data, sample)) for sample in (samples if isinstance(samples, list) else ()))
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


def _current(head: dict[str, Any], sample: Any) -> Any:
    """A sample of the first logs, with the one score that they have under its scorer's name."""
    if not isinstance(sample, dict) or "scores" in sample or "score" not in sample:
        return sample
    scorer = (head.get("results") or {}).get("scorer")
    name = scorer.get("name") if isinstance(scorer, dict) else None
    return {**sample, "scores": None if sample["score"] is None else {str(name or "score"): sample["score"]}}


def _problem(sample: object) -> str | None:
    """Why a sample gives no verdict at all; None where it may."""
    if isinstance(sample, InputError):
        return str(sample)
    if not isinstance(sample, dict) or not isinstance(sample.get("scores"), dict | None):
        return "not the shape of an Inspect sample"
    if sample.get("error") and not sample.get("scores"):
        message = sample["error"].get("message") if isinstance(sample["error"], dict) else sample["error"]
        kind = str(message).partition("(")[0][:60]
        return f"the sample {sample.get('id')!r} ended with an error before it was scored ({kind})"
    return None


def _place(head: dict[str, Any], sample: dict[str, Any]) -> str:
    run = head["eval"]
    return f"{run['task']}/{sample['id']}/{sample.get('epoch', 1)}/{str(run.get('run_id', ''))[:8]}"


def _item(head: dict[str, Any], sample: dict[str, Any], given: Any) -> Item:
    """What was graded.

    Args:
        head: of the log.
        sample: of the log.
        given: the answer that the score names; None for the sample's output.
    """
    run, answer = head["eval"], given
    if answer is None:
        answer = (sample.get("output") or {}).get("completion")
    if answer is None:
        raise BadLine("the score has no 'answer' and the sample no output")
    target = sample.get("target")
    content = {
        "question": text_of(sample["input"]),
        "responses": {"A": str(answer)},
        "category": (sample.get("metadata") or {}).get("category"),
        "reference": "\n".join(map(str, target)) if isinstance(target, list) else target,
        "models": {"A": run["model"]} if run.get("model") else None,
    }
    spoken = [{"role": role, "content": text} for role, text in messages(sample["input"], {})]
    name = f"{run['task']}/{sample['id']}/{digest(content)[:12]}"
    return Item.model_validate({"id": name, **content, "conversation": spoken})


def _people(head: dict[str, Any], sample: dict[str, Any]) -> list[PersonScore]:
    """What people changed in a sample's scores."""
    found: list[PersonScore] = []
    judged = {said.name: (said.asked, said.answer) for said in said_in(sample, head["eval"])}
    for name, score in (sample.get("scores") or {}).items():
        asked, answer = judged.get(name, (name, None))
        try:
            item = _item(head, sample, answer)
        except UNREADABLE:
            continue  # its scores are rejects
        found += edits_of(score, asked, item.id)
    return found


def _judgment(head: dict[str, Any], sample: dict[str, Any], said: Said) -> Judgment:
    place, item = _place(head, sample), _item(head, sample, said.answer)
    verdict, no_verdict = verdict_of(said)
    others = {key: value.get("value") for key, value in sample["scores"].items() if not is_graded(key, value)}
    meta = {
        "scorer": said.name,
        "value": finite(said.value),
        "scores": others or None,
        "judge_model": None if said.standard else said.model,
        "time": sample.get("completed_at"),
    }
    return Judgment(
        id="/".join([place, said.name, *said.part]),
        item=item,
        judge=said.judge,
        verdict=verdict,
        no_verdict=no_verdict,
        rationale=reason_text(said.explanation),
        instruction=said.instruction,
        meta={key: value for key, value in meta.items() if value is not None or key == "value"},
    )
