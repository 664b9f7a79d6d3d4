"""What ``--dry-run`` prints."""

from collections.abc import Mapping

import orjson
import typer

from metajudge.runs.estimate import Estimate


def print_estimate(estimate: Estimate, work: str, as_json: bool, counts: Mapping[str, object] | None = None) -> None:
    """Prints the estimate of a run.

    Args:
        work: what would be asked, such as "3 items, 12 judgments, as many calls".
        counts: printed before the estimate's own, as JSON.
    """
    if as_json:
        typer.echo(orjson.dumps({**(counts or {}), **estimate.to_json()}).decode())
        return
    cost = "unknown" if estimate.cost_usd is None else f"${estimate.cost_usd:.4f}"
    typer.echo(
        f"Dry run, nothing sent: {work}, about {estimate.input_tokens:,} input and {estimate.output_tokens:,} output "
        f"tokens, cost {cost}"
    )
    if estimate.unpriced:
        typer.echo(f"Unknown price for {', '.join(estimate.unpriced)}: set one in a panel file.")
