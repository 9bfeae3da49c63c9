"""Whether results have the same bits each time, and how precise products are, as PyTorch's programs ask for it.

On the CPU every operator gives the same bits each time, and products of float32 are computed in float32. On CUDA
devices sums at places that values say are added up in no order, and convolutions take the quickest algorithm, until
`use_deterministic_algorithms(True)`.

>>> use_deterministic_algorithms(True)
>>> are_deterministic_algorithms_enabled(), get_deterministic_debug_mode()
(True, 2)
>>> use_deterministic_algorithms(False)
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.backends import cuda, cudnn

_MODES: Final = {"default": 0, "warn": 1, "error": 2}
WRONG_MODE: Final = "a mode is one of 'default', 'warn' and 'error', or 0, 1 and 2, but got {mode!r}"
PRECISIONS: Final = ("highest", "high", "medium")
WRONG_PRECISION: Final = "a precision is one of 'highest', 'high' and 'medium', but got {precision!r}"


class _State:
    """What was asked for, in all threads."""

    is_deterministic = False
    only_warns = False
    precision = PRECISIONS[0]


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Have calls give the same bits each time, on CUDA devices too, where that takes longer.

    Args:
        mode: whether they do.
        warn_only: kept for `is_deterministic_algorithms_warn_only_enabled`: no operator lacks a deterministic way.

    >>> import flambeau
    >>> flambeau.use_deterministic_algorithms(True)
    >>> flambeau.backends.cudnn.deterministic
    True
    >>> flambeau.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms takes True or False, not {type(mode).__name__}")
    _State.is_deterministic, _State.only_warns = mode, mode and bool(warn_only)
    cuda.sums.deterministic = cudnn.deterministic = mode


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` has asked for the same bits each time.

    >>> are_deterministic_algorithms_enabled()
    False
    """
    return _State.is_deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was asked with `warn_only`.

    >>> is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _State.only_warns


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """The same by a word or number: "default" (0) turns it off, "warn" (1) and "error" (2) on.

    Raises ValueError for another.

    Args:
        debug_mode: the word or number.

    >>> set_deterministic_debug_mode("warn")
    >>> get_deterministic_debug_mode(), is_deterministic_algorithms_warn_only_enabled()
    (1, True)
    >>> set_deterministic_debug_mode(0)
    """
    mode: Any = _MODES.get(debug_mode, debug_mode) if isinstance(debug_mode, str) else debug_mode
    if mode not in _MODES.values() or isinstance(mode, bool):
        raise ValueError(WRONG_MODE.format(mode=debug_mode))
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """0 where nothing is asked for, 1 with `warn_only`, else 2.

    >>> get_deterministic_debug_mode()
    0
    """
    return 0 if not _State.is_deterministic else 1 if _State.only_warns else 2


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 to be less precise; here they never are, so that this is kept and changes nothing.

    Raises ValueError for a word that is none of "highest", "high" and "medium".

    Args:
        precision: the word.

    >>> set_float32_matmul_precision("high")
    >>> get_float32_matmul_precision()
    'high'
    >>> set_float32_matmul_precision("highest")
    """
    if precision not in PRECISIONS:
        raise ValueError(WRONG_PRECISION.format(precision=precision))
    _State.precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` allows: "highest" until it was called.

    >>> get_float32_matmul_precision()
    'highest'
    """
    return _State.precision


def set_flush_denormal(mode: bool) -> bool:
    """False: numbers below the smallest normal one are computed with, whatever is asked for.

    Args:
        mode: whether they may become 0.

    >>> set_flush_denormal(True)
    False
    """
    return False
