"""Budget and batch options of the commands that ask models."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metajudge.providers.budget import Budget
from metajudge.providers.shared_budget import open_budget
from metajudge.types.location import StoreLocation

if TYPE_CHECKING:
    from metajudge.providers.batch_queue import BatchSettings

BudgetUsdOption = Annotated[float | None, typer.Option(help="Stop before spending more than this.")]
BudgetCallsOption = Annotated[
    int | None, typer.Option("--budget-calls", help="Stop before making more calls than this, retries included.")
]
BudgetTokensOption = Annotated[
    int | None, typer.Option("--budget-tokens", help="Stop before using more tokens than this, input and output.")
]
BudgetFileOption = Annotated[
    Path | None,
    typer.Option(
        "--budget-file",
        help="Share the budget with all commands that name this file, earlier ones included. Made if missing.",
        metavar="FILE",
    ),
]
BatchOption = Annotated[
    bool,
    typer.Option("--batch", help="Ask through the providers' batch APIs: half the price, an answer within a day."),
]
BatchWaitOption = Annotated[
    float | None,
    typer.Option(
        "--batch-wait",
        help="Seconds without progress after which to stop waiting for batches (0: submit and exit); the same "
        "command collects them. Default: wait.",
        min=0,
    ),
]
BatchLiveBelowOption = Annotated[
    int,
    typer.Option(
        "--batch-live-below",
        help="Send rounds of fewer requests live, at full price, such as the repairs after a batch.",
        min=0,
    ),
]
BatchSizeOption = Annotated[
    int | None, typer.Option("--batch-size", help="Requests in one batch; default what the provider allows.", min=1)
]
BatchPollOption = Annotated[
    float, typer.Option("--batch-poll", help="Longest time between two polls of a batch, in seconds.", min=0.01)
]

DEFAULT_POLL_S = 300.0


def budget_of(usd: float | None, calls: int | None, tokens: int | None, file: Path | None) -> Budget:
    """The budget of a command; close it at the end.

    Raises:
        ConfigurationError: a limit that is not positive, or a file that is not a ledger.
    """
    return open_budget(usd, calls, tokens, file)


def batches_of(
    store: StoreLocation,
    batch: bool,
    *,
    wait_s: float | None = None,
    live_below: int = 0,
    size: int | None = None,
    poll_s: float = DEFAULT_POLL_S,
) -> "BatchSettings | None":
    """How batches are made, None where calls are made live.

    Raises:
        BadParameter: options about batches without ``--batch``.
    """
    given = {"--batch-wait": wait_s, "--batch-live-below": live_below or None, "--batch-size": size}
    if not batch:
        useless = [name for name, value in given.items() if value is not None]
        if useless:
            raise typer.BadParameter(f"{', '.join(useless)} needs --batch: add it, or leave the option out")
        return None
    from metajudge.providers.batch_queue import BatchSettings  # imports much that a live run does not need

    return BatchSettings(
        folder=batch_folder(store),
        wait_s=wait_s,
        live_below=live_below,
        max_requests=size,
        linger_s=min(1.0, poll_s),
        first_poll_s=min(10.0, poll_s),
        longest_poll_s=poll_s,
    )


def batch_folder(store: StoreLocation) -> Path:
    """Folder of pending batches: beside the store's file, or in the current folder for a store on a server."""
    return Path(f"{store if isinstance(store, Path) else 'metajudge'}.batches")


@dataclass(frozen=True, slots=True)
class Sending:
    """Budget and batch settings of a command."""

    budget_usd: BudgetUsdOption = None
    budget_calls: BudgetCallsOption = None
    budget_tokens: BudgetTokensOption = None
    budget_file: BudgetFileOption = None
    batch: BatchOption = False
    batch_wait: BatchWaitOption = None
    batch_live_below: BatchLiveBelowOption = 0
    batch_size: BatchSizeOption = None
    batch_poll: BatchPollOption = DEFAULT_POLL_S

    def budget(self) -> Budget:
        """The budget; see :func:`budget_of`."""
        return budget_of(self.budget_usd, self.budget_calls, self.budget_tokens, self.budget_file)

    def batches(self, store: StoreLocation) -> "BatchSettings | None":
        """How batches are made; see :func:`batches_of`."""
        return batches_of(
            store,
            self.batch,
            wait_s=self.batch_wait,
            live_below=self.batch_live_below,
            size=self.batch_size,
            poll_s=self.batch_poll,
        )
