"""Tensors on the device "meta": sizes, strides and a dtype without data, and operators on them by the rules of their
declarations.

>>> import flambeau
>>> x = flambeau.empty(1000, 1000, 1000, device="meta")
>>> (x + 1).sum(0).shape
flambeau.Size([1000, 1000])
>>> x
tensor(..., device='meta', size=(1000, 1000, 1000))
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from flambeau.ops.families.pointwise_layout import result_strides
from flambeau.ops.meta_trials import trial
from flambeau.schema import registry
from flambeau.schema.device import META, Device
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import OpDef, UnknownValueError
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import TensorType
from flambeau.tensor import dataless, index
from flambeau.tensor.below import CONCERNS, KERNELS
from flambeau.tensor.create import strides_for
from flambeau.tensor.dataless import DatalessStorage
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.kernels import NO_FAKE
from flambeau.tensor.settled import CLASSES, settle, settled
from flambeau.tensor.storage import Storage
from flambeau.tensor.subclasses import disabled_function, overrides_functions
from flambeau.tensor.tensor import Tensor

NO_ITEM: Final = "Tensor.item() cannot be called on meta tensors"
NO_COPY: Final = "Cannot copy out of meta tensor; no data!"
NO_NUMPY: Final = (
    "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
)
OTHER_DEVICE: Final = "Tensor on device {other} is not on the expected device meta!"


def _no_item(self: Tensor) -> NoReturn:
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    raise RuntimeError(NO_ITEM)


def _no_list(self: Tensor) -> NoReturn:
    raise RuntimeError(NO_ITEM)


def _no_truth(self: Tensor) -> NoReturn:
    if self.numel() != 1:
        how_many = "more than one value" if self.numel() else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {how_many} is ambiguous")
    raise NotImplementedError(NO_COPY)


def _no_array(self: Tensor, *_: Any, **__: Any) -> NoReturn:
    raise TypeError(NO_NUMPY)


def _no_dlpack(self: Tensor, *_: Any, **__: Any) -> NoReturn:
    raise BufferError("a tensor on the device 'meta' has no memory to export")


def _no_address(self: Tensor) -> int:
    return 0


_MEMBERS: Final[dict[str, Any]] = {
    "item": _no_item, "tolist": _no_list, "__int__": _no_item, "__float__": _no_item, "__complex__": _no_item,
    "__index__": _no_item, "__bool__": _no_truth, "__contains__": lambda self, element: _no_item(self),
    "numpy": _no_array, "__array__": _no_array, "__buffer__": _no_array, "__dlpack__": _no_dlpack,
    "data_ptr": _no_address, "__getitem__": index.get_item_by_operators, "is_meta": property(lambda self: True),
    "is_cpu": property(lambda self: False), "_has_no_data": True, "__slots__": (),
}  # fmt: skip
"""What tensors without data do otherwise."""


def _reduce(self: Tensor) -> tuple[Any, ...]:
    cls: Any = type(self)
    return (_rebuild, (cls._plain_class, tuple(self._array.shape), self.stride(), self.dtype, self.requires_grad))


def _rebuild(
    cls: type[Tensor], sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, requires_grad: bool
) -> Tensor:
    """The tensor without data that was pickled."""
    array, storage = dataless.window(sizes, strides, dtype, META)
    result = object.__new__(cls)
    Tensor.__init__(result, array, storage)
    settle(result)
    return result.requires_grad_() if requires_grad else result


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    make, form = self.__reduce__()
    result: Tensor = make(*form)
    memo[id(self)] = result
    return result


@functools.lru_cache(maxsize=256)
def meta_class(cls: Any) -> Any:
    """The class of tensors without data that are otherwise of class `cls`: a `Parameter` on "meta" is one still."""
    own = dict(_MEMBERS) | {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    if not overrides_functions(cls):
        own["__flambeau_function__"] = staticmethod(disabled_function)
    if cls.__reduce__ is Tensor.__reduce__:
        own |= {"__reduce__": _reduce, "__deepcopy__": _deepcopy}
    own["_plain_class"] = cls
    return type(cls.__name__, (cls,), own)


@functools.partial(CLASSES.__setitem__, DatalessStorage)
def _class_for(storage: Storage, cls: type) -> type:
    return meta_class(cls) if storage.device.type == "meta" else cls


def empty(sizes: Sequence[int], dtype: DType, strides: Sequence[int] | None = None) -> Tensor:
    """A tensor without data. Raises RuntimeError for negative sizes and for more bytes than there are addresses."""
    if any(s < 0 for s in sizes):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {list(sizes)}")
    array, storage = dataless.window(sizes, strides, dtype, META)
    return settle(Tensor(array, storage))


def is_meta(value: Any) -> bool:
    """Whether a value is a tensor on "meta"."""
    return isinstance(value, Tensor) and type(value._storage) is DatalessStorage and value.device.type == "meta"


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    collected: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            collected.append(value)
        elif type(value) in (list, tuple):
            collected.extend(_tensors(value))
    return collected


def _concerns(definition: OpDef, arguments: Sequence[Any]) -> bool:
    return any(type(a) is Device and a.type == "meta" for a in arguments)


def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run an operator on tensors without data, or make some; NotImplemented where there are none.

    Raises what the operator raises for such sizes and dtypes, RuntimeError for tensors of other devices beside, and
    NotImplementedError where only the data tells what the result is like.
    """
    tensors = _tensors(arguments)
    device = next((a for a in arguments if type(a) is Device), None)
    if not any(map(is_meta, tensors)) and (device is None or device.type != "meta"):
        return NotImplemented
    rule = META_RULES.get(definition.full_name) or META_RULES.get(definition.name)
    if rule is not None:
        result = rule(definition, arguments)
        if result is not NotImplemented:
            return result
    if device is not None and device.type != "meta":
        raise NotImplementedError(NO_COPY)
    _check_devices(tensors)
    if definition.family in ("metadata", "query") or definition.is_about_tensor:
        return definition.kernel(*arguments)
    if definition.family == "view" and not definition.traits.may_copy:
        return settled(definition.kernel(*arguments))
    if definition.schema.is_mutable:
        return _written(definition, arguments)
    return results(definition, arguments)


