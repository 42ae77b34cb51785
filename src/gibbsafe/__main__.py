"""Run the command line as ``python -m gibbsafe``."""

from gibbsafe.cli import main

main()
