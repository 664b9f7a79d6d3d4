"""A process that uses a store, to be killed."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

STORE_TESTS = Path(__file__).parents[1] / "store"
PRELUDE = f"""
import asyncio, sys, time
sys.path.insert(0, {str(STORE_TESTS)!r})
from conftest import Records
from metajudge.errors import StoreError
from metajudge.store import RunRecord, open_store
records = Records()
path = sys.argv[1]
"""


def script(body: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Runs code with ``records``, ``open_store`` and ``path``, its first argument."""
    code = PRELUDE + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        **options,
    )
