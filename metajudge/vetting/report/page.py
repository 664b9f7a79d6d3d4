"""The report of a vetting run as a document: outcome first, then why, how scores lie, what labels say, and texts."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from metajudge.evidence.counting import Counted, Counts, without_comparison
from metajudge.evidence.words import signal_lines
from metajudge.files.command_line import command
from metajudge.installation import __version__
from metajudge.report.document import Absent, Block, Cell, Column, Listing, Report, Section, Table, Tile, Tiles
from metajudge.report.tables import Head, counts_table, table_with
from metajudge.stats.clustered import ClusteredProportion
from metajudge.types import SignalValue
from metajudge.types.right import DEFAULTS
from metajudge.vetting.answer import answer_lines, read_first
from metajudge.vetting.explanation import Reason, filled
from metajudge.vetting.picture import FATES, Fate, Picture
from metajudge.vetting.report.charts import SERIES, WEIGHED, coverage_chart, exhibits, histogram
from metajudge.vetting.sentences import calibration_lines, cost_lines, decision_lines, evidence_lines, form_lines
from metajudge.vetting.summary import ReadFirst, VetSummary

SOURCES: Final[Mapping[tuple[str, str], str]] = {
    ("keep", "policy"): "kept: the policy approves",
    ("keep", "guarantee"): "kept under the guarantee",
    ("keep", "probability"): "kept: the probability reaches the cut",
    ("keep", "agreement"): "kept by agreement: of enough peers, or of both orders",
    ("keep", "threshold"): "kept: the score is above the threshold",
    ("ask", "policy"): "a person is asked: the policy says so",
    ("ask", "nothing"): "undecided: no verdict, or too little evidence",
    ("discard", "policy"): "discarded: the policy rejects",
    ("discard", "guarantee"): "discarded: below the guaranteed probability",
    ("discard", "probability"): "discarded: the probability is below the cut",
    ("discard", "agreement"): "discarded: the share of peers that agree is below the cut",
    ("discard", "threshold"): "discarded: the score is not above the threshold",
}
"""What is to be done and what decided it -> in words."""


def percent_range(found: ClusteredProportion) -> str:
    """A share with its interval: ``90.0 % (50.9 to 98.7)``."""
    return f"{100 * found.estimate:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"


MOST_ROWS: Final = 20
"""Judges in the table; the others are counted in its note."""


@dataclass(slots=True)
class Told:
    """What a report says that is not counted from single results.

    Attributes:
        answer: the first lines of the terminal.
        how: sentences on what vetted, and by which rule judgments are kept.
        no_verdict, unscored: of those that nothing decided, and the reasons of the others.
        bad_lines, repeated: lines that are no judgment, and lines that came before.
        reasons: why nothing was kept, or judgments have no score.
        said: further sentences: guarantees, probabilities, what was left out by rule.
        rows: how many judgments stand in each row, and how many are right; None without labels.
        not_compared: sentences on what is in no share.
        provenance: name -> where the figures come from.
    """

    answer: Sequence[str] = ()
    how: Sequence[str] = ()
    no_verdict: int = 0
    bad_lines: int = 0
    repeated: int = 0
    reasons: Sequence[Reason] = ()
    said: Sequence[str] = ()
    cost: Sequence[str] = ()
    next: Sequence[tuple[str, str]] = ()
    rows: Mapping[str, Counted] = field(default_factory=dict)
    not_compared: Sequence[str] = ()
    right: str = ""
    provenance: Mapping[str, str] = field(default_factory=dict)


def page(picture: Picture, told: Told) -> Report:
    """The report of a run."""
    chart = histogram(picture)
    scores = [] if chart is None else [Section(title="Scores", blocks=(chart,))]
    sections = [
        _outcome(picture, told),
        *_to_read(picture),
        *scores,
        *_labels(picture, told),
        _why(picture),
        *_shown(picture),
    ]
    commands = tuple(Listing(caption=caption, lines=(line,)) for caption, line in told.next)
    sections.append(Section(title="Cost and next steps", paragraphs=tuple(told.cost), blocks=commands))
    return Report(
        title="Which of these verdicts to trust",
        summary=(*(told.answer or (_headline(picture, told),)), *told.how),
        sections=tuple(sections),
        provenance=dict(told.provenance),
    )


def _to_read(picture: Picture) -> Iterator[Section]:
    """What to read first, a row each."""
    rows = read_first(picture)
    if not rows:
        return
    kinds: tuple[tuple[Head, Callable[[ReadFirst], Cell]], ...] = (
        ("Judgment", lambda one: one.judgment_id),
        ("Judge", lambda one: one.judge),
        ("Verdict", lambda one: one.verdict or "none"),
        (("P(right)", "number"), lambda one: Absent(absent="none") if one.probability is None else one.probability),
        ("Why", lambda one: "; ".join(one.why)),
    )
    title = "Read these first"
    yield Section(title=title, blocks=(table_with("Not kept, the most doubtful first", rows, *kinds),))


def _headline(picture: Picture, told: Told) -> str:
    count = _of(picture, "keep")
    text = f"{count:,} of {picture.judgments:,} judgments are kept"
    kept, every = (told.rows[name].share if told.rows else None for name in ("kept", "all"))
    if kept is not None and every is not None:
        text += f"; by the labels {percent_range(kept)} of the kept are right, of all {percent_range(every)}"
    return f"{text}."


def _of(picture: Picture, fate: Fate) -> int:
    return sum(count for (one, _), count in picture.fates.items() if one == fate)


def _outcome(picture: Picture, told: Told) -> Section:
    rows = []
    for (fate, source), count in sorted(picture.fates.items(), key=lambda one: (FATES.index(one[0][0]), one[0][1])):
        rows.append((SOURCES[fate, source], count, count / max(picture.judgments, 1)))
    extra = [("lines that are no judgment", told.bad_lines), ("repeated lines, vetted once", told.repeated)]
    notes = [f"{count:,} {name}." for name, count in extra if count]
    columns = (Column(title="Decided"), Column(title="Judgments", kind="count"), Column(title="%", kind="percent"))
    table = Table(caption="What decided", columns=columns, rows=tuple(rows), notes=tuple(notes))
    blocks: list[Block] = [_tiles(picture, told), table]
    paragraphs = []
    for reason in told.reasons:
        paragraphs.append(f"Why: {reason.text.rstrip('.')}.")
        if reason.next:
            blocks.append(Listing(caption="What helps", lines=(reason.next,)))
    return Section(title="Outcome", paragraphs=(*paragraphs, *told.said), blocks=tuple(blocks))


def _tiles(picture: Picture, told: Told) -> Tiles:
    whole = max(picture.judgments, 1)
    asked = _of(picture, "ask")
    unsaid = f"{told.no_verdict:,} without a verdict" if told.no_verdict else ""
    shares = {fate: f"{100 * _of(picture, fate) / whole:.1f} % of {picture.judgments:,}" for fate in FATES}
    tiles = [
        Tile(title="Keep", figure=f"{_of(picture, 'keep'):,}", note=shares["keep"], series=SERIES["keep"]),
        Tile(
            title="Ask a person",
            figure=f"{asked:,}",
            note=", ".join(filter(None, [shares["ask"], unsaid])),
            series=SERIES["ask"],
        ),
        Tile(title="Discard", figure=f"{_of(picture, 'discard'):,}", note=shares["discard"], series=SERIES["discard"]),
    ]
    for title, name in (("Right among the kept", "kept"), ("Right among all", "all")):
        found = told.rows[name].share if told.rows else None
        if found is not None:
            note = (
                f"{found.successes:,} of {found.n:,}; 95 % interval {100 * found.low:.1f} to {100 * found.high:.1f} % "
                f"by {found.clusters:,} question{'s' if found.clusters != 1 else ''}"
            )
            tiles.append(Tile(title=title, figure=f"{100 * found.estimate:.1f} %", note=note, series=0))
    return Tiles(caption="Outcome", tiles=tuple(tiles))


def _labels(picture: Picture, told: Told) -> list[Section]:
    if not told.rows:
        return []
    rule = f" What counts as right: {told.right}." if told.right else ""
    first = (
        "Vetting does not see the labels. Intervals are 95 % and by question: judgments of one question are not "
        f"independent. A judge's tie is wrong where the label names a winner.{rule}"
    )
    chart = coverage_chart(picture)
    charts = () if chart is None else (chart,)
    rows = {name: row for name, row in told.rows.items() if not name.startswith("kept_")}
    table = counts_table("Right by the labels", rows, tuple(f"Not compared: {text}." for text in told.not_compared))
    return [Section(title="Precision and coverage", paragraphs=(first,), blocks=(table, *charts))]


def _why(picture: Picture) -> Section:
    blocks: list[Block] = []
    signs = [
        (signal_lines({name: SignalValue(value=0.0, state=state)})[0].words, counts)
        for (name, state), counts in picture.evidence.items()
        if name in WEIGHED
    ]
    signs = sorted((one for one in signs if one[0]), key=lambda one: (-one[1].total(), one[0]))
    fates = tuple(Column(title=name, kind="count") for name in ("Keep", "Ask", "Discard"))
    if signs:
        caption = "What free evidence says, and what became of these judgments"
        rows = tuple((words, *_counts(counts)) for words, counts in signs)
        blocks.append(Table(caption=caption, columns=(Column(title="Evidence"), *fates), rows=rows))
    judges = sorted(picture.judges.items(), key=lambda one: (-one[1].total(), one[0]))
    shown = tuple((name, *_counts(counts)) for name, counts in judges[:MOST_ROWS])
    more = len(judges) - len(shown)
    notes = (f"{more:,} further judges with fewer judgments are not shown.",) if more > 0 else ()
    blocks.append(Table(caption="By judge", columns=(Column(title="Judge"), *fates), rows=shown, notes=notes))
    return Section(title="Reasons", blocks=tuple(blocks))


def _counts(counts: Mapping[Fate, int]) -> tuple[int, ...]:
    return tuple(counts.get(fate, 0) for fate in FATES)


def _shown(picture: Picture) -> Iterator[Section]:
    """Judgments with their texts: those kept although wrong, and the doubtful ones."""
    wrong = sorted(picture.doubtful.wrong.values(), key=lambda one: one.place)
    doubtful = picture.doubtful.shown()
    value = {"probability": "probability", "agreement": "share of peers that agree"}.get(picture.by or "", "score")
    first = (
        f"The label of these judgments says that they are wrong, and they were kept: the first of each item, at most "
        f"{len(wrong)}. Errors that judges share cannot be seen in their agreement; meta-judges, labels and a "
        "calibration can."
    )
    second = (
        f"The {len(doubtful)} judgments that are nearest to another decision by their {value}, at most one of each "
        "item; what a policy sends to people comes first. A person who has read a result here no longer decides blind."
    )
    for title, shown, text in (("Kept although wrong", wrong, first), ("The doubtful ones", doubtful, second)):
        if shown:
            yield Section(title=title, paragraphs=(text,), blocks=tuple(exhibits(shown, picture)))


_USUAL: Final = {f"pairwise {DEFAULTS['pairwise']}"}
AGENT: Final = ("--agent", "openai:gpt-4o-mini")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run took place, for its commands and its provenance.

    Attributes:
        words: placeholders of suggested commands -> what stands for them; see
            :func:`metajudge.vetting.explanation.explain`.
        command: the command line, without secrets; None for a call in Python.
        at: when, in words; None to leave it out.
        note: a sentence on what was vetted, such as that it is a made-up sample.
    """

    inputs: Sequence[str] = ()
    words: Mapping[str, str] | None = None
    command: str | None = None
    at: str | None = None
    note: str = ""


