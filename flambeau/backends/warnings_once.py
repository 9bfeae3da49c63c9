"""Whether warnings that PyTorch gives once in a process are given each time: here they always are.

>>> set_warn_always(True)
>>> is_warn_always_enabled()
True
>>> set_warn_always(False)
"""

from __future__ import annotations


class _State:
    always = False


def set_warn_always(b: bool, /) -> None:
    """Keep whether warnings are given each time: `warnings.simplefilter` says how often they are shown.

    Args:
        b: what is kept.

    >>> set_warn_always(False)
    """
    _State.always = b


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given last.

    >>> is_warn_always_enabled()
    False
    """
    return _State.always
