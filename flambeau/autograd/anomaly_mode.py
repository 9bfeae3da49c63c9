"""Finding what went wrong on the way back: each node remembers the line of the program that made it.

>>> import flambeau
>>> x = flambeau.zeros(1, requires_grad=True)
>>> with warnings.catch_warnings(), set_detect_anomaly(True):
...     warnings.simplefilter("ignore")
...     try:
...         (x / x).sum().backward()
...     except RuntimeError as error:
...         print(error)
Function 'DivBackward0' returned nan values in its 1th output.
"""

from __future__ import annotations

import os
import traceback
import warnings
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from flambeau.autograd.quick_calls import careful
from flambeau.tensor.settled import readable
from flambeau.tensor.tensor import Tensor
from flambeau.util.user_code import warn_user

if TYPE_CHECKING:
    from flambeau.autograd.node import Gradients, Node

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
DETECTED: Final = "Error detected in {name}. Traceback of forward call that caused the error:\n{place}"
NO_PLACE: Final = (
    "Error detected in {name}. No forward pass information available. Enable detect anomaly during forward pass for "
    "more information."
)
SLOW: Final = (
    "Anomaly Detection has been enabled: each operation keeps where it was called, and each gradient is looked "
    "through. That takes time: leave it to debugging"
)
NAN: Final = "Function '{name}' returned nan values in its {index}th output."


class _State:
    """Whether anomalies are looked for, in all threads."""

    is_enabled = False
    checks_nan = True
    careful: AbstractContextManager[None] | None = None


STATE: Final = _State()


def is_anomaly_enabled() -> bool:
    """Whether anomalies are looked for.

    >>> is_anomaly_enabled()
    False
    """
    return STATE.is_enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether gradients that are not a number count as anomalies.

    >>> is_anomaly_check_nan_enabled()
    True
    """
    return STATE.checks_nan


def _switch(enabled: bool, check_nan: bool) -> None:
    if enabled and STATE.careful is None:
        STATE.careful = careful()
        STATE.careful.__enter__()
    elif not enabled and STATE.careful is not None:
        STATE.careful.__exit__(None, None, None)
        STATE.careful = None
    STATE.is_enabled, STATE.checks_nan = enabled, check_nan


class set_detect_anomaly:  # noqa: N801  (as programs write it)
    """Look for anomalies from now on, or stop; as a context manager, until the block's end.

    While it is on, each node remembers where it was made, and an error on the way back comes with a warning that shows
    that place; a gradient with nan is an error, RuntimeError, unless `check_nan` is False. It is slow.

    >>> with set_detect_anomaly(True):
    ...     is_anomaly_enabled()
    True
    >>> is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (STATE.is_enabled, STATE.checks_nan)
        _switch(mode, check_nan)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        _switch(*self._before)


class detect_anomaly:  # noqa: N801  (as programs write it)
    """Look for anomalies within the block: see `set_detect_anomaly`.

    >>> import flambeau, warnings
    >>> x = flambeau.tensor(0.0, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter('ignore')
    ...     with detect_anomaly():
    ...         try:
    ...             (x.sqrt() * 0).backward()
    ...         except RuntimeError as error:
    ...             print(error)
    Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        warn_user(SLOW, UserWarning)
        self._check_nan = check_nan
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> Self:
        self._before.append((STATE.is_enabled, STATE.checks_nan))
        _switch(True, self._check_nan)
        return self

    def __exit__(self, *error: Any) -> None:
        _switch(*self._before.pop())


def note(node: Node) -> None:
    """Remember where a node was made, if that is asked for."""
    if STATE.is_enabled:
        frames = [f for f in traceback.extract_stack() if not f.filename.startswith(_PACKAGE)]
        node.with_extras().place = "".join(traceback.format_list(frames))


def run(node: Node, gradients: Gradients) -> Gradients:
    """Run a node. Warns of where it was made if it raises, or gives what is not a number, which raises RuntimeError."""
    try:
        results = node.apply(gradients)
    except Exception:
        _warn(node)
        raise
    if STATE.checks_nan:
        for index, gradient in enumerate(results):
            if gradient is not None and gradient._array.dtype.kind in "fc" and _has_nan(gradient):
                _warn(node)
                raise RuntimeError(NAN.format(name=node.name(), index=index))
    return results


def _has_nan(gradient: Tensor) -> bool:
    return bool(np.isnan(readable(gradient)._array).any())


def _warn(node: Node) -> None:
    location = None if node.extras is None else node.extras.place
    text = NO_PLACE.format(name=node.name()) if location is None else DETECTED.format(name=node.name(), place=location)
    warnings.warn(text, stacklevel=2)
