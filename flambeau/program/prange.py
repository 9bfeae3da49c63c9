"""`prange`: a range whose iterations may run at the same time, on the threads of `set_num_threads`."""

from __future__ import annotations

from typing import overload


@overload
def prange(stop: int, /) -> range: ...
@overload
def prange(start: int, stop: int, step: int = 1, /) -> range: ...
def prange(*bounds: int) -> range:
    """The numbers that `range` gives; in a program, behind `for ... in`, the iterations run on several threads.

    Iterations may write elements that the index chooses (`y[i] = ...`), and add up numbers: `total += ...`, a product,
    `best = min(best, ...)` or `max`, and `&`, `|`, `^`. The loop is cut into at most 64 pieces, as its length says and
    not the number of threads: each starts its totals anew, and they are combined in order, so that a result does not
    depend on how many threads there were. What needs an order otherwise is refused while compiling, with its place: a
    variable that goes from one iteration to the next, a write of all iterations to the same elements, an append, a
    `break`. That no iteration reads elements that another one writes is the program's promise, as with Numba's
    `prange`; plain Python, the interpreter, loops that draw random numbers or print, and programs saved to archives go
    through the numbers in order.

    Args:
        bounds: `stop`, or `start, stop`, or `start, stop, step`, as of `range`.

    >>> import flambeau, numpy
    >>> @flambeau.script
    ... def squares(x: numpy.ndarray, y: numpy.ndarray) -> float:
    ...     total = 0.0
    ...     for i in flambeau.prange(x.shape[0]):
    ...         y[i] = x[i] * x[i]
    ...         total += y[i]
    ...     return total
    >>> y = numpy.zeros(4)
    >>> squares(numpy.arange(4.0), y), y.tolist()
    (14.0, [0.0, 1.0, 4.0, 9.0])
    """
    return range(*bounds)
