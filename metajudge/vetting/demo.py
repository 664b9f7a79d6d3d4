"""The shipped sample vetted by free evidence, in memory: what ``metajudge demo`` shows.

The sample's three judges are fictional; it shows how vetting works and measures nothing.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files

from metajudge.errors import OutputError
from metajudge.evidence.counting import Counted, Counts
from metajudge.evidence.units import Clusters
from metajudge.evidence.words import signal_lines
from metajudge.types import Assessment, Judgment
from metajudge.vetting.outcomes import WEIGHED


@dataclass(frozen=True, slots=True)
class Vetted:
    """One judgment of the sample and what was found about it."""

    judgment: Judgment
    assessment: Assessment

    @property
    def right(self) -> bool:
        """Whether its verdict is the labelled one."""
        return self.judgment.correct is True

    @property
    def score(self) -> float:
        """Of free evidence, in [1, 5]."""
        return self.assessment.final_score or 0.0

    @property
    def because(self) -> tuple[str, ...]:
        """The evidence in words."""
        present = [(name, one) for name, one in (self.assessment.signals or {}).items() if one.value is not None]
        return tuple(signal_lines({name: one})[0].words.rstrip(".") for name, one in present if name in WEIGHED)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The sample, vetted.

    Attributes:
        rows: how many judgments stand in each row, and how many of them are right.
        example_kept, example_discarded: one judgment each, chosen for how clear its evidence is.
    """

    judges: int
    rows: Mapping[str, Counted]
    example_kept: Vetted
    example_discarded: Vetted
    fooled: tuple[Vetted, ...]


def sample_text() -> str:
    """The shipped sample as in its file: one judgment per line."""
    return files("metajudge.benchmarks.sample").joinpath("judgments.jsonl").read_text("utf-8")


def sample_judgments() -> list[Judgment]:
    """The judgments of the shipped sample."""
    return [Judgment.model_validate_json(line) for line in sample_text().splitlines()]


def save_sample(path: str) -> None:
    """Writes the sample to a new file.

    Raises:
        OutputError: it is there already, or cannot be written.
    """
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(sample_text())
    except FileExistsError:
        raise OutputError(f"{path} already exists and is not overwritten: name another file") from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None


def demonstrate() -> Demonstration:
    """Vets the sample as ``metajudge vet --calibration none`` does: labels count what was kept, and decide nothing."""
    judgments = sample_judgments()
    counts = Counts(clusters=Clusters(judgments))
    vetted = [Vetted(*both) for both in zip(judgments, asyncio.run(_vetted(judgments)), strict=True)]
    for one in vetted:
        counts.add(one.judgment, one.assessment)
    kept = [one for one in vetted if one.assessment.kept]
    return Demonstration(
        judges=len({judgment.judge for judgment in judgments}),
        rows=counts.rows(),
        example_kept=_clearest(kept, lambda one: one.right, lambda one: -one.score),
        example_discarded=_clearest(
            [one for one in vetted if one.assessment.kept is False], lambda one: not one.right, lambda one: one.score
        ),
        fooled=tuple(one for one in kept if not one.right),
    )


async def _vetted(judgments: list[Judgment]) -> list[Assessment]:
    from metajudge.vetting.engine import Engine  # after help
    from metajudge.vetting.finishing import NO_CALIBRATION

    found: dict[int, Assessment] = {}
    async with Engine(calibration=NO_CALIBRATION) as engine:
        await engine.vet_all(judgments, on_result=lambda place, _, one: found.update({place: one}))
    return [found[place] for place in sorted(found)]


def _clearest(vetted: list[Vetted], fits: Callable[[Vetted], bool], key: Callable[[Vetted], float]) -> Vetted:
    """The judgment with the clearest evidence among those that fit; the first in the file where these are equal."""
    return min((one for one in vetted if fits(one)), key=key)
