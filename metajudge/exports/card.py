"""The dataset card: what the rows are, how they were vetted, what was dropped and why, and what to beware of."""

from collections import defaultdict
from collections.abc import Mapping
from importlib import resources
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
    template = (resources.files("metajudge.exports") / "card.md.j2").read_text("utf-8")
    return environment.from_string(template).render(
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
