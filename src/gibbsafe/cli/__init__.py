"""The command line: one file per command, each registering itself on `app`."""

from gibbsafe.cli.app import app, main

from gibbsafe.cli import demo, reproduce  # isort: skip - commands register on import

__all__ = ["app", "demo", "main", "reproduce"]
