"""``python -m metajudge``."""

from metajudge.cli import main

main()
