"""The benchmark of start-up: which figure is made of which commands."""

import pytest
from metajudge.benchmarks.perf.start import cpu_s, ratios


def test_figures_are_ratios_of_what_was_measured_in_one_run():
    cpu = {
        "help": 0.09,
        "import_typer_and_rich": 0.06,
        "vet": 0.6,
        "import_packages": 0.4,
        "vet_by_one_agent": 0.9,
        "import_openai": 0.75,
    }
    assert ratios(cpu) == {"help_over_packages": 1.5, "vet_over_packages": 1.5, "agent_beyond_sdk_s": 0.15}


def test_a_command_that_fails_is_no_figure(tmp_path):
    (tmp_path / "store.db").touch()
    with pytest.raises(SystemExit, match="ended with 3: no luck"):
        cpu_s(["-c", "import sys; sys.stderr.write('no luck'); sys.exit(3)"], tmp_path)
    assert not (tmp_path / "store.db").exists()
