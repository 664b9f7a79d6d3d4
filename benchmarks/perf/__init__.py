"""What metajudge costs and how it stands up to faults, measured by ``metajudge bench perf``."""
