"""What programs say to a tracer: this may be fixed, this holds for every size, script this function here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from flambeau.jit.script import script
from flambeau.jit.tracing.symbols import TracedFloat, TracedNumber
from flambeau.jit.tracing.trace_recorder import Recorder
from flambeau.tensor import observer
from flambeau.tensor.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def allow(value: Any) -> Any:
    """The Python value of a tensor of one element or of a size, which a trace may fix: nothing warns of it.

    A later call that would need another value still raises `GuardError`, unless the trace has no guards. Outside of a
    trace, a tensor's element is all the same given as a Python value; anything else is given back.

    Args:
        value: a tensor of one element, or a size.

    >>> import flambeau
    >>> def repeated(x):
    ...     return flambeau.cat([x for _ in range(flambeau.jit.allow(x.shape[0]))])
    >>> flambeau.trace(repeated, flambeau.ones(2)).baked[0].value
    2
    """
    watching = observer.current()
    if not isinstance(watching, Recorder):
        return value.item() if isinstance(value, Tensor) else value
    before, watching.baker.is_allowed = watching.baker.is_allowed, True
    try:
        if isinstance(value, TracedNumber):
            return float(value) if isinstance(value, TracedFloat) else int(value)
        return value.item() if isinstance(value, Tensor) else value
    finally:
        watching.baker.is_allowed = before


def dynamic(size: Any) -> Any:
    """A size whose number Python may look at without fixing it: the trace is right for every other size, too.

    Use it where a comparison or a check of sizes has the same outcome in all calls that matter. Nothing checks that.
    Outside of a trace the size is given back.

    Args:
        size: a size of a tensor.

    >>> import flambeau
    >>> def halves(x):
    ...     n = flambeau.jit.dynamic(x.shape[0])
    ...     return x[: n // 2] if n > 1 else x
    >>> flambeau.trace(halves, flambeau.ones(4))(flambeau.ones(10)).shape
    flambeau.Size([5])
    """
    return size.free() if isinstance(size, TracedNumber) else size


def script_if_tracing(fn: Callable[P, R]) -> Callable[P, R]:
    """A decorator: the function is compiled where it is called in a trace, so that its branches and loops stay.

    Other calls run it as it is.

    Args:
        fn: the function.

    >>> import flambeau
    >>> @script_if_tracing
    ... def clipped(x):
    ...     if bool(x.sum() > 1):
    ...         x = x / x.sum()
    ...     return x
    >>> flambeau.trace(lambda x: clipped(x), flambeau.ones(2)).baked
    []
    """

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if observer.current() is None:
            return fn(*args, **kwargs)
        result: R = script(fn)(*args, **kwargs)
        return result

    vars(wrapper).update(__original_fn=fn, __script_if_tracing_wrapper=True)  # names that TorchScript's users look at
    return wrapper
