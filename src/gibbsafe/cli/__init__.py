"""The command line: one file per command, each registering itself on `app`."""

from gibbsafe.cli.application import app, main

from gibbsafe.cli import init, plan, release, query, report, verify, ledger, demo, reproduce  # isort: skip - register on import
from gibbsafe.cli import bounds, rehearse, audit, compare, estimate, hu, key, serve, ui, desk  # isort: skip - hu adds to reproduce

__all__ = [
    "app",
    "audit",
    "bounds",
    "compare",
    "demo",
    "desk",
    "estimate",
    "hu",
    "init",
    "key",
    "ledger",
    "main",
    "plan",
    "query",
    "rehearse",
    "release",
    "report",
    "reproduce",
    "serve",
    "ui",
    "verify",
]
