"""Which exceptions come from somebody else: a signal handler or another thread may raise at any instruction of ours.

>>> class LateError(Exception):
...     __module__ = "their.program"
>>> try:
...     raise LateError("two seconds are over")
... except LateError as error:
...     is_foreign(error)
True

What guards against mistakes in a stage of the compiler must let such exceptions through: they say nothing about the
stage, and whoever raised them waits for them.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Final

_OWN: Final = frozenset({"flambeau", "numpy", "llvmlite", "ml_dtypes", *sys.stdlib_module_names}) - {"__main__"}
"""The packages whose code may fail because of us."""


def is_foreign(error: BaseException, *, besides: Collection[str] = ()) -> bool:
    """Whether `error`, caught here, was raised by code that the block around did not call, or is of a class of such.

    `besides` names more modules whose failures are the block's own: that of a pass, or of an operator, of the user's.
    """
    own = _OWN.union(besides)
    if not _is_of(type(error).__module__, own):
        return True
    traceback = error.__traceback__.tb_next if error.__traceback__ is not None else None
    while traceback is not None:
        if not _is_of(traceback.tb_frame.f_globals.get("__name__", ""), own):
            return True
        traceback = traceback.tb_next
    return False


def _is_of(module: str, packages: Collection[str]) -> bool:
    return module in packages or module.partition(".")[0] in packages
