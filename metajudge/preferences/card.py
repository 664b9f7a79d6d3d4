"""The dataset card: what the rows are, how they were vetted, what was dropped and why, and what to beware of."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from metajudge.preferences.formats import Column, columns_of
from metajudge.preferences.request import ExportRequest, Format, Kind, Pairing, Reconcile
from metajudge.preferences.workspace import FunnelStep
from metajudge.types import digest

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_RULES = {
    Reconcile.UNANIMOUS: "**unanimous**: every kept verdict on the two responses, in either order and by every judge, "
    "names the same one; a tie among them is a conflict.",
    Reconcile.MAJORITY: "**majority**: a judge counts once, by the sum of its verdicts' signs; more than half of the "
    "judges name the response, those that come out even counted among all.",
}
_PAIRINGS = {
    Pairing.BEST_WORST: "one pair a prompt, the best kept judgment over the worst discarded one",
    Pairing.ALL: "every kept judgment over every discarded one",
    Pairing.ONE_PER_JUDGE: "one pair a prompt and judge, the judge's best kept judgment over the worst discarded one",
}


def card(
    request: ExportRequest,
    stats: Mapping[str, Any],
    steps: Sequence[FunnelStep],
    sources: Sequence[str],
    files: Mapping[str, Mapping[str, Any]],
) -> str:
    """The whole of ``README.md``.

    Args:
        files: data file -> its ``bytes``, ``rows`` and ``sha256``.
    """
    sections = [
        f"---\n{_header(request, stats, files)}---\n",
        f"# {_title(request)}\n",
        _overview(request, stats),
        _vetting(request, stats),
        _counts(steps, stats["read"]),
        _columns(request, graded=stats["from_grades"]),
        _lengths(stats),
        _sources(request, sources, stats),
        _biases(request, stats),
    ]
    return "\n".join(sections)


def _title(request: ExportRequest) -> str:
    what = "responses" if request.kind is Kind.RESPONSES else "judgments"
    return f"Preferences between {what}, from vetted verdicts"


def _header(request: ExportRequest, stats: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    rows = sum(part["rows"] for part in stats["splits"].values())
    ending = "jsonl" if request.format is Format.JSONL else "parquet"
    data = {
        "pretty_name": _title(request),
        "license": "other",
        "license_name": "see-sources",
        "task_categories": ["text-generation"],
        "tags": ["preference", "kto" if request.format is Format.KTO else "dpo", "trl", "metajudge"],
        "size_categories": [next((name for size, name in _SIZES if rows < size), "1M<n<10M")],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": part, "path": f"data/{part}-*.{ending}"} for part in request.parts],
            }
        ],
        "dataset_info": {
            "description": f"Content digest: {digest({name: file['sha256'] for name, file in files.items()})}",
            "features": [_feature(column) for column in columns_of(request)],
            "splits": [_split(part, files) for part in request.parts],
        },
    }
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1_000)


def _split(part: str, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A split's size; ``datasets`` finds an earlier export in its cache by the folder's name and by these figures."""
    own = [file for name, file in files.items() if name.startswith(f"data/{part}-")]
    return {
        "name": part,
        "num_bytes": sum(one["bytes"] for one in own),
        "num_examples": sum(one["rows"] for one in own),
    }


def _feature(column: Column) -> dict[str, Any]:
    match column.kind:
        case "strings":
            return {"name": column.name, "list": "string"}
        case "messages":
            fields = [{"name": "role", "dtype": "string"}, {"name": "content", "dtype": "string"}]
            return {"name": column.name, "list": fields}
    return {"name": column.name, "dtype": column.kind}


def _overview(request: ExportRequest, stats: Mapping[str, Any]) -> str:
    parts = "\n".join(
        f"| {part} | {stats['splits'].get(part, {}).get('rows', 0):,} | "
        f"{stats['splits'].get(part, {}).get('clusters', 0):,} | {fraction:g} |"
        for part, fraction in request.parts.items()
    )
    if request.kind is Kind.RESPONSES:
        how = f"Several verdicts on one pair were reconciled first, by the rule {_RULES[request.reconcile]}"
        how = f"{_graded(request)} {how}" if stats["from_grades"] else how
    else:
        how = (
            f"The prompt is what the judge saw: question and responses in its order, under its labels. Pairing: "
            f"{_PAIRINGS[request.pairing]}, "
            + ("also" if request.quality_pairs else "never")
            + " where both name the same winner. "
            + ("Right by the label is chosen over wrong by it." if request.by_label else "")
        )
        if request.format is Format.KTO:
            how = "Every judgment is a row of its own, a desired or an undesired answer to what the judge saw."
    return (
        f"Made by metajudge {stats['metajudge_version']} in format `{request.format}`, "
        f"from judgments kept by these rules: {request.rule_sentence}. "
        f"{how}\n\n| split | rows | {stats.get('unit', 'question')} clusters | asked for |\n"
        f"| --- | ---: | ---: | ---: |\n{parts}\n\n"
        "Rows stand in the order of the input: shuffle them when training. "
        f"The same input with seed {request.seed} gives the same bytes.\n"
    )


