"""Calibrations and agents' scores as files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import orjson
from pydantic import ValidationError

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.calibration import CALIBRATION_VERSION, FIT, Calibration, Identity, Provenance
from metajudge.calibration.looks import Ledger
from metajudge.calibration.shipped import Prior
from metajudge.errors import InputError
from metajudge.files.replacing import replacing
from metajudge.types import Assessment, digest


def save_calibration(calibration: Calibration, path: Path | str) -> None:
    """Writes a calibration as JSON; the same calibration gives the same bytes.

    Raises:
        InputError: the file cannot be written.
    """
    target = Path(path)
    try:
        with replacing(target, durable=calibration.looks is not None) as part:
            part.write_bytes(calibration.to_json())
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error


def save_fit(calibration: Calibration, path: Path | str) -> int:
    """Writes a new fit; a ledger of looks in the file that it replaces is taken over, since the looks stay spent.

    Returns:
        How many looks were taken over.

    Raises:
        InputError: the file cannot be written.
    """
    with locked(path):
        looks = _looks_in(Path(path))
        save_calibration(calibration.model_copy(update={"looks": looks}), path)
    return 0 if looks is None else len(looks.entries)


def _looks_in(path: Path) -> Ledger | None:
    """The ledger of a file, of one that is refused as a calibration, too: what was spent stays spent."""
    try:
        data = orjson.loads(path.read_bytes())
        return None if data.get("looks") is None else Ledger.model_validate(data["looks"])
    except (OSError, orjson.JSONDecodeError, AttributeError):  # no file, or none that has looks
        return None
    except ValidationError:
        raise InputError(
            f"the ledger of looks in {path} is damaged, and what it spent is unknown: write the fit to another file"
        ) from None


@contextmanager
def locked(path: Path | str) -> Iterator[None]:
    """Waits until no other process changes a calibration in the file's folder, and keeps others waiting.

    A look is read, made and written under this lock: two at the same time must not lose one of them. The lock is on the
    folder, since the file itself is replaced as a whole.
    """
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        yield
        return
    try:
        folder = os.open(Path(path).absolute().parent, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


SHIPPED = "shipped"
"""In place of a calibration file: the shipped default."""


def shipped_prior() -> Prior:
    """The numbers that come with the package."""
    text = (resources.files("metajudge.calibration") / "shipped.json").read_text("utf-8")
    return Prior.model_validate_json(text)


def shipped_calibration() -> Calibration:
    """The shipped default as a calibration: for any judge and kind of verdicts, and without guarantees."""
    prior = shipped_prior()
    return Calibration(
        identity=Identity(judges=(), signals=("share",)),
        provenance=Provenance(
            data=digest([one.data for one in prior.sets]),
            n=sum(one.n for one in prior.sets),
            questions={},
            seed=0,
            folds=0,
            repeats=0,
        ),
        reliabilities={},
        reward_scales={},
        groups=(),
        quality={},
        profiles={},
        categories={},
        shipped=prior,
    )


def load_calibration(path: Path | str) -> Calibration:
    """Reads a calibration; the name :data:`SHIPPED` stands for the shipped default.

    Raises:
        InputError: the file is missing, no calibration, or one of another version.
    """
    if str(path) == SHIPPED:
        return shipped_calibration()
    try:
        data = orjson.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path} is no calibration: not valid JSON ({error})") from None
    identity = data.get("identity") if isinstance(data, dict) else None
    if not isinstance(identity, dict) or "version" not in identity:
        raise InputError(f"{path} is no calibration: make one with `metajudge calibrate fit ... --out {path}`")
    if identity["version"] != CALIBRATION_VERSION:
        raise InputError(
            f"{path} is a calibration of version {identity['version']!r}, this metajudge reads version "
            f"{CALIBRATION_VERSION}: fit it again with `metajudge calibrate fit`"
        )
    fitted_by = 0 if (recipe := data.get("recipe")) is None else recipe.get("fit")
    # The columns that earlier rules read are still there for pairs.
    if fitted_by != FIT and not (fitted_by in (0, 1) and identity.get("kind", "pairwise") == "pairwise"):
        raise InputError(
            f"{path} was fitted by the rules {fitted_by!r}, this metajudge has the rules {FIT}: fit it again with "
            f"`metajudge calibrate fit --data FILE --out {path}`. Looks that it recorded stay spent"
        )
    if data.get("transfer") is not None:
        raise InputError(
            f"{path} was drawn to the prior over sets of an earlier version, which was removed: fit it again with "
            f"`metajudge calibrate fit --data FILE --prior shipped --out {path}`. Looks that it recorded stay spent"
        )
    try:
        return Calibration.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        what = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{path} is a damaged calibration: {where}: {what}; fit it again") from None


def read_agent_scores(path: Path | str) -> AgentScores:
    """Agents' scores from a file of assessments, one a line, as ``metajudge vet --out`` writes it.

    Raises:
        InputError: a line is no assessment, or no agent gave a score anywhere in the file.
    """
    assessments = read_assessments(path)
    found = AgentScores.from_assessments(assessments)
    if not any(found.scores.values()):
        raise InputError(
            f"{path} contains {len(assessments)} assessments and no agent's score: write it with "
            "`metajudge vet ... --agent ... --no-early-exit --out FILE`"
        )
    return found


def read_assessments(path: Path | str) -> list[Assessment]:
    """A file of assessments, one a line, as ``metajudge vet --out`` writes it.

    Raises:
        InputError: a line is no assessment, or the file cannot be read.
    """
    found = []
    try:
        with Path(path).open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    found.append(_assessment(line, f"{path}:{number}"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    return found


def _assessment(line: bytes, where: str) -> Assessment:
    try:
        return Assessment.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise InputError(f"{where}: no assessment: {at + ': ' if at else ''}{first['msg']}") from None
