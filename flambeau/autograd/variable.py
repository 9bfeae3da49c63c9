"""`Variable`, as tensors were called that take part in gradients: every tensor is one.

>>> import flambeau
>>> isinstance(flambeau.ones(2), Variable)
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.autograd.engine import queue_callback
from flambeau.tensor.tensor import Tensor
from flambeau.util.user_code import warn_user

VOLATILE: Final = "volatile was removed (Variable.volatile is always False): write `with flambeau.no_grad():` instead"


class _Tensors(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, Tensor)


class ImperativeEngine:
    """The engine that goes back over the tape, as hooks reach it: `Variable._execution_engine`."""

    @staticmethod
    def queue_callback(callback: Callable[[], object]) -> None:
        """Have a function called when the way back that goes on is over. Raises RuntimeError where there is none."""
        queue_callback(callback)


class Variable(metaclass=_Tensors):
    """A tensor with the memory of `data`, which asks for gradients if told so.

    Args:
        data: the tensor whose memory it is; none gives an empty one.
        requires_grad: whether it asks for gradients.
        volatile: has no meaning any more, of which it warns.

    >>> import flambeau
    >>> Variable(flambeau.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile:
            warn_user(VOLATILE, UserWarning)
        shared: Tensor = Tensor() if data is None else data.detach()
        return shared.requires_grad_(requires_grad)
