"""What importing costs, and what the package promises about itself."""

import subprocess
import sys

PROBE = """
import sys
import gibbsafe
heavy = {"numpy", "scipy", "gibbsafe"}
import importlib.metadata as metadata
installed = {name for name in metadata.packages_distributions()}
print(*sorted({module.split(".")[0] for module in sys.modules} & installed - heavy))
"""


def test_import_loads_numpy_and_scipy_only():
    result = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    assert not {name for name in loaded if not name.startswith(("_", "sitecustomize", "distutils"))}, loaded
