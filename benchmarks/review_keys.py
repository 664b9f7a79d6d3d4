"""What a decision costs a reviewer: keys and page loads, measured on the review page; other tools' from documentation.

    python -m metajudge.benchmarks.review_keys [--decisions 40] [--slip 0.05] [--noticed 0.8]

Measured: a service is started on a store of made-up judgments, and a reviewer that is a program decides them in
Debian's chromium by keyboard alone. It knows the right answer of each. With probability ``--slip`` it presses the key
beside it; with probability ``--noticed`` it sees that on the next page and undoes it. Keys and page loads are counted
in the browser, and the store says afterwards which decisions are wrong.

Counted: the keys that the documentation of four other tools names for the same decision. Those servers are not run.
Times of these are a model, not a measurement: keystroke-level operators of Card, Moran and Newell (1980), "The
keystroke-level model for user performance time with interactive systems", CACM 23(7), average typist: K = 0.28 s a
key, P = 1.1 s to point, B = 0.1 s to press or release a button. Reading and deciding take as long everywhere and are
left out.
"""

import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.reviews.opening import review_of
from metajudge.store import open_store
from metajudge.types import Assessment, Item, Judgment, Status
from metajudge.types.decision import Action, Decision, DecisionInputs
from metajudge.types.verdict import Pairwise

from .service import free_port, process

KEY_S, POINT_S, PRESS_S = 0.28, 1.1, 0.2
NOW = 1_790_000_000.0


@dataclass(frozen=True, slots=True)
class Documented:
    """What a tool's documentation says a decision between labels takes.

    Attributes:
        keys: pressed for one decision and to come to the next, keys held included; None where no key is documented.
        clicks: of the pointer, where there is no key; ``points`` to places.
        undo: what the documentation says of taking a decision back.
        source: where the shortcuts are documented.
    """

    tool: str
    keys: int | None
    clicks: int
    undo: str
    source: str

    @property
    def seconds(self) -> float | None:
        """Motor time of a decision by the keystroke-level model; None where no decision is documented."""
        if self.keys is None and not self.clicks:
            return None
        return (self.keys or 0) * KEY_S + self.clicks * (POINT_S + PRESS_S)


DOCUMENTED = (
    Documented("promptfoo, web viewer", None, 1, "not documented", "promptfoo.dev/docs/usage/web-ui"),
    Documented("Inspect, log viewer", None, 0, "no decision is documented", "inspect.aisi.org.uk/log-viewer.html"),
    Documented(
        "Langfuse, annotation queue",
        3,  # a number, then Ctrl and Enter
        0,
        "go back, score again",
        "langfuse.com/docs/evaluation/evaluation-methods/annotation-queues",
    ),
    Documented("Argilla, focus view", 2, 0, "not documented", "docs.argilla.io/dev/how_to_guides/annotate"),
)
"""promptfoo marks a cell by a pointer; Argilla takes a label's number and Enter. Looked up on 2026-11-23."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One session on the review page.

    Attributes:
        decisions: made; ``slips`` of them with a wrong key at first.
        keys: pressed for them, those of undoing included; ``loads``: pages that the browser loaded meanwhile.
        wrong: decisions in the store that are not what the reviewer meant.
        seconds: wall time from the first key to the last page.
    """

    decisions: int
    slips: int
    keys: int
    loads: int
    wrong: int
    seconds: float


def made(number: int) -> tuple[Judgment, Assessment]:
    """A judgment and its assessment, which a policy sent to people."""
    first, second = f"The sum is {2 * number}.", f"The sum is {2 * number + 1}."
    item = Item(id=f"item-{number}", question=f"What is {number} + {number}?", responses={"A": first, "B": second})
    judgment = Judgment(
        id=f"j{number}", item=item, judge="owl", verdict=Pairwise("A", "B", 1), rationale="I added.", order=("A", "B")
    )
    decision = Decision(
        action=Action.REVIEW,
        policy="verdict_score",
        policy_digest="d" * 64,
        justification="in the middle band",
        inputs=DecisionInputs(basis="score", value=3.5, confidence=0.6, confidence_rule="same_side"),
        band=1,
        margin=0.1,
    )
    return judgment, Assessment(
        judgment_id=judgment.id,
        item_id=item.id,
        judge=judgment.judge,
        status=Status.ASSESSED,
        final_score=3.5,
        accepted=False,
        agents=(),
        strategy="weighted_average",
        threshold=4.5,
        panel_digest="p" * 64,
        judgment_digest=judgment.digest,
        decision=decision,
        metajudge_version="0",
    )


