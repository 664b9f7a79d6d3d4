"""Our functions in a dataset's map and filter: ``python -m benchmarks.interop.run_datasets_map FILE.parquet URL``.

To be run by a Python that has datasets and this package; FILE is what :mod:`benchmarks.interop.make_datasets` wrote,
URL an OpenAI-compatible server, which stands for the meta-judge. What was run, and the columns, are printed.
"""

import os
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Any

from metajudge.adapters.datasets import kept, vetted


def main(path: str, url: str) -> None:
    """Maps and filters, and prints the rows."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    datasets: Any = import_module("datasets")
    datasets.disable_progress_bars()
    rows = datasets.Dataset.from_parquet(path)
    print(f"datasets {version('datasets')}, {len(rows)} rows")
    print("dataset.map(vetted(agents=[...], threshold=3.0), batched=True, batch_size=None)")
    found = rows.map(vetted(agents=[f"openai:gpt-4o-mini@{url}"], threshold=3.0), batched=True, batch_size=None)
    print(f"columns added: {', '.join(name for name in found.column_names if name not in rows.column_names)}")
    for row in found:
        print(f"  {row['question']}: {row['metajudge_decision']}, {row['metajudge_score']}: {row['metajudge_reason']}")
    print(f"dataset.filter(kept()): {len(found.filter(kept()))} of {len(found)} rows")
    print(
        f"the same with num_proc=2: {len(rows.map(vetted(), batched=True, num_proc=2).filter(kept()))} by free evidence"
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
