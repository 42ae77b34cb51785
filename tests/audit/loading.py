"""Scripts of `audits/`, read from beside the tests."""

import importlib.util
import sys
from pathlib import Path

AUDITS = Path(__file__).parents[2] / "audits"


def load(name):
    spec = importlib.util.spec_from_file_location(f"audits_{name}", AUDITS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
