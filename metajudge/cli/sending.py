"""Budget and batch options of the commands that ask models, and what ``--dry-run`` prints."""

import contextlib
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import orjson
import typer

from metajudge.cli.loop import run, say, stop_on_interrupt
from metajudge.cli.options import ConcurrencyOption, takes
from metajudge.providers.budget import Budget
from metajudge.providers.shared_budget import open_budget
from metajudge.providers.spec import parse_agent_spec, where_texts_go
from metajudge.runs.loop import Stop
from metajudge.types.location import StoreLocation

if TYPE_CHECKING:
    from metajudge.panels.config import AgentConfig, PanelConfig
    from metajudge.providers.batch_queue import BatchSettings
    from metajudge.runs.estimate import Estimate
    from metajudge.runs.progress import Progress
    from metajudge.runs.totals import RunTotals
    from metajudge.session import Session

T = TypeVar("T")
STARTED = time.monotonic()
BudgetUsdOption = Annotated[float | None, typer.Option(help="Stop before spending more than this.")]


@dataclass(frozen=True, slots=True)
class Spending:
    """Budget of a command, and how much it asks at once."""

    concurrency: ConcurrencyOption = None
    budget_usd: BudgetUsdOption = None
    budget_calls: Annotated[
        int | None, typer.Option(help="Stop before making more calls than this, retries included.")
    ] = None
    budget_tokens: Annotated[
        int | None, typer.Option(help="Stop before using more tokens than this, input and output.")
    ] = None
    budget_file: Annotated[
        Path | None,
        typer.Option(
            help="Share the budget with all commands that name this file, earlier ones included. Made if missing.",
            metavar="FILE",
        ),
    ] = None

    def budget(self) -> Budget:
        """The budget; close it at the end.

        Raises:
            ConfigurationError: a limit that is not positive, or a file that is not a ledger.
        """
        return open_budget(self.budget_usd, self.budget_calls, self.budget_tokens, self.budget_file)

    @contextlib.contextmanager
    def session(self, panel: "PanelConfig", store: StoreLocation, command: str, **more: Any) -> "Iterator[Session]":
        """A session of a command under its budget, which is closed at the end.

        Args:
            more: further arguments of the session.
        """
        from metajudge.session import Session  # imports much that not every command needs

        with contextlib.closing(self.budget()) as budget:
            opened = partial(Session, panel=panel, store=store, command=command, notify=say)
            yield opened(concurrency=self.concurrency, budget=budget, **more)

    def run(
        self,
        task: "Callable[[Session, Stop, Progress], Coroutine[Any, Any, T]]",
        totals: "RunTotals",
        steps: int,
        panel: "PanelConfig",
        store: StoreLocation,
        command: str,
        **more: Any,
    ) -> T:
        """Runs a task in an open session with its progress shown; the first Ctrl-C lets calls in flight finish.

        Args:
            totals: of the task; the seconds of the whole command are noted in them.
            steps: what the progress counts to.
            panel, store, command, more: see :meth:`session`.
        """
        from metajudge.runs.progress import Progress  # as the session: not every command needs it

        stop = Stop()

        async def running(session: "Session") -> T:
            async with session:
                stop_on_interrupt(stop)
                with Progress(totals, session.meter, steps) as progress:
                    return await task(session, stop, progress)

        with self.session(panel, store, command, **more) as session:
            found = run(running(session))
        totals.total_s = time.monotonic() - STARTED
        return found


takes_budget = takes("spending", Spending)
"""Gives a command the options for its budget, as its argument ``spending``."""


@dataclass(frozen=True, slots=True)
class SpendingOnCases(Spending):
    """The same for commands that ask several questions about each case."""

    concurrency: ConcurrencyOption = 16


