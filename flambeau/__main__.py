"""`python -m flambeau`, and the command `flambeau`: the command line as a process of its own."""

import atexit
import gc
import sys

from flambeau.tools.cli import main


def run() -> int:
    """Run the command that the process was started with; the exit status.

    Where the process ends, Python looks for cycles several times among all objects, of which the package alone has
    some hundred thousand: a third of the time of a short command. A process of this function ends without.
    """
    atexit.register(gc.freeze)
    return main()


if __name__ == "__main__":
    sys.exit(run())
