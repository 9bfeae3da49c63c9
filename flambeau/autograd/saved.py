"""What the tape keeps of tensors for the way back: the tensor with the version of its memory, or what hooks made of it.

>>> import flambeau
>>> saved = SavedTensor(flambeau.ones(2))
>>> saved.restored(None)
tensor([1., 1.])
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from flambeau.autograd.node import Edge, Gradients, Node, edge_of
from flambeau.tensor.grad_mode import is_grad_enabled, no_grad
from flambeau.tensor.levels import unrecorded
from flambeau.tensor.tensor import Tensor, plain, window

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]

FREED: Final = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)
CHANGED: Final = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.{kind} {sizes}]{origin} is at version {now}; expected version {then} instead. Hint: enable anomaly "
    "detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
    "check_nan=False). It is {name}: keep a copy (x.clone()) of what is changed in place after it was used."
)
CHANGED_BY_HOOK: Final = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
    "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to "
    "perform in-place operations on the input to a pack hook."
)
NOT_A_TENSOR: Final = "Output of saved tensor unpack_hook expected to be a Tensor but got result of type {kind}"
HOOKED_TWICE: Final = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
    "allowed at a time."
)
HOOKED_LATE: Final = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved variables after calling backward."
)
NOT_CALLABLE: Final = "register_hooks() takes two functions: what packs a tensor, and what unpacks it"


class _Hooks(threading.local):
    """What saves tensors on this thread."""

    def __init__(self) -> None:
        self.stack: list[tuple[Pack, Unpack]] = []
        self.refusals: list[str] = []
        """Messages of blocks in which there may be no hooks."""


HOOKS: Final = _Hooks()


class SavedTensor:
    """A tensor kept for the way back, with the version of its memory."""

    __slots__ = ("edge", "index", "tensor", "unpack", "version")

    def __init__(self, tensor: Tensor, index: int = -1) -> None:
        storage = tensor._storage
        self.version = storage.version
        self.index = index
        """Which result of the node it is; -1 for an operand."""
        self.tensor: Any = tensor if index < 0 else unrecorded(tensor)  # a result refers to its node
        """The tensor, or what a hook packed it as."""
        self.unpack: Unpack | None = None
        """What gives the tensor of what it was packed as, if it was."""
        self.edge: Edge = None
        """Where the gradient of an operand goes that was packed."""

    def restored(self, node: Node | None) -> Tensor:
        """The tensor as it was. Raises RuntimeError if it was written since."""
        if self.unpack is not None:
            return self._unpacked(node)
        tensor: Tensor = self.tensor
        storage = tensor._storage
        if storage.version != self.version:
            raise RuntimeError(self._changed(tensor, node))
        if self.index >= 0 and is_grad_enabled():
            tensor = unrecorded(tensor)
            shown = None if node is None else SHOWN_RESULTS.get(node)
            if shown is None:
                tensor._node, tensor.output_nr = node, self.index
            else:
                tensor._node, tensor.output_nr = shown(), 0
        return tensor

    def _changed(self, tensor: Tensor, node: Node | None) -> str:
        made_by, number = (node, self.index) if self.index >= 0 else (tensor._node, tensor.output_nr)
        kind = "" if made_by is None else made_by.operation
        return CHANGED.format(
            kind=f"{tensor.dtype.display}Tensor", sizes=list(tensor._array.shape),
            origin=f", which is output {number} of {kind}," if kind else "", now=tensor._storage.version,
            then=self.version, name="a tensor" if node is None else node.name(),
        )  # fmt: skip

    def _unpacked(self, node: Node | None) -> Tensor:
        assert self.unpack is not None
        tensor: Any = self.unpack(self.tensor)
        if not isinstance(tensor, Tensor):
            raise TypeError(NOT_A_TENSOR.format(kind=type(tensor).__name__))
        if self.index >= 0 and is_grad_enabled() and node is not None:
            tensor = unrecorded(tensor)
            tensor._node, tensor.output_nr = node, self.index
        elif self.edge is not None and is_grad_enabled():
            tensor = unrecorded(tensor)
            tensor._node, tensor.output_nr = AliasBackward0([self.edge]), 0
        result: Tensor = tensor
        return result

    def register_hooks(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        """Keep what `pack_hook(tensor)` gives in place of the tensor, and use what `unpack_hook` makes of that.

        Raises TypeError if one is no function, RuntimeError if there are hooks already or a hook writes the tensor.
        """
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError(NOT_CALLABLE)
        if self.unpack is not None:
            raise RuntimeError(HOOKED_TWICE)
        if self.tensor is None:
            raise RuntimeError(HOOKED_LATE)
        tensor = self.tensor
        version = tensor._storage.version
        with no_grad():
            packed = pack_hook(tensor)  # an operand itself: hooks ask whether it is a parameter
        if tensor._storage.version != version:
            raise RuntimeError(CHANGED_BY_HOOK)
        self.edge = edge_of(tensor) if self.index < 0 else None
        self.tensor, self.unpack = packed, unpack_hook


SHOWN_RESULTS: Final[WeakKeyDictionary[Node, Callable[[], Node]]] = WeakKeyDictionary()
"""Of functions that wrote a part of a tensor through a view, and are part of another node: what makes the node of their
result, as the view shows it."""


class AliasBackward0(Node):
    """What hooks unpacked stands for the operand that was packed, to who differentiates again."""

    __slots__ = ()

    def apply(self, gradients: Gradients) -> Gradients:
        """The operand's."""
        return gradients


Light = tuple[Any, ...]
"""What usual calls keep in place of a `SavedTensor`: of an operand the tensor and its version; of the result its array,
its storage and its version; of one of several results which one it is before the version, too."""


def as_saved(light: Light) -> SavedTensor:
    """The object `SavedTensor` that a light record stands for."""
    if len(light) == 2:
        saved = SavedTensor(light[0])
    else:
        saved = SavedTensor(window(light[0], light[1]), light[2] if len(light) == 4 else 0)
    saved.version = light[-1]
    return saved


def restored(light: Light, node: Node) -> Tensor:
    """The tensor as it was. Raises RuntimeError if it was written since."""
    if len(light) == 2:
        tensor: Tensor = light[0]
        return tensor if tensor._storage.version == light[1] else as_saved(light).restored(node)
    array, storage = light[:2]
    if storage.version != light[-1] or is_grad_enabled():
        return as_saved(light).restored(node)
    return plain(array, storage)  # type: ignore[no-any-return]


def save(tensor: Tensor, index: int = -1) -> SavedTensor:
    """Keep a tensor, as the hooks of this thread say."""
    saved = SavedTensor(tensor, index)
    if HOOKS.stack:
        saved.register_hooks(*HOOKS.stack[-1])
    return saved
