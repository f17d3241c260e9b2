"""The command line: ``python -m ullage``."""

from ullage.cli.main import main

__all__ = ["main"]
