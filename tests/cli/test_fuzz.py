"""A thousand broken studies and tables, in-process: no traceback, no exit code outside {0, 1, 2} (audits/fuzz_inputs.py)."""

import importlib.util
from pathlib import Path

import pytest

AUDIT = Path(__file__).parents[2] / "audits" / "fuzz_inputs.py"


@pytest.mark.parametrize("seed", range(4))
def test_broken_studies_and_tables_are_refused_in_one_line(seed):
    spec = importlib.util.spec_from_file_location("fuzz_inputs", AUDIT)
    audit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(audit)
    seen = audit.fuzz(250, seed)
    assert set(seen) <= {f"{command}: exit {code}" for command in ("plan", "release") for code in (0, 1, 2)}
    assert seen["release: exit 0"] > 3
    assert seen["release: exit 1"] > 100
