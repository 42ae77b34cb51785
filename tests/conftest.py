"""Hypothesis runs the same examples everywhere, and reads no clock on a shared machine; commands run as the shell would.

Tests run side by side: a release in one of them has one worker, unless the test names more.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("GIBBSAFE_WORKERS", "1")
settings.register_profile(
    "gibbsafe", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("gibbsafe")


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command in-process as the shell would; return exit code, stdout and stderr."""
    from gibbsafe.cli import main

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["gibbsafe", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        return (code, *capsys.readouterr())

    return call
