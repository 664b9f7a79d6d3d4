"""The dataset card: what the rows are, how they were vetted, what was dropped and why, and what to beware of."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import yaml

from metajudge.exports.formats import Column, columns_of
from metajudge.exports.request import ExportRequest, Format, Pairing, Reconcile
from metajudge.types import digest

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_SUMS = {"num_bytes": "bytes", "num_examples": "rows"}
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

_CARD = """\
{% set after = stats.lengths.after %}
{% set decided = stats.decisions %}
---
{{ header }}---

# {{ title }}

Made by metajudge {{ stats.metajudge_version }} in format `{{ request.format }}`, from judgments kept by these rules: \
{{ request.rule_sentence }}. {{ "" }}
{%- if request.kind == "judgments" and request.format == "kto" -%}
Every judgment is a row of its own, a desired or an undesired answer to what the judge saw.
{%- elif request.kind == "judgments" -%}
The prompt is what the judge saw: question and responses in its order, under its labels. Pairing: {{ \
pairings[request.pairing] }}, {{ "also" if request.quality_pairs else "never" }} where both name the same winner. {{ \
"Right by the label is chosen over wrong by it." if request.by_label }}
{%- else -%}
{%- if stats.from_grades and request.format == "kto" -%}
The rows are from grades and categories of single responses: desired is what a category calls a pass{% if \
request.pass_mark is not none %}, or a grade of at least {{ request.pass_mark | g }}{% endif %}; where no answer is a \
side, what is graded higher than another response to the same question. {{ "" }}
{%- elif stats.from_grades -%}
The rows are from grades of single responses: of two responses to the same question that one judge graded, the higher \
one is chosen. A category counts by its place on the item's scale, or as 1 (pass) or 0 (fail). {{ "" }}
{%- endif -%}
Several verdicts on one pair were reconciled first, by the rule {{ rules[request.reconcile] }}
{%- endif %}


| split | rows | {{ stats.unit or "question" }} clusters | asked for |
| --- | ---: | ---: | ---: |
{% for part, fraction in request.parts.items() %}
| {{ part }} | {{ stats.splits[part].rows | n }} | {{ stats.splits[part].clusters | n }} | {{ fraction | g }} |
{% endfor %}

Rows stand in the order of the input: shuffle them when training. The same input with seed {{ request.seed }} gives \
the same bytes.

## How the verdicts were vetted

Kept: {{ request.rule_sentence }}.

| kind of verdict | judgments | kept |
| --- | ---: | ---: |
{% for name, count in stats.kinds.items() %}
| {{ name | words }} | {{ count.judgments | n }} | {{ count.kept | n }} |
{% endfor %}

{% if decided.ignored %}
**Decisions of people and policies were ignored**, as requested when this dataset was made.
{% else %}
What people decided comes first, then a policy's newest action, then the rule.

| judgments | by people | by a policy | by the rule | waiting for review |
| --- | ---: | ---: | ---: | ---: |
| kept | {{ (decided.kept.people + decided.kept.people_corrected) | n }} | {{ decided.kept.policy | n }} | {{ \
decided.kept.rule | n }} | |
| dropped | {{ decided.dropped.people | n }} | {{ decided.dropped.policy | n }} | {{ decided.dropped.rule | n }} | {{ \
decided.dropped.waiting_for_review | n }} |
{% if decided.kept.people_corrected %}

In {{ decided.kept.people_corrected | n }} of these a person's verdict replaces the judge's; they are marked \
`people_corrected` in the column `kept_by`.
{% endif %}
{% if decided.outside_guarantee %}

{{ decided.outside_guarantee | n }} of the judgments kept were kept by people or a policy alone: they do not reach \
the guaranteed threshold. The guarantee does not cover their {{ stats.rows_outside_guarantee | n }} rows.
{% endif %}
{% endif %}

{% for sentence in stats.guarantees %}
{{ sentence }}

{% endfor %}
| judgments | strategy | meta-judges | rubric | threshold | calibration |
| ---: | --- | --- | --- | ---: | --- |
{% for panel in stats.vetting %}
| {{ panel.judgments | n }} | {{ panel.strategy or "not vetted" }} | {{ panel.agents | cell or "none" }} | {% if \
panel.rubric is none %}none{% else %}{{ (panel.rubric ~ " (`" ~ (panel.rubric_digest or "")[:12] ~ "`)") | cell }}{% \
endif %} | {% if panel.threshold is not none %}{{ panel.threshold | g }}{% endif %} | {% if panel.calibration is none \
%}none{% else %}`{{ panel.calibration }}`{% endif %} |
{% endfor %}

## What was dropped, and why

| step | counted | before | after | dropped |
| --- | --- | ---: | ---: | --- |
{% for step in stats.steps %}
| {{ step.step }} | {{ step.unit }} | {{ step.before | n }} | {{ step.after | n }} | {% for reason, count in \
step.dropped.items() %}{{ count | n }} {{ reason }}{{ ", " if not loop.last }}{% else %}none{% endfor %} |
{% endfor %}
{% if stats.read.conflicting_items %}
{% set ids = stats.read.conflicting_item_ids %}

