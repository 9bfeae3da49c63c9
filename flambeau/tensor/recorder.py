"""Who records operators on tensors that ask for gradients, and what such operators may not write.

The tape (`flambeau.autograd`) lies above the operators, and provides what records a call.

>>> import flambeau
>>> x = flambeau.ones(2).requires_grad_()
>>> (x * 2).requires_grad, (x * 2).is_leaf, (x > 0).requires_grad
(True, False, False)
>>> with flambeau.no_grad():
...     (x * 2).requires_grad
False
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from flambeau.schema.opdef import OpDef
from flambeau.tensor.grad_mode import INFERENCE, mode, refuse_writing
from flambeau.tensor.observer import thread
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import TAPE

LEAF_WRITTEN: Final = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_WRITTEN: Final = "a view of a leaf Variable that requires grad is being used in an in-place operation."
MADE_IN: Final = (
    "A view was created in {mode} mode and is being modified inplace with grad mode enabled. Given that this use case "
    "is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
    "either both inside the {mode} block (if you don't want the inplace to be tracked) or both outside (if you want "
    "the inplace to be tracked)."
)
MADE_IN_INFERENCE: Final = (
    "A view was created in inference mode and is being modified inplace in normal mode. Given that this use case is "
    "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
    "either both inside the inference_mode block (if you don't want the inplace to be tracked) or both outside (if you "
    "want the inplace to be tracked)."
)
OUT_WRITTEN: Final = (
    "{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
    "requires grad."
)


def is_asked(values: Sequence[Any]) -> bool:
    """Whether a tensor among operands, in lists too, asks for gradients."""
    for value in values:
        if isinstance(value, Tensor):
            base = value._base
            if value._requires_grad or value._node is not None:
                return True
            if base is not None and (base._requires_grad or base._node is not None):
                return True
        elif type(value) in (list, tuple) and value and type(value[0]) is not int and is_asked(value):
            return True
    return False


def are_recorded(operands: Sequence[Tensor]) -> bool:
    """Whether a call on plain tensors is recorded, and nobody watches operators: then the tape may have one node for
    what is several operators."""
    if not mode.enabled or thread.handlers or thread.observer is not None:
        return False
    return all(type(operand) is Tensor for operand in operands) and is_asked(operands)


_recorded: dict[OpDef, Callable[..., Any]] = {}


def recorded(definition: OpDef) -> Callable[..., Any]:
    """What runs calls of an overload, given all arguments in schema order, and records them where that is asked for."""
    function = _recorded.get(definition)
    if function is None:
        function = _recorded[definition] = TAPE.implementation(definition)
    return function


def forget(definition: OpDef) -> None:
    """How an overload runs has changed, or it is gone."""
    _recorded.pop(definition, None)


def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run a kernel on operands of which one asks for gradients. Raises RuntimeError for a write that may not be."""
    return recorded(definition)(*arguments)


def refuse_writes(definition: OpDef, arguments: Sequence[Any]) -> list[Tensor]:
    """The tensors that a call writes. Raises RuntimeError if it may not while gradients are asked for: leaves, and
    what is passed as `out=`."""
    if not definition.schema.is_mutable:
        return []
    written = []
    for formal, value in zip(definition.schema.arguments, arguments, strict=False):
        if formal.alias is not None and formal.alias.is_write:
            for tensor in tensors_in(value):
                refuse_writing(tensor._storage.version)
                if formal.kwarg_only:
                    raise RuntimeError(OUT_WRITTEN.format(name=definition.name.rpartition("::")[2]))
                refuse_write(tensor)
                written.append(tensor)
    return written


def refuse_write(tensor: Tensor) -> None:
    """Raise RuntimeError for a leaf that asks, a view of one, and views that were made while nothing was recorded."""
    if tensor._made_in is not None:
        text = MADE_IN_INFERENCE if tensor._made_in == INFERENCE else MADE_IN.format(mode=tensor._made_in)
        raise RuntimeError(text)
    if tensor._requires_grad and tensor._node is None:
        raise RuntimeError(LEAF_WRITTEN)
    base = tensor._base
    if base is not None and base._requires_grad and base._node is None:
        raise RuntimeError(VIEW_WRITTEN)
    if base is not None and tensor._node is not None:
        tensor._node.refuse_write(tensor)


def tensors_written(definition: OpDef, arguments: Sequence[Any]) -> list[Tensor]:
    """The tensors that a call writes by its schema."""
    if not definition.schema.is_mutable:
        return []
    pairs = zip(definition.schema.arguments, arguments, strict=False)
    return [t for f, value in pairs if f.alias is not None and f.alias.is_write for t in tensors_in(value)]


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors that a value is or holds."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
