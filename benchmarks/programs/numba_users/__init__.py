"""Programs as users of Numba write them, loops over arrays without annotations, each with its arguments."""

from benchmarks.programs.numba_users import (
    draws,
    fields,
    graphs,
    images,
    matrices,
    numbers,
    points,
    searching,
    sequences,
)
from benchmarks.programs.numba_users.examples import EXAMPLES
