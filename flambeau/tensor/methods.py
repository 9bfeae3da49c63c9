"""The base of `Tensor` that stands for its derived methods.

At run time it is empty: the methods are installed on `Tensor` from the operator declarations. What type checkers see is
the stub beside it, written by `python -m flambeau.tools.stubs`.
"""

from __future__ import annotations


class TensorMethods:
    """Every operator that is a method of `Tensor`, for type checkers."""

    __slots__ = ()
