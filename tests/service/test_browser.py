"""The desk in a real browser, in a process of its own: a browser's driver and pytest's capture both want the standard streams.

The flow is `browser_flow.py`; it skips by name where Playwright or Chromium is absent."""

import subprocess
import sys
from pathlib import Path

import pytest

FLOW = Path(__file__).with_name("browser_flow.py")


def test_from_registration_to_a_verified_release_and_an_answer():
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-rs", "--capture=no", str(FLOW)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=FLOW.parents[2])
    told = (done.stdout + done.stderr)[-4000:]
    assert done.returncode == 0, told
    if "SKIPPED" in done.stdout:
        pytest.skip(told.strip().splitlines()[-1])
