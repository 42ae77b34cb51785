"""The command line: one file per command, each registering itself on `app`."""

from gibbsafe.cli.app import app, main

from gibbsafe.cli import init, plan, release, query, report, verify, ledger, demo, reproduce  # isort: skip - register on import

__all__ = ["app", "demo", "init", "ledger", "main", "plan", "query", "release", "report", "reproduce", "verify"]
