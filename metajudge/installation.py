"""Which metajudge this is, how this copy was installed, and so what installs one of its extras."""

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

__version__ = "0.2.0"

PACKAGE = "metajudge-vet"
NAMESAKE = "metajudge"
"""Another project on the package index, with our import name: the two cannot be installed side by side."""


def install_command(extra: str = "") -> str:
    """The command that installs metajudge, with an extra, from where this copy came from.

    metajudge is on no package index: only a checkout or a git URL can be installed. Which of them this copy was
    installed from is recorded in its ``direct_url.json`` (PEP 610).

    Example:
        >>> install_command("api")  # doctest: +SKIP
        "pip install -e '/home/me/metajudge[api]'"
    """
    wanted = f"[{extra}]" if extra else ""
    origin = _origin()
    if origin is None:
        return f"pip install '.{wanted}' in a checkout of metajudge"
    url, editable = origin
    if url.startswith("file:") and editable is not None:
        return f"pip install {'-e ' if editable else ''}'{_path(url)}{wanted}'"
    return f"pip install '{PACKAGE}{wanted} @ {url}'"


def namesake() -> str | None:
    """The version of the other project that is installed beside this one, None if missing."""
    from importlib import metadata

    try:
        return metadata.version(NAMESAKE)
    except metadata.PackageNotFoundError:
        return None


def _origin() -> tuple[str, bool | None] | None:
    """URL of this copy's source, and whether it is editable; the latter is None if it is not a folder."""
    from importlib import metadata

    try:
        source = json.loads(metadata.distribution(PACKAGE).read_text("direct_url.json") or "null")
    except (metadata.PackageNotFoundError, ValueError):
        return None
    if not isinstance(source, dict) or not isinstance(source.get("url"), str):
        return None
    url = source["url"]
    if "vcs_info" in source:
        version = source["vcs_info"].get("requested_revision") or source["vcs_info"].get("commit_id")
        return f"{source['vcs_info'].get('vcs', 'git')}+{url}" + (f"@{version}" if version else ""), None
    if "dir_info" in source:
        if not Path(_path(url)).is_dir():  # moved or removed since
            return None
        return url, bool(source["dir_info"].get("editable"))
    return url, None


def _path(url: str) -> str:
    return unquote(urlsplit(url).path)
