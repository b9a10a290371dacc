"""Runs the command line: `python -m bikeshare`."""

import os
import sys

from ._cli import run

sys.exit(run(sys.argv[1:], os.environ))