def told_of(summary: VetSummary, labels: Counts, how: str, place: Place) -> Told:
    """What a report tells of a run, from its counts; ``how`` says what vetted, as
    :func:`metajudge.vetting.sentences.vetted_by` does.
    """
    words = place.words or {}
    reasons = [one if one.next is None else replace(one, next=filled(one.next, words)) for one in summary.reasons]
    said = [line.strip() for line in (*form_lines(summary), *evidence_lines(summary), *calibration_lines(summary))]
    said += [filled(line.strip(), words) for line in decision_lines(summary)]
    rules = ", ".join(sorted({f"{kind} {rule}" for kind, rule in labels.rules.items()} - _USUAL))
    return Told(
        answer=tuple(f"{line[:1].upper()}{line[1:]}." for line in answer_lines(summary, labels)),
        how=(f"{how}.", *([place.note] if place.note else [])),
        no_verdict=summary.counts.without_verdict,
        bad_lines=summary.bad_lines,
        repeated=summary.duplicates,
        reasons=reasons,
        said=[line for line in said if line],
        cost=[line for line in cost_lines(summary) if line],
        next=_next(summary, labels, place),
        rows=labels.rows() if labels.labelled else {},
        not_compared=without_comparison(labels),
        right="" if labels.rules is DEFAULTS else rules,
        provenance=_provenance(summary, place),
    )


def _next(summary: VetSummary, labels: Counts, place: Place) -> list[tuple[str, str]]:
    """What to do next, the most useful first, each as a command that can be copied."""
    if not place.inputs:
        return []
    store = shlex.split((place.words or {}).get("STORE", ""))
    found = []
    if summary.gathered.by_evidence:
        found.append(("What meta-judges would cost", command("vet", place.inputs, AGENT, "--dry-run")))
    if not summary.calibrated and labels.labelled:
        found.append(("What the labels say of the judges, and what to do next", command("audit", place.inputs)))
    if summary.store is not None and summary.gathered.pairs_kept:
        found.append(("Preference pairs of what was kept", command("export", "preferences", "--out", "pairs", store)))
    if summary.store is not None:
        found.append(("All about one judgment", command("show", "JUDGMENT_ID", store)))
    return found


def _provenance(summary: VetSummary, place: Place) -> dict[str, str]:
    found = {
        "Command": place.command,
        "Input": ", ".join(place.inputs) or None,
        "Made": place.at,
        "Run": summary.run_id,
        "Store": summary.store,
        "metajudge": __version__,
        "Intervals": "95 %, by question (metajudge.stats.clustered)",
    }
    return {name: text for name, text in found.items() if text}
