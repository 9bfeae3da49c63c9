"""Parameters and buffers whose sizes are not known yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn, Self

from flambeau.nn.parameter import Parameter
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor import dispatch
from flambeau.tensor.settled import settle
from flambeau.tensor.size import Size
from flambeau.tensor.subclasses import disabled_function
from flambeau.tensor.tensor import Array, Tensor, window

NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer: call `forward` once to initialize the parameters "
    "of a lazy module before it is used, or its state is loaded into another module"
)
NO_VALUES = (
    "Attempted to use an uninitialized parameter: call `forward` of its lazy module with an example to initialize it, "
    "or `materialize` it"
)
UNINITIALIZED = "'{owner}' has uninitialized parameters {name}. Did you forget to run a forward pass?"
_memory: Any = Tensor.__dict__["_array"]
"""The slot of a tensor's array: only this module may read one that is not initialised yet."""


class _Uninitialized:
    __slots__ = ()
    BECOMES: ClassVar[type[Tensor]]

    @property
    def _array(self) -> NoReturn:
        raise ValueError(NO_VALUES)

    @_array.setter
    def _array(self, value: Array) -> None:
        _memory.__set__(self, value)

    @property
    def dtype(self) -> DType:
        """The element type that it will have."""
        return self.placeholder().dtype

    @property
    def shape(self) -> Size:
        """Raises RuntimeError: there is none yet."""
        raise RuntimeError(NO_SHAPE)

    def placeholder(self) -> Tensor:
        """A tensor without elements, of the right element type."""
        tensor: Any = self
        return settle(window(_memory.__get__(self), tensor._storage))

    def materialize(
        self, shape: Sequence[int], device: Device | str | None = None, dtype: DType | None = None
    ) -> None:
        """Become a plain parameter, or tensor, of these sizes, for the caller to fill."""
        tensor: Any = self
        own_device = tensor._storage.device if device is None else device
        storage: Any = dispatch.call("aten::empty", list(shape), dtype=dtype or self.dtype, device=own_device)
        tensor._array, tensor._storage = storage._array, storage._storage
        tensor.__class__ = self.BECOMES
        settle(tensor)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = memo[id(self)] = self._again()
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), self._arguments())

    def _again(self) -> Self:
        return type(self)(*self._arguments())

    def _arguments(self) -> tuple[Any, ...]:
        return (None, self.dtype)


class UninitializedParameter(_Uninitialized, Parameter):  # type: ignore[misc]  # it raises where others have arrays
    """A parameter that gets its sizes when a lazy module first runs. Raises ValueError when it is used before.

    Args:
        requires_grad: whether it asks for gradients.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    >>> weight = UninitializedParameter()
    >>> weight.materialize([2, 3])
    >>> weight.shape
    flambeau.Size([2, 3])
    """

    __slots__ = ()
    BECOMES = Parameter

    def __init__(
        self, requires_grad: bool = True, device: Device | str | None = None, dtype: DType | None = None
    ) -> None:
        super().__init__(_nothing(device, dtype), requires_grad)

    def _arguments(self) -> tuple[Any, ...]:
        return (self.requires_grad, None, self.dtype)


class UninitializedBuffer(_Uninitialized, Tensor):  # type: ignore[misc]  # it raises where others have arrays
    """A buffer that gets its sizes when a lazy module first runs. Raises ValueError when it is used before.

    Args:
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    >>> import flambeau
    >>> from flambeau.nn import UninitializedBuffer
    >>> buffer = UninitializedBuffer()
    >>> buffer.materialize([2, 3])
    >>> buffer.shape
    flambeau.Size([2, 3])
    """

    __flambeau_function__ = staticmethod(disabled_function)

    __slots__ = ()
    BECOMES = Tensor

    def __init__(self, device: Device | str | None = None, dtype: DType | None = None) -> None:
        super().__init__(_memory.__get__(_nothing(device, dtype)), None)


def _nothing(device: Device | str | None, dtype: DType | None) -> Tensor:
    tensor = dispatch.call("aten::empty", [0], dtype=dtype, device=device)
    assert isinstance(tensor, Tensor)
    return tensor


def is_lazy(value: Any) -> bool:
    """Whether a value is a parameter or buffer without sizes.

    >>> import flambeau
    >>> is_lazy(flambeau.nn.LazyLinear(2).weight), is_lazy(flambeau.nn.Linear(1, 2).weight)
    (True, False)
    """
    return isinstance(value, _Uninitialized)