def _graded(request: ExportRequest) -> str:
    mark = "" if request.pass_mark is None else f", or a grade of at least {request.pass_mark:g}"
    if request.format is Format.KTO:
        return (
            "The rows are from grades and categories of single responses: desired is what a category calls a pass"
            f"{mark}; where no answer is a side, what is graded higher than another response to the same question."
        )
    return (
        "The rows are from grades of single responses: of two responses to the same question that one judge graded, "
        "the higher one is chosen. A category counts by its place on the item's scale, or as 1 (pass) or 0 (fail)."
    )


def _kinds(stats: Mapping[str, Any]) -> str:
    lines = ["| kind of verdict | judgments | kept |\n| --- | ---: | ---: |"]
    lines += [
        f"| {name.replace('_', ' ')} | {count['judgments']:,} | {count['kept']:,} |"
        for name, count in stats["kinds"].items()
    ]
    return "\n".join(lines) + "\n"


def _vetting(request: ExportRequest, stats: Mapping[str, Any]) -> str:
    lines = ["## How the verdicts were vetted\n", f"Kept: {request.rule_sentence}.\n"]
    lines += [_kinds(stats), _decisions(stats["decisions"], stats["rows_outside_guarantee"])]
    lines += [f"{sentence}\n" for sentence in stats["guarantees"]]
    lines.append(
        "| judgments | strategy | meta-judges | rubric | threshold | calibration |\n"
        "| ---: | --- | --- | --- | ---: | --- |"
    )
    for panel in stats["vetting"]:
        rubric = "none" if panel["rubric"] is None else f"{panel['rubric']} (`{(panel['rubric_digest'] or '')[:12]}`)"
        calibration = "none" if panel["calibration"] is None else f"`{panel['calibration']}`"
        threshold = "" if panel["threshold"] is None else f"{panel['threshold']:g}"
        lines.append(
            f"| {panel['judgments']:,} | {panel['strategy'] or 'not vetted'} | {_cell(panel['agents']) or 'none'} | "
            f"{_cell(rubric)} | {threshold} | {calibration} |"
        )
    return "\n".join(lines) + "\n"


def _decisions(decided: Mapping[str, Any], rows_outside: int | None) -> str:
    """Who kept and dropped the judgments, people and policies before the rule."""
    if decided["ignored"]:
        return "**Decisions of people and policies were ignored**, as requested when this dataset was made.\n"
    kept, dropped = decided["kept"], decided["dropped"]
    lines = [
        "What people decided comes first, then a policy's newest action, then the rule.\n",
        "| judgments | by people | by a policy | by the rule | waiting for review |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| kept | {kept['people'] + kept['people_corrected']:,} | {kept['policy']:,} | {kept['rule']:,} | |",
        f"| dropped | {dropped['people']:,} | {dropped['policy']:,} | {dropped['rule']:,} | "
        f"{dropped['waiting_for_review']:,} |",
    ]
    if kept["people_corrected"]:
        lines.append(
            f"\nIn {kept['people_corrected']:,} of these a person's verdict replaces the judge's; they are "
            "marked `people_corrected` in the column `kept_by`."
        )
    if decided["outside_guarantee"]:
        lines.append(
            f"\n{decided['outside_guarantee']:,} of the judgments kept were kept by people or a policy alone: they do "
            f"not reach the guaranteed threshold. The guarantee does not cover their {rows_outside:,} rows."
        )
    return "\n".join(lines) + "\n"


