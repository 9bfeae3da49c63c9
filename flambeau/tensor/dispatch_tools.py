"""What classes below the tape and dispatch modes use: which modes there are, results that are arguments again, parts of
tensors that stand for others.

>>> import flambeau
>>> with BaseTorchDispatchMode() as mode:
...     print(_get_current_dispatch_mode() is mode)
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from flambeau.schema.alias import AliasInfo
from flambeau.tensor.interceptors import changed, stack
from flambeau.tensor.modes import DispatchMode
from flambeau.tensor.modes import TorchDispatchMode as TorchDispatchMode
from flambeau.tensor.tensor import Tensor

T = TypeVar("T")
NO_OVERLOAD: Final = "return_and_correct_aliasing() takes an overload of an operator, as modes get it, not {kind}"


class BaseTorchDispatchMode(DispatchMode):
    """A mode that has operators run as they are.

    >>> import flambeau
    >>> with BaseTorchDispatchMode():
    ...     flambeau.ones(1) + 1
    tensor([2.])
    """

    def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> Any:
    """The mode that is asked first; None without one."""
    modes = stack().modes
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes of this thread; the last one is asked first."""
    return list(stack().modes)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether there is a mode.

    >>> is_in_torch_dispatch_mode()
    False
    """
    return bool(stack().modes)


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Within the block, no mode of this thread is asked; the block gets them."""
    before = list(stack().modes)
    with changed(modes=()):
        yield before


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor says what it consists of: it has `__tensor_flatten__` and `__tensor_unflatten__`.

    >>> import flambeau
    >>> is_traceable_wrapper_subclass(flambeau.ones(1))
    False
    """
    return isinstance(t, Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def transform_subclass(
    t: Any, callback: Callable[[str, Tensor], Tensor], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """Another tensor of the class of `t`, of what `callback` gives for each part.

    Args:
        t: says what it consists of; see `is_traceable_wrapper_subclass`.
        callback: called with the name and the value of a part.
        outer_size: the sizes of the new one; those of `t` if None.
        outer_stride: its strides; those of `t` if None.
    """
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(parts, context, size, stride)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Mapping[str, Any] | None, out: T) -> T:
    """What a class below the tape returns for a call: of operators that write, the arguments that are written.

    Args:
        func: the overload that runs.
        args: what it was called with.
        kwargs: what it was called with by name.
        out: the results, as new tensors of the class.

    Raises TypeError for what is no overload.

    >>> import flambeau
    >>> x, new = flambeau.ones(1), flambeau.zeros(1)
    >>> return_and_correct_aliasing(flambeau.ops.aten.add_.Tensor, (x, x), {}, new) is x
    True
    >>> return_and_correct_aliasing(flambeau.ops.aten.add.Tensor, (x, x), {}, new) is new
    True
    """
    schema = getattr(func, "_schema", None)
    if schema is None:
        raise TypeError(NO_OVERLOAD.format(kind=type(func).__name__))
    written: list[tuple[AliasInfo, Any]] = []
    by_name = {**dict(zip((a.name for a in schema.arguments), args, strict=False)), **(kwargs or {})}
    for argument in schema.arguments:
        if argument.alias is not None and argument.alias.is_write and argument.name in by_name:
            written.append((argument.alias, by_name[argument.name]))

    def corrected(declared: Any, result: Any) -> Any:
        if declared.alias is None or not declared.alias.is_write:
            return result
        return next((value for alias, value in written if alias.before_set & declared.alias.before_set), result)

    if isinstance(out, tuple | list) and len(schema.returns) == len(out) > 1:
        pairs = zip(schema.returns, out, strict=True)
        return type(out)([corrected(declared, one) for declared, one in pairs])
    return corrected(schema.returns[0], out) if len(schema.returns) == 1 else out


NAMES: Final = (
    "BaseTorchDispatchMode TorchDispatchMode _disable_current_modes _get_current_dispatch_mode "
    "_get_current_dispatch_mode_stack is_in_torch_dispatch_mode is_traceable_wrapper_subclass "
    "return_and_correct_aliasing transform_subclass"
)
"""What `flambeau.utils._python_dispatch` has."""
