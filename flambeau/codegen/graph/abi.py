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
``CONTEXT_WORDS["thread"]`` holds what `PyEval_SaveThread` gave, 0 while the GIL is held.
"""

from __future__ import annotations

INTERRUPTED = -1
NO_MEMORY = -2
NO_STACK = -3
NO_MEMORY_AT = -16
"""This and all below: an allocation failed, and the code tells of which node."""

CONTEXT_WORDS = {
    "previous": 1, "next": 2, "thread": 4, "polled": 5, "record": 6, "user": 7, "long": 8,
    "floor": 9, "floor_known": 10, "calls": 11, "trace": 12,
}  # fmt: skip
"""Places of words in a context. The ring's head looks like a block: words 0 to 3. ``polled``: cycle counter at the last
poll; ``record``: address of the words of a failed exit point's operands; ``user``: a number the caller may look itself
up by; ``long``: 1 after a call that took so many iterations of loops that the next had better give up the GIL at once.
Functions that call themselves fill in the rest. ``floor``: the address below which frames must not lie;
``floor_known``: 1 once that is the end of the stack and not only as much as most take; ``calls``: how many are left
until the next look at the clock; ``trace``: 0, or the address of how many calls a failure has left, and the numbers of
their exit points, the innermost first.
"""
CONTEXT_SIZE = 13
LONG_FROM = 1 << 14
"""Iterations of loops that make a call a long one: ten microseconds or more."""