def _counts(steps: Sequence[FunnelStep], read: Mapping[str, Any]) -> str:
    lines = [
        "## What was dropped, and why\n",
        "| step | counted | before | after | dropped |\n| --- | --- | ---: | ---: | --- |",
    ]
    for step in steps:
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in step.dropped.items() if count) or "none"
        lines.append(f"| {step.name} | {step.unit} | {step.before:,} | {step.after:,} | {dropped} |")
    if read["conflicting_items"]:
        ids = read["conflicting_item_ids"]
        more = "" if len(ids) == read["conflicting_items"] else f" and {read['conflicting_items'] - len(ids):,} more"
        lines.append(
            f"\n{read['conflicting_items']:,} item ids stand for two different contents and were left out: "
            + ", ".join(f"`{_cell(one)}`" for one in ids)
            + f"{more}."
        )
    return "\n".join(lines) + "\n"


def _columns(request: ExportRequest, *, graded: bool) -> str:
    lines = ["## Columns\n", "| column | type | meaning |\n| --- | --- | --- |"]
    lines += [f"| `{one.name}` | {one.kind} | {one.meaning} |" for one in columns_of(request)]
    if graded:
        margin = (
            "`margin` is the mean difference of the two responses' grades, on the grades' own scale; `strength` is "
            "absent."
        )
        scores = "`score_chosen` and `score_rejected` are the mean grades."
    elif request.kind is Kind.RESPONSES:
        margin = (
            "`margin` is the mean signed strength of the kept verdicts towards the chosen response (2 for much better, "
            "1 for better, 0 for a tie), in (0, 2]."
        )
        scores = "`score_chosen` and `score_rejected` are (2 + margin) / 4 and (2 - margin) / 4."
    else:
        margin = "`margin` is the chosen judgment's probability (or score) minus the rejected one's."
        scores = "`score_chosen` and `score_rejected` are the judgments' probabilities, or scores without one."
    lines.append("\n" + margin + (" " + scores if request.format is Format.ULTRAFEEDBACK else ""))
    return "\n".join(lines) + "\n"


def _lengths(stats: Mapping[str, Any]) -> str:
    lines = ["## Length of chosen against rejected (characters)\n"]
    if not stats["lengths"]["after"]["pairs"]:
        return "\n".join([*lines, "The rows are not pairs.\n"])
    lines.append("| | before balancing | in the files |\n| --- | ---: | ---: |")
    before, after = stats["lengths"]["before"], stats["lengths"]["after"]
    lines += [f"| {name.replace('_', ' ')} | {_figure(before[name])} | {_figure(after[name])} |" for name in before]
    return "\n".join(lines) + "\n"


def _sources(request: ExportRequest, sources: Sequence[str], stats: Mapping[str, Any]) -> str:
    lines = ["## Sources and licences\n", *(f"- {source}" for source in sources)]
    lines += [f"- licence, as given by the dataset's author: {licence}" for licence in request.licences]
    if not request.licences:
        lines.append(
            "- licence: **not given**. The texts keep the licences of their sources, and of the models that wrote "
            "them: find out before you share or train."
        )
    if stats["decontaminated_against"]:
        lines.append(
            f"- no row shares {request.ngram} words in a row with an item of: "
            + ", ".join(stats["decontaminated_against"])
        )
    return "\n".join(lines) + "\n"


def _biases(request: ExportRequest, stats: Mapping[str, Any]) -> str:
    after = stats["lengths"]["after"]
    lines = ["## Known biases\n"]
    if request.max_length is not None:
        lines.append(
            f"- Pairs whose prompt and answer are the same in their first {request.max_length:,} characters were "
            "dropped: a trainer that cuts there would see two equal texts. Tokens were not counted."
        )
    if after["chosen_longer"] is not None:
        longer = 100 * after["chosen_longer"]
        lines.append(
            f"- Length: the chosen text is the longer one in {longer:.1f} % of the pairs that differ in length"
            + (
                " (balanced)."
                if request.balance_length
                else "; a model may learn to write more. See `--balance-length`."
            )
        )
    lines += [
        "- The judges' own biases (position, verbosity, style, their own family's answers) remain where every kept "
        "verdict shares them; vetting lowers the share of wrong verdicts, it does not make it zero.",
        "- Selection: what is kept is easier than what is not. Ties, doubtful and contested items are missing.",
        "- Truncated texts are found by the provider's word and by how they end: some remain, some whole ones are "
        "gone.",
    ]
    if request.personal_data == "leave":
        lines.append("- Personal data and secrets were not looked for.")
    else:
        lines.append(
            "- Personal data and secrets were looked for by patterns alone; names and addresses are not found."
        )
    if not request.dedupe:
        lines.append("- Near duplicates were not removed, only exact ones.")
    return "\n".join(lines) + "\n"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}"


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("\n", " ")
