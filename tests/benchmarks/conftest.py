"""Benchmarks are modules beside the package: put the root of the repository on the path while these tests run."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def scripts(monkeypatch, tmp_path):
    """Make the scripts importable, write results to a temporary folder, and do without peers."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT))
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "XLA_FLAGS"):
        monkeypatch.setenv(name, "1" if name != "XLA_FLAGS" else "")  # `harness` sets them; put them back afterwards
    monkeypatch.setenv("GIBBSAFE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("GIBBSAFE_PEERS", str(tmp_path / "no-peers"))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "benchmarks":
            del sys.modules[name]
