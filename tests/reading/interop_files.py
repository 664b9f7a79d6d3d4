"""Exports that other tools wrote of our cases; the README beside them names the tools."""

from pathlib import Path

INTEROP = Path(__file__).parent / "interop"
