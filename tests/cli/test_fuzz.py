"""600 broken files and arguments, in-process: no traceback, no exit code outside {0, 1, 2} (audits/fuzz_inputs.py)."""

import importlib.util
from pathlib import Path

import pytest

AUDIT = Path(__file__).parents[2] / "audits" / "fuzz_inputs.py"


@pytest.mark.parametrize("seed", range(3))
def test_broken_files_and_arguments_are_refused_in_one_line(seed):
    spec = importlib.util.spec_from_file_location("fuzz_inputs", AUDIT)
    audit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(audit)
    seen = audit.fuzz(200, seed)
    assert {outcome.rsplit(" ", 1)[1] for outcome in seen} <= {"0", "1", "2"}
    assert seen["study, release: exit 1"] > 8
    assert sum(times for outcome, times in seen.items() if outcome.endswith("exit 0")) > 16
    assert {outcome.split(",")[0] for outcome in seen} == set(audit.KINDS)
