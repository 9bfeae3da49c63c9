"""What a tensor knows of gradients: whether it asks for one, its own, and the node of the tape that made it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.tensor.grad_mode import mode, note_asked
from flambeau.util.inversions import VIEW_NODE

if TYPE_CHECKING:
    from flambeau.tensor.storage import Storage


NO_DEEPCOPY: Final = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
    "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001"
)
NO_LEAF: Final = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
    "use .retain_grad() on the non-leaf Tensor."
)
RESULT: Final = "you can only change requires_grad flags of leaf variables."
INTEGERS: Final = "{what} of floating point and complex dtype can require gradients"
NO_TENSOR: Final = "assigned grad expected to be a Tensor or None but got grad of type {kind}"
OTHER_SIZE: Final = (
    "attempting to assign a gradient of size '{other}' to a tensor of size '{own}'. Please ensure that the gradient "
    "and the tensor are the same size"
)
OTHER_DTYPE: Final = (
    "attempting to assign a gradient with dtype '{other}' to a tensor with grad_dtype '{own}'. The gradient must match "
    "the tensor's dtype"
)


class GradientState:
    """The part of `Tensor` that is about gradients."""

    __slots__ = ()

    _array: np.ndarray[Any, Any]
    _storage: Storage
    _requires_grad: bool
    _grad: Any
    _node: Any
    """The tape node that made it, None for a leaf; of a view, before its memory was last written (`grad_fn` knows)."""
    _leaf: Any
    """Of a leaf, the hooks and the node that stand for it (`autograd.node.Leaf`); None where there are none."""
    _base: Self | None
    """The tensor that it is a view of, itself no view; None for others, and for what `detach` gives."""
    _made_in: str | None
    """Of a view that was made while nothing was recorded: in which mode."""
    output_nr: int
    """Which result of `grad_fn` it is."""

    if TYPE_CHECKING:

        @property
        def dtype(self) -> DType: ...

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded for `backward`."""
        if self._requires_grad or self._node is not None:
            return True
        return self._base is not None and self.asks() and self._array.dtype.kind in "fcV"

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and self.dtype.category < dtypes.Category.FLOAT:
            raise RuntimeError(INTEGERS.format(what="only Tensors"))
        if value and self.grad_fn is not None:
            raise RuntimeError(RESULT)
        self.requires_grad_(value)

    def asking_from_the_start(self) -> Self:
        """A new tensor, which asks for a gradient from now on. Raises RuntimeError for integers."""
        if self.dtype.category < dtypes.Category.FLOAT:
            raise RuntimeError(INTEGERS.format(what="Only Tensors"))
        return self._ask()

    def _ask(self) -> Self:
        """Ask for a gradient. Raises RuntimeError for what was made in `inference_mode()`, outside of it."""
        if self._storage.version < 0 and not mode.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self._requires_grad = note_asked()  # type: ignore[misc]  # a slot of `Tensor`
        return self

    def asks(self) -> bool:
        """Whether it, or what it is a view of, asks for gradients."""
        if self._requires_grad or self._node is not None:
            return True
        base = self._base
        return base is not None and (base._requires_grad or base._node is not None)

    @property
    def grad(self) -> Any:
        """The accumulated gradient of a leaf: a tensor, or None. Warns where there will be none, of a result."""
        if self._grad is None and self._node is not None and not self._node.is_retained(self):
            warnings.warn(NO_LEAF, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, gradient: Any) -> None:
        if gradient is not None:
            self._check_gradient(gradient)
        self._grad = gradient

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _check_gradient(self, gradient: Any) -> None:
        """Raise unless a tensor may be the gradient of this one: TypeError or RuntimeError."""
        if not isinstance(gradient, GradientState):
            raise TypeError(NO_TENSOR.format(kind=type(gradient).__name__))
        if gradient is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if gradient._array.shape != self._array.shape:
            own, other = list(self._array.shape), list(gradient._array.shape)
            raise RuntimeError(OTHER_SIZE.format(own=own, other=other))
        if gradient._array.dtype != self._array.dtype:
            raise RuntimeError(OTHER_DTYPE.format(own=self.dtype.display, other=gradient.dtype.display.lower()))

    @property
    def grad_fn(self) -> Any:
        """The tape's node that made it; None for a leaf."""
        return self._node if self._base is None or not self.asks() else VIEW_NODE.implementation(self)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made it."""
        return self.grad_fn is None

    def _is_view(self) -> bool:
        return self._base is not None

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for a gradient (or stop asking) and return the tensor. Raises RuntimeError for integers and for
        results, TypeError for what is no bool."""
        if not isinstance(requires_grad, bool | np.bool_):
            kind = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}")
        if self.grad_fn is not None and not requires_grad:
            raise RuntimeError(
                f"{RESULT} If you want to use a computed variable in a subgraph that doesn't require differentiation "
                "use var_no_grad = var.detach()."
            )
        if requires_grad and self.dtype.category < dtypes.Category.FLOAT:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self.grad_fn is not None:
            return self
        if requires_grad:
            return self._ask()
        self._requires_grad = False  # type: ignore[misc]  # a slot of `Tensor`
        return self

    @property
    def _version(self) -> int:
        """How many times its storage was written. Raises RuntimeError for a tensor made in `inference_mode()`."""
        version = self._storage.version
        if version < 0:
            raise RuntimeError("Inference tensors do not track version counter.")
        return version

    def is_inference(self) -> bool:
        """Whether it was made in `inference_mode()`."""
        return self._storage.version < 0

    def bump_version(self) -> None:
        """Note that its memory was written."""
        self._storage.version += 1