async def fill(path: Path, count: int) -> None:
    """Stores judgments with an open review of each."""
    store = await open_store(path)
    try:
        for number in range(count):
            judgment, assessment = made(number)
            await store.save_assessment(f"key {number}", judgment, assessment, "run-1")
            review = review_of(judgment, assessment, now=NOW + number, scale=(1, 5))
            await store.reviews.open([] if review is None else [review])
    finally:
        await store.close()


class Reviewer:
    """Approves every other judgment and rejects the rest, by keyboard, with slips.

    Args:
        page: a browser's page, on the queue of the service.
        slip: probability of the wrong key; ``noticed``: that it is seen on the next page.
    """

    def __init__(self, page: Any, rng: random.Random, slip: float, noticed: float) -> None:
        self._page = page
        self._rng = rng
        self._slip, self._noticed = slip, noticed
        self.keys = self.slips = self.loads = 0
        self.meant: dict[str, str] = {}
        page.on("load", self._loaded)

    def _loaded(self, *_: Any) -> None:
        self.loads += 1

    def press(self, key: str) -> None:
        """Presses a key and waits for the page it leads to."""
        with self._page.expect_navigation():
            self._page.keyboard.press(key)
        self.keys += 1

    def decide(self, number: int) -> None:
        """Decides the review that the page shows."""
        review = self._page.url.partition("?")[0].rpartition("/")[2]
        right, wrong = ("a", "r") if number % 2 else ("r", "a")
        self.meant[review] = {"a": "approve", "r": "reject"}[right]
        if self._rng.random() >= self._slip:
            self.press(right)
            return
        self.slips += 1
        self.press(wrong)
        if self._rng.random() < self._noticed:
            for key in ("z", right, "n"):  # undo, decide again, go on
                self.press(key)


@contextmanager
def browser_page(address: str) -> Iterator[Any]:
    """A page of Debian's chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(base_url=address)
        page.set_default_timeout(15_000)
        yield page
        browser.close()


def session(address: str, decisions: int, slip: float, noticed: float, seed: int) -> Measured:
    """One reviewer's session on a service's review pages."""
    with browser_page(address) as page:
        page.goto("/reviews")
        page.fill("input[name=reviewer]", "Ada")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-key=n]")
        reviewer = Reviewer(page, random.Random(seed), slip, noticed)
        page.keyboard.press("n")
        page.wait_for_url("**/reviews/*")
        page.wait_for_selector(".pick")
        reviewer.loads = 0
        started = time.monotonic()
        for number in range(decisions):
            reviewer.decide(number)
        seconds = time.monotonic() - started
        wrong = 0
        for review, meant in reviewer.meant.items():
            state = page.request.get(f"/v1/reviews/{review}").json()["state"]
            wrong += [one["outcome"] for one in state["decisions"]] != [meant]
        return Measured(decisions, reviewer.slips, reviewer.keys, reviewer.loads, wrong, seconds)


def table(found: Measured) -> list[str]:
    """The lines of the table, in Markdown."""
    lines = [
        "| tool | keys a decision | clicks | page loads | motor time, modelled | undo | how it is known |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        f"| metajudge, review page | {found.keys / found.decisions:.2f} | 0 | {found.loads / found.decisions:.2f} | "
        f"{found.keys / found.decisions * KEY_S:.2f} s | `z`, the right key, `n` | measured, {found.decisions} "
        f"decisions with {found.slips} slips, {found.wrong} left wrong |",
    ]
    for one in DOCUMENTED:
        seconds = "none" if one.seconds is None else f"{one.seconds:.2f} s"
        keys = "none documented" if one.keys is None else str(one.keys)
        lines.append(
            f"| {one.tool} | {keys} | {one.clicks} | not known | {seconds} | {one.undo} | counted from its "
            f"documentation ({one.source}), not measured |"
        )
    return lines


def main(
    decisions: Annotated[int, typer.Option(min=1, help="Decisions of the session.")] = 40,
    slip: Annotated[float, typer.Option(min=0, max=1, help="Probability of a wrong key.")] = 0.05,
    noticed: Annotated[float, typer.Option(min=0, max=1, help="Probability that a slip is seen afterwards.")] = 0.8,
    seed: Annotated[int, typer.Option(help="Of the slips.")] = 1,
) -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(fill(folder / "s.duckdb", decisions + 1))
        port = free_port()
        command = [sys.executable, "-m", "metajudge", "serve", "--port", str(port), "--store", str(folder / "s.duckdb")]
        with process(command, port, folder / "serve.log"):
            found = session(f"http://127.0.0.1:{port}", decisions, slip, noticed, seed)
    print("\n".join(table(found)))
    print(
        f"\n{found.decisions} decisions in {found.seconds:.1f} s of wall time, {found.keys} keys, {found.loads} page "
        f"loads, {found.slips} slips, {found.wrong} decisions wrong in the store."
    )


if __name__ == "__main__":
    typer.run(main)