{{ stats.read.conflicting_items | n }} item ids stand for two different contents and were left out: {% for one in ids \
%}`{{ one | cell }}`{{ ", " if not loop.last }}{% endfor %}{% if ids | length != stats.read.conflicting_items %} and \
{{ (stats.read.conflicting_items - ids | length) | n }} more{% endif %}.
{% endif %}

## Columns

| column | type | meaning |
| --- | --- | --- |
{% for one in columns %}
| `{{ one.name }}` | {{ one.kind }} | {{ one.meaning }} |
{% endfor %}

{% if stats.from_grades %}
`margin` is the mean difference of the two responses' grades, on the grades' own scale; `strength` is absent.
{%- set scores = "`score_chosen` and `score_rejected` are the mean grades." %}
{% elif request.kind == "responses" %}
`margin` is the mean signed strength of the kept verdicts towards the chosen response (2 for much better, 1 for \
better, 0 for a tie), in (0, 2].
{%- set scores = "`score_chosen` and `score_rejected` are (2 + margin) / 4 and (2 - margin) / 4." %}
{% else %}
`margin` is the chosen judgment's probability (or score) minus the rejected one's.
{%- set scores = "`score_chosen` and `score_rejected` are the judgments' probabilities, or scores without one." %}
{% endif %}
{{- " " ~ scores if request.format == "ultrafeedback" }}

## Length of chosen against rejected (characters)

{% if after.pairs %}
| | before balancing | in the files |
| --- | ---: | ---: |
{% for name, before in stats.lengths.before.items() %}
| {{ name | words }} | {{ before | figure }} | {{ after[name] | figure }} |
{% endfor %}
{% else %}
The rows are not pairs.
{% endif %}

## Sources and licences

{% for source in stats.sources %}
- {{ source }}
{% endfor %}
{% for licence in request.licences %}
- licence, as given by the dataset's author: {{ licence }}
{% else %}
- licence: **not given**. The texts keep the licences of their sources, and of the models that wrote them: find out \
before you share or train.
{% endfor %}
{% if stats.decontaminated_against %}
- no row shares {{ request.ngram }} words in a row with an item of: {{ stats.decontaminated_against | join(", ") }}
{% endif %}

## Known biases

{% if request.max_length is not none %}
- Pairs whose prompt and answer are the same in their first {{ request.max_length | n }} characters were dropped: a \
trainer that cuts there would see two equal texts. Tokens were not counted.
{% endif %}
{% if after.chosen_longer is not none %}
- Length: the chosen text is the longer one in {{ "%.1f" | format(100 * after.chosen_longer) }} % of the pairs that \
differ in length{{ " (balanced)." if request.balance_length else "; a model may learn to write more. See \
`--balance-length`." }}
{% endif %}
- The judges' own biases (position, verbosity, style, their own family's answers) remain where every kept verdict \
shares them; vetting lowers the share of wrong verdicts, it does not make it zero.
- Selection: what is kept is easier than what is not. Ties, doubtful and contested items are missing.
- Truncated texts are found by the provider's word and by how they end: some remain, some whole ones are gone.
{% if request.personal_data == "leave" %}
- Personal data and secrets were not looked for.
{% else %}
- Personal data and secrets were looked for by patterns alone; names and addresses are not found.
{% endif %}
{% if not request.dedupe %}
- Near duplicates were not removed, only exact ones.
{% endif %}
"""


def card(request: ExportRequest, stats: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole of ``README.md``.

    Args:
        stats: as in ``stats.json``.
        files: data file -> its ``bytes``, ``rows`` and ``sha256``.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: "" if value is None else value,
    )
    environment.filters |= {
        "n": "{:,}".format,
        "g": "{:g}".format,
        "figure": lambda value: "-" if value is None else f"{value:,.4g}",
        "cell": lambda text: (text or "").replace("|", "\\|").replace("\n", " "),
        "words": lambda name: name.replace("_", " "),
    }
    title = f"Preferences between {request.kind}, from vetted verdicts"
    splits = defaultdict(lambda: {"rows": 0, "clusters": 0}, stats["splits"])
    return environment.from_string(_CARD).render(
        header=_header(request, title, stats, files),
        title=title,
        request=request,
        stats={"unit": None, **stats, "splits": splits},
        columns=columns_of(request),
        rules=_RULES,
        pairings=_PAIRINGS,
    )


def _header(
    request: ExportRequest, title: str, stats: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]
) -> str:
    rows = sum(part["rows"] for part in stats["splits"].values())
    own = {part: [file for name, file in files.items() if name.startswith(f"data/{part}-")] for part in request.parts}
    ending = "jsonl" if request.format is Format.JSONL else "parquet"
    data = {
        "pretty_name": title,
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
            # ``datasets`` finds an earlier export in its cache by the folder's name and by these figures.
            "splits": [
                {
                    "name": part,
                    "num_bytes": sum(one["bytes"] for one in data),
                    "num_examples": sum(one["rows"] for one in data),
                }
                for part, data in own.items()
            ],
        },
    }
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1_000)


def _feature(column: Column) -> dict[str, Any]:
    match column.kind:
        case "strings":
            return {"name": column.name, "list": "string"}
        case "messages":
            fields = [{"name": "role", "dtype": "string"}, {"name": "content", "dtype": "string"}]
            return {"name": column.name, "list": fields}
    return {"name": column.name, "dtype": column.kind}
