"""The shipped sample vetted by free evidence, in memory: what ``metajudge demo`` shows.

The sample's three judges are fictional; it shows how vetting works and measures nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files

from metajudge.errors import OutputError
from metajudge.evidence.columns import compare, signal_columns
from metajudge.evidence.counting import Counted, Counts, code_of, compared_by, fate_of, said_by
from metajudge.evidence.dependence import dependence_of
from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.score import signal_score
from metajudge.evidence.units import Clusters
from metajudge.evidence.verdicts import VerdictsBuilder
from metajudge.evidence.words import evidence_in_words
from metajudge.scoring.formulas import exceeds
from metajudge.types import Judgment, SignalValue

THRESHOLD = 4.5


@dataclass(frozen=True, slots=True)
class Vetted:
    """One judgment of the sample, its score in [1, 5] and what was found about it."""

    judgment: Judgment
    score: float
    kept: bool
    because: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether its verdict is the labelled one."""
        return self.judgment.correct is True


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
    """Vets the sample by free evidence, as ``metajudge vet`` does without agents; labels only count what was kept."""
    judgments = sample_judgments()
    builder = VerdictsBuilder()
    builder.add_all(judgments)
    facts = builder.facts()
    rules = facts.rules()
    compared = compare(replace(facts, copies=dependence_of(facts, rules).copies), rules)
    columns = signal_columns(facts, compared)
    found = dict[str, Vetted | None]()
    for row, judgment in enumerate(judgments):
        values = {name: column.at(row) for name, column in columns.items()}
        signals = {name: value for name, value in values.items() if value is not None}
        found[judgment.id] = _vetted(judgment, signals, compared.peers.values[compared.peers.codes[row]])
    counts = Counts(clusters=Clusters(judgments))
    for one in judgments:
        ended = found[one.id]
        fate = fate_of(None if ended is None else ended.kept)
        code = code_of(compared_by(one, counts.rules))
        counts.count(one.id, counts.clusters.number(one.item), said_by(one.verdict), fate, code)
    vetted = [one for one in found.values() if one is not None]
    kept = [one for one in vetted if one.kept]
    discarded = [one for one in vetted if not one.kept]
    return Demonstration(
        judges=len({judgment.judge for judgment in judgments}),
        rows=counts.rows(),
        example_kept=_clearest(kept, lambda one: one.right, lambda one: -one.score),
        example_discarded=_clearest(discarded, lambda one: not one.right, lambda one: one.score),
        fooled=tuple(one for one in kept if not one.right),
    )


def _vetted(judgment: Judgment, signals: dict[str, SignalValue], peers: PeerSupport) -> Vetted | None:
    if judgment.verdict is None:
        return None
    score = signal_score(signals)
    if score is None:
        return None
    because = evidence_in_words(signals, peers)
    return Vetted(judgment, score, bool(exceeds(score, THRESHOLD)), tuple(because))


def _clearest(vetted: list[Vetted], fits: Callable[[Vetted], bool], key: Callable[[Vetted], float]) -> Vetted:
    """The judgment with the clearest evidence among those that fit; the first in the file where scores are equal."""
    return min((one for one in vetted if fits(one)), key=key)
