"""Checks of what a run needs: each says what it found, whether it matters, and what to do."""

import platform
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from metajudge.errors import ConfigurationError, MetajudgeError, StoreError
from metajudge.installation import NAMESAKE, PACKAGE, install_command, namesake
from metajudge.panels.building import build_vetter, spec_of
from metajudge.panels.config import PanelConfig, load_panel_file
from metajudge.providers.spec import PROVIDERS, AgentSpec, parse_agent_spec, where_texts_go
from metajudge.providers.stack import Resources
from metajudge.settings import Settings
from metajudge.store import open_store
from metajudge.types.location import StoreLocation

State = Literal["ok", "note", "warning", "error"]

DEPENDENCIES = ("aiohttp", "anthropic", "duckdb", "numpy", "openai", "pydantic", "scikit-learn", "scipy")

EXTRAS = {
    "api": "fastapi",
    "inputs": "datasets",
    "inspect": "inspect_ai",
    "mcp": "mcp",
    "otel": "opentelemetry",
    "postgres": "psycopg",
    "ray": "ray",
}
"""Extra -> a module that it brings."""

NETWORK_DRIVES = (
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gfs2", "ocfs2", "beegfs", "virtiofs"),
    *("fuse.sshfs", "fuse.glusterfs", "fuse.davfs", "fuse.davfs2", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse"),
)
"""Kinds of drives, as the system names them, that other machines may have too."""
WHOLE_BYTES = 1 << 30
"""A file up to this size is read to see whether it is whole."""
LOW_DISK_BYTES = 1 << 30
NO_DISK_BYTES = 100 << 20
REACH_TIMEOUT_S = 5.0
CLOCK_TOLERANCE_S = 300.0


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check; only an ``error`` means that a run cannot succeed."""

    name: str
    state: State
    finding: str


def check_python() -> Iterator[Check]:
    """The interpreter, this package and those it needs."""
    version = platform.python_version()
    old = sys.version_info < (3, 11)
    yield Check("python", "error" if old else "ok", f"{version} on {platform.system()}" + (": 3.11 is required" * old))
    found, missing = [], []
    for name in (PACKAGE, *DEPENDENCIES):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    yield Check("packages", "ok", ", ".join(found))
    if missing:
        yield Check("packages", "error", f"missing: {', '.join(missing)}; {install_command()}")
    other = namesake()
    if other is not None:
        yield Check(
            "packages",
            "error",
            f"{NAMESAKE} {other} is another project with the same import name, and its files may replace ours: "
            f"pip uninstall {NAMESAKE} {PACKAGE}, then {install_command()}",
        )


def check_extras() -> Iterator[Check]:
    """Which optional parts are installed."""
    there = [name for name, module in EXTRAS.items() if find_spec(module) is not None]
    absent = [name for name in EXTRAS if name not in there]
    yield Check("extras", "ok", f"installed: {', '.join(there) or 'none'}")
    if absent:
        yield Check("extras", "note", f"not installed: {', '.join(absent)}; {install_command(absent[0])}")


def check_keys(settings: Settings, panel: PanelConfig | None) -> Iterator[Check]:
    """For which providers there is a key, and which of the panel's are missing; a key itself is never shown."""
    there = [name for name in PROVIDERS if settings.has_key(name)]
    yield Check("keys", "ok" if there else "note", f"there are keys for: {', '.join(there) or 'no provider'}")
    for warning in settings.warnings:
        yield Check("keys", "warning", warning)
    for agent in () if panel is None else panel.models:
        try:
            settings.key_for(spec_of(agent))
        except ConfigurationError as error:
            yield Check("keys", "error", str(error))


def check_addresses(settings: Settings, panel: PanelConfig | None) -> Iterator[Check]:
    """Where texts for the panel's models would go; without a panel for those of each provider with a key."""
    for spec in _specs(settings, panel):
        try:
            yield Check("addresses", "ok", where_texts_go([spec]))
        except ConfigurationError as error:
            yield Check("addresses", "warning", str(error))


def _specs(settings: Settings, panel: PanelConfig | None) -> Iterator[AgentSpec]:
    if panel is not None and panel.models:
        yield from (parse_agent_spec(agent.spec()) for agent in panel.models)
    else:
        yield from (parse_agent_spec(f"{name}={name}:any") for name in PROVIDERS if settings.has_key(name))


def load_panel(path: Path | None) -> tuple[PanelConfig | None, list[Check]]:
    """The panel file, built without sending anything, and what is wrong with it."""
    if path is None:
        return None, [Check("panel", "note", "no panel file named (--config FILE); `metajudge init` writes one")]
    panel = None
    try:
        panel = load_panel_file(path)
        build_vetter(panel, Resources(key_for=lambda _spec: "not-sent"), early_exit=False)
    except MetajudgeError as error:
        return panel, [Check("panel", "error", str(error))]
    agents = ", ".join(agent.spec() for agent in panel.agents) or "no agents"
    return panel, [Check("panel", "ok", f"{path}: {panel.chosen_strategy}, {agents}, rubric {panel.rubric}")]


async def check_store(location: StoreLocation, now: float) -> list[Check]:
    """Whether the store opens and is whole, and whether it has records from the future."""
    if not location.exists():
        return [Check("store", "note", f"{location}: does not exist yet; the first run creates it")]
    try:
        store = await open_store(location)
        try:
            runs = await store.runs(1)
            if isinstance(location, Path) and location.stat().st_size <= WHOLE_BYTES:
                ((found,),) = await store.read(
                    lambda connection: connection.execute("PRAGMA quick_check(1)").fetchall()
                )
                if found != "ok":
                    raise StoreError(f"{location} is damaged: {found}. Restore it from a copy")
        finally:
            await store.close()
    except (StoreError, ConfigurationError) as error:
        return [Check("store", "error", str(error))]
    if runs and runs[0].started_at > now + CLOCK_TOLERANCE_S:
        finding = f"the newest run in {location} began in the future: this machine's clock is behind"
        return [Check("store", "ok", f"{location} opens"), Check("clock", "warning", finding)]
    return [Check("store", "ok", f"{location} opens" + ("" if runs else ", no run yet"))]


def check_drive(location: StoreLocation, mounts: Path = Path("/proc/mounts")) -> Iterator[Check]:
    """Whether the store's file is on a network drive, where that can be known: on Linux."""
    if not isinstance(location, Path) or not mounts.exists():
        return
    place, drive = location.resolve(), ("/", "")
    for line in mounts.read_text(errors="replace").splitlines():
        _, at, kind, *_ = line.split(" ")
        at = at.replace("\\040", " ")
        if len(at) >= len(drive[0]) and place.is_relative_to(at):  # a later one hides an earlier one
            drive = (at, kind)
    if drive[1] in NETWORK_DRIVES:
        yield Check(
            "store",
            "warning",
            f"{location} is on a network drive ({drive[1]} at {drive[0]}), where SQLite's locks are not safe: put it "
            "on a disk of this machine, or use a PostgreSQL store",
        )


def check_disk(location: StoreLocation) -> Iterator[Check]:
    """Free disk space at the store."""
    if not isinstance(location, Path):
        return
    folder = location.resolve().parent
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    state: State = "error" if free < NO_DISK_BYTES else "warning" if free < LOW_DISK_BYTES else "ok"
    advice = "" if state == "ok" else ": free disk space, or use a store elsewhere with --store"
    yield Check("disk", state, f"{free / 2**30:.1f} GiB free at {folder}{advice}")


def check_clock(now: float) -> Iterator[Check]:
    """Whether the clock is before the installation of this very file."""
    installed = Path(__file__).stat().st_mtime
    if now < installed - CLOCK_TOLERANCE_S:
        yield Check("clock", "error", f"{_date(now)} is before metajudge was installed ({_date(installed)}): set it")
    else:
        yield Check("clock", "ok", _date(now))


def check_online(settings: Settings, panel: PanelConfig | None, now: float) -> Iterator[Check]:
    """Whether each endpoint answers at all (no key is sent), and whether its clock agrees with ours."""
    urls = dict.fromkeys(spec.endpoint.base_url for spec in _specs(settings, panel))
    if not urls:
        yield Check("online", "note", "no endpoint to reach: name a panel with --config, or set a key")
    for url in urls:
        yield from _reach(url, now)


def _reach(url: str, now: float) -> Iterator[Check]:
    request = Request(url, headers={"user-agent": "metajudge-doctor"})  # noqa: S310 - http(s), checked with the spec
    started = time.monotonic()
    try:
        with urlopen(request, timeout=REACH_TIMEOUT_S) as answer:  # noqa: S310
            status, headers = answer.status, answer.headers
    except HTTPError as error:
        status, headers = error.code, error.headers
        error.close()
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        yield Check("online", "error", f"{url} cannot be reached: {reason}. Check network, proxy and base URL")
        return
    yield Check("online", "ok", f"{url} answers (HTTP {status}, {time.monotonic() - started:.2f} s)")
    try:
        theirs = parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return
    if abs(theirs - now) > CLOCK_TOLERANCE_S:
        yield Check("clock", "warning", f"{url} shows {_date(theirs)}, this machine {_date(now)}: set the clock")


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
