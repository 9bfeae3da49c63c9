"""How native functions of whole graphs are called.

``i64 function(ptr context, ptr arguments, ptr results)``: arguments and results are arrays of words, each value after
the other as its representation says. The function gives 0, or what stopped it:

* ``n > 0``: exit point n - 1 failed; the words of the exit point's operands are in the context's record.
* ``INTERRUPTED``: a signal's handler, or Python that was asked to run something, raised; the exception is set.
* ``NO_MEMORY``: an allocation failed; ``NO_MEMORY_AT - k``: the one that the k-th asking node wanted.
* ``NO_STACK``: calls went so deep that the C stack has no room for more.

Arguments are borrowed: their blocks outlive the call and are not counted down below what they came with. A result
holds one reference to each of its blocks. Whatever else was allocated is freed when the function returns, whichever way
it returns: live blocks form a ring whose head is in the context, and the caller frees what is in it after an error.
A function is called with the GIL and may give it up and take it again on its way; it returns with it. In between,
the context's ``thread`` holds what `PyEval_SaveThread` gave, 0 while the GIL is held.
"""

from __future__ import annotations

INTERRUPTED = -1
NO_MEMORY = -2
NO_STACK = -3
STOPPED = -4
"""A piece of a loop over `prange` came to an end because one before it failed; callers never see it."""
NO_MEMORY_AT = -16
"""This and all below: an allocation failed, and the code tells of which node."""

LONG_FROM = 1 << 14
"""Iterations of loops that make a call a long one: ten microseconds or more."""