@dataclass(frozen=True, slots=True)
class Sending(Spending):
    """Budget and batch settings of a command."""

    batch: Annotated[
        bool,
        typer.Option("--batch", help="Ask through the providers' batch APIs: half the price, an answer within a day."),
    ] = False
    batch_wait: Annotated[
        float | None,
        typer.Option(
            help="Seconds without progress after which to stop waiting for batches (0: submit and exit); the same "
            "command collects them. Default: wait.",
            min=0,
        ),
    ] = None
    batch_live_below: Annotated[
        int,
        typer.Option(
            help="Send rounds of fewer requests live, at full price, such as the repairs after a batch.", min=0
        ),
    ] = 0
    batch_size: Annotated[
        int | None, typer.Option(help="Requests in one batch; default what the provider allows.", min=1)
    ] = None
    batch_poll: Annotated[
        float, typer.Option(help="Longest time between two polls of a batch, in seconds.", min=0.01)
    ] = 300.0

    def batches(self, store: StoreLocation) -> "BatchSettings | None":
        """How batches are made, None where calls are made live; they are kept beside the store's file, or here.

        Raises:
            BadParameter: options about batches without ``--batch``.
        """
        if not self.batch:
            given = {
                "--batch-wait": self.batch_wait,
                "--batch-live-below": self.batch_live_below or None,
                "--batch-size": self.batch_size,
            }
            useless = [name for name, value in given.items() if value is not None]
            if useless:
                raise typer.BadParameter(f"{', '.join(useless)} needs --batch: add it, or leave the option out")
            return None
        from metajudge.providers.batch_queue import BatchSettings  # imports much that a live run does not need

        return BatchSettings(
            folder=Path(f"{store if isinstance(store, Path) else 'metajudge'}.batches"),
            wait_s=self.batch_wait,
            live_below=self.batch_live_below,
            max_requests=self.batch_size,
            linger_s=min(1.0, self.batch_poll),
            first_poll_s=min(10.0, self.batch_poll),
            longest_poll_s=self.batch_poll,
        )


def say_where_texts_go(agents: "Iterable[AgentConfig]") -> None:
    """Says at which addresses agents would be asked."""
    if sentence := where_texts_go(parse_agent_spec(one.spec()) for one in agents):
        say(sentence)


def print_estimate(
    estimate: "Estimate",
    work: str,
    panel: "PanelConfig",
    task: str,
    as_json: bool = False,
    counts: Mapping[str, object] | None = None,
) -> None:
    """Prints the estimate of a run; on standard error where texts would go, and what of the panel is not used.

    Args:
        work: what would be asked, such as "3 items, 12 judgments, as many calls".
        counts: printed before the estimate's own, as JSON.
    """
    from metajudge.panels.config import unused_sections
    from metajudge.runs.estimate import THOUGHT_TOKENS

    if (unused := unused_sections(panel, task)) is not None:
        say(unused)
    if estimate.calls:
        say_where_texts_go(panel.models if task == "clash" else panel.all_agents)
    if as_json:
        typer.echo(orjson.dumps({**(counts or {}), **estimate.to_json()}).decode())
        return
    cost = "unknown" if estimate.cost_usd is None else f"${estimate.cost_usd:.4f}"
    typer.echo(
        f"Dry run, nothing sent: {work}, about {estimate.input_tokens:,} input and {estimate.output_tokens:,} output "
        f"tokens, cost {cost}"
    )
    most = "" if estimate.most_cost_usd is None else f" and ${estimate.most_cost_usd:.4f}"
    typer.echo(
        f"At most {estimate.most_calls:,} calls{most}, where every reply is asked for twice (repairs, more room)."
    )
    if estimate.reasoning:
        typer.echo(
            f"{', '.join(estimate.reasoning)} reasons before it answers: up to {THOUGHT_TOKENS:,} tokens of thoughts a "
            "reply are in the upper figure, none in the first one."
        )
    if estimate.unpriced:
        typer.echo(f"Unknown price for {', '.join(estimate.unpriced)}: set one in a panel file.")
