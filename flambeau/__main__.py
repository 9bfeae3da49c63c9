"""`python -m flambeau`: the command line."""

import sys

from flambeau.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
