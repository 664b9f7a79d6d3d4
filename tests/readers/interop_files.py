"""Exports that other tools wrote of our cases; ``benchmarks/interop/`` has the scripts."""

from pathlib import Path

INTEROP = Path(__file__).parent / "interop"
