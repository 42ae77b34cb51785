"""Benchmarks are scripts beside the package: put their folder on the path while these tests run."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def scripts(monkeypatch, tmp_path):
    """Make the scripts importable, write results to a temporary folder, and do without peers."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "XLA_FLAGS"):
        monkeypatch.setenv(name, "1" if name != "XLA_FLAGS" else "")  # `harness` sets them; put them back afterwards
    monkeypatch.setenv("GIBBSAFE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("GIBBSAFE_PEERS", str(tmp_path / "no-peers"))
    yield
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and Path(sys.modules[name].__file__).parent == FOLDER:
            del sys.modules[name]