def _check_devices(tensors: Sequence[Tensor]) -> None:
    for tensor in tensors:
        if not is_meta(tensor) and tensor.ndim:
            raise RuntimeError(OTHER_DEVICE.format(other=tensor.device))


def results(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """New tensors as the rules of an operator say its results are. Raises NotImplementedError if they cannot tell."""
    schema = definition.schema
    described = [_described(value) for value in arguments]
    shapes = _answers(definition, definition.shape, described)
    dtypes = _answers(definition, definition.dtype, described)
    produced: list[Any] = []
    tried = trial(definition, arguments, empty) if definition.traits.layout_by_trial else NotImplemented
    if tried is not NotImplemented:
        return tried
    for returned, sizes, dtype in zip(schema.returns, shapes, dtypes, strict=True):
        if not isinstance(returned.type, TensorType) or sizes is None or dtype is None or None in sizes:
            tried = trial(definition, arguments, empty)
            if tried is NotImplemented:
                raise NotImplementedError(NO_FAKE.format(name=definition.name))
            return tried
        produced.append(empty(sizes, dtype, _strides(definition, arguments, tuple(sizes))))
    return produced[0] if len(produced) == 1 else tuple(produced)


def _answers(definition: OpDef, rule: Any, described: Sequence[Any]) -> Sequence[Any]:
    count = len(definition.schema.returns)
    if rule is None:
        return (None,) * count
    try:
        answer = rule(*described)
    except UnknownValueError:
        return (None,) * count
    if count == 1 and not (isinstance(answer, tuple) and len(answer) == 1 and not isinstance(answer[0], int | None)):
        return (answer,)
    return answer if isinstance(answer, tuple) and len(answer) == count else (None,) * count


def _described(value: Any) -> Any:
    if isinstance(value, Tensor):
        return TensorType(dtype=value.dtype, sizes=tuple(value._array.shape), device=value.device)
    return [_described(v) for v in value] if type(value) in (list, tuple) else value


_ELEMENTWISE: Final = frozenset({"pointwise", "special"})


def _strides(
    definition: OpDef, arguments: Sequence[Any], sizes: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The strides of a result: those that elementwise operators give, those of what it is like, else row-major."""
    index_of = definition.schema.index
    if definition.family in _ELEMENTWISE:
        return result_strides(sizes, [t._array for t in _tensors(arguments)])
    if "memory_format" in index_of:
        memory_format = arguments[index_of["memory_format"]]
        like = arguments[0].stride() if isinstance(arguments[0], Tensor) else None
        default = 1 if like is not None and definition.name.endswith("_like") else 0
        return strides_for(sizes, default if memory_format is None else memory_format, like)
    return None


def _written(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """What an operator gives that writes its arguments: these, whose sizes must be those of what is written."""
    schema = definition.schema
    targets = [a for a, f in zip(arguments, schema.arguments, strict=False) if f.alias is not None and f.alias.is_write]
    if definition.family == "out":
        _fit_targets(definition, arguments, targets)
    elif (rule := _computed_shape(definition)) is not None:
        described = [_described(value) for value in arguments]
        (sizes,) = _answers(definition, rule, described)[:1]
        if sizes is not None and None not in sizes and tuple(sizes) != targets[0]._array.shape:
            raise RuntimeError(
                f"output with shape {list(targets[0]._array.shape)} doesn't match the broadcast shape {list(sizes)}"
            )
    for target in _tensors(targets):
        refuse_writing(target._storage.version)
        target.bump_version()
    returned = [r for r in schema.returns if isinstance(r.type, TensorType)]
    if not returned:
        return None
    return targets[0] if len(returned) == 1 else tuple(targets[: len(returned)])


def _fit_targets(definition: OpDef, arguments: Sequence[Any], targets: Sequence[Tensor]) -> None:
    """Give what an operator writes its results into the sizes of these."""
    fitting = functional_of(definition)
    if fitting is None:
        raise NotImplementedError(NO_FAKE.format(name=definition.name))
    produced = results_of(fitting, arguments[: len(fitting.schema.arguments)])
    for target, result in zip(targets, produced, strict=True):
        if target._array.shape != result._array.shape:
            target._array, target._storage = dataless.window(result._array.shape, None, target.dtype, META)


def _computed_shape(definition: OpDef) -> Any:
    """The rule for the sizes of what an operator in place computes before it writes."""
    overload = f".{definition.schema.overload}" if definition.schema.overload else ""
    fresh = registry.find(registry.out_of_place(definition.name) + overload)
    is_same = fresh is not None and len(fresh.schema.arguments) == len(definition.schema.arguments)
    return fresh.shape if fresh is not None and is_same else definition.shape


def results_of(definition: OpDef, arguments: Sequence[Any]) -> Sequence[Tensor]:
    """The results of an operator without data, always several."""
    produced = run(definition, arguments)
    if produced is NotImplemented:
        produced = results(definition, arguments)
    return produced if isinstance(produced, tuple | list) else (produced,)


def functional_of(definition: OpDef) -> OpDef | None:
    """The overload that gives new tensors where this one writes into `out`."""
    inputs = [(a.name, a.type) for a in definition.schema.arguments if not a.is_out]
    for candidate in registry.overloads(definition.name):
        same = [(a.name, a.type) for a in candidate.schema.arguments] == inputs
        if same and not candidate.schema.is_mutable:
            return candidate
    return None


META_RULES: RuleTable[Any] = RuleTable("what an operator gives without data, where its rules do not say all")
CONCERNS.append(_concerns)
KERNELS.insert(0, run)
