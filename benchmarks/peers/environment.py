"""Runs peers in their own environment: a request as npz and JSON goes in, arrays come out.

diffprivlib 0.6.6 needs scikit-learn 1.5, so it and OpenDP live in `.venv-peers` (requirements.txt beside this file) and
never meet the library."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
PYTHON = Path(os.environ.get("GIBBSAFE_PEERS", HERE.parents[1] / ".venv-peers")) / "bin" / "python"


def available():
    """Whether the peers' environment exists."""
    return PYTHON.exists()


def ask(task, arrays, **request):
    """Return what `worker.py` answers to this task: a dictionary of arrays."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        np.savez(here / "in.npz", **arrays)
        (here / "request.json").write_text(json.dumps({"task": task, **request}))
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        subprocess.run([PYTHON, HERE / "worker.py", folder], check=True, env=environment)
        with np.load(here / "out.npz") as found:
            return dict(found)


def peer_versions():
    """Versions of the peers, as their environment states them."""
    if not available():
        return {}
    code = (
        "import json; from importlib.metadata import version;"
        "print(json.dumps({k: version(k) for k in ('diffprivlib', 'opendp', 'scikit-learn', 'numpy')}))"
    )
    found = json.loads(subprocess.run([PYTHON, "-c", code], check=True, capture_output=True, text=True).stdout)
    return {
        "diffprivlib": found["diffprivlib"],
        "opendp": found["opendp"],
        "scikit-learn beside diffprivlib": found["scikit-learn"],
    }
