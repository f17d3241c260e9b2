"""Runs the command line."""

import sys

from ullage.cli import main

sys.exit(main())
