"""What the names in pickles of archives stand for: tensors, tagged lists and dicts, devices, objects of programs.

Names are looked up here and in the code of the archive, nowhere else.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, Final, Protocol

from flambeau.nn.parameter import Parameter
from flambeau.schema import dtype as dtypes
from flambeau.schema.device import META, Device
from flambeau.schema.dtype import DType
from flambeau.serialize.archive_format import (
    PICKLE_MODULE,
    QUANTIZED_STORAGES,
    RESTORE_TYPE,
    STORAGES,
    TAGGED_LISTS,
)
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.limits import exceeded
from flambeau.serialize.archive_reader.pickle_machine import PickleError, PickleMachine, check_key, shown
from flambeau.serialize.archive_reader.storage_reader import (
    UNTYPED,
    MapLocation,
    Storages,
    StoredMemory,
    as_elements,
    storage_kind,
    tensor_of,
)
from flambeau.tensor.formats import QScheme
from flambeau.tensor.quantized import PerChannel, PerTensor, on_storage
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor
from flambeau.util.names import ROOT, is_qualified
from flambeau.util.no_collection import no_collection
from flambeau.util.record import dataclass


class ObjectMaker(Protocol):
    """Who makes objects of the classes that an archive has code for."""

    def named(self, name: str) -> Any:
        """A class or enum by its qualified name. Raises ArchiveError."""

    def new(self, kind: Any) -> Any:
        """An object without attributes. Raises PickleError for what is no class."""

    def build(self, instance: Any, state: Any) -> None:
        """Give an object its attributes. Raises PickleError, ArchiveError."""

    def member(self, kind: Any, value: Any) -> Any:
        """The member of an enum with a value. Raises PickleError."""

    def is_given(self, container: Any) -> bool:
        """Whether an object has this list or dict already."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a pickle may apply."""

    name: str
    run: Callable[..., Any]
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class ProgramClass:
    """A class or enum of the archive's code."""

    name: str
    kind: Any


@dataclass(frozen=True, slots=True)
class Plain:
    """A name that only says which of several things something is."""

    name: str


def _tagged(items: Any, tag: Any = None) -> Any:
    if not isinstance(items, list | dict) or not isinstance(tag, str | None):
        raise PickleError(f"expected a list or dict with the annotation of its type, got {type(items).__name__}")
    return items


def _list_of(*types: type) -> Callable[[Any], Any]:
    exactly = set(types)

    def check(items: Any) -> Any:
        if type(items) is not list:
            raise PickleError(f"expected a list, got {type(items).__name__}")
        if set(map(type, items)) <= exactly:
            return items
        for item in items:
            if not isinstance(item, types) or (isinstance(item, bool) and bool not in types):
                expected = " or ".join(t.__name__ for t in types)
                raise PickleError(f"expected a list of {expected}, got {type(item).__name__} in it")
        return items

    return check


def _device(*parts: Any) -> Device:
    kind, index = (*parts, None)[:2]
    if not isinstance(kind, str) or not isinstance(index, int | None):
        raise PickleError(f"a device cannot be {shown(parts)}")
    try:
        return Device(kind, index)
    except RuntimeError as error:
        raise PickleError(str(error)) from None


def _complex(real: Any, imaginary: Any) -> complex:
    if not isinstance(real, int | float) or not isinstance(imaginary, int | float):
        raise PickleError("the parts of a complex number are no numbers")
    return complex(real, imaginary)


def _tensor(storage: Any, offset: Any, sizes: Any, strides: Any, grad: Any, hooks: Any, flags: Any = None) -> Any:
    if isinstance(storage, StoredMemory) and storage.dtype.is_quantized:
        raise PickleError(f"storage '{storage.key}' ({storage.kind.name}): {NO_SCALE}")
    return tensor_of(storage, offset, sizes, strides, grad, flags)


def _tensor_of_bytes(
    storage: Any, offset: Any, sizes: Any, strides: Any, grad: Any, hooks: Any, dtype: Any, flags: Any = None
) -> Any:
    """A tensor of elements whose storages have no class of their own."""
    return tensor_of(as_elements(storage, dtype), offset, sizes, strides, grad, flags)


NO_SCALE: Final = "its elements stand for numbers by a scale and a zero point, and the tensor has none"


def _quantized(
    storage: Any, offset: Any, sizes: Any, strides: Any, parameters: Any, grad: Any, hooks: Any
) -> Any:
    """A quantised tensor, whose parameters are a scheme and what it says of scales and zero points."""
    tensor = tensor_of(storage, offset, sizes, strides, False, None)
    quantizer = _quantizer(parameters, sizes)
    if not tensor.dtype.is_quantized:
        raise PickleError(f"a quantised tensor cannot have elements of {tensor.dtype.name}")
    if not isinstance(tensor, Tensor):
        return tensor
    if tensor.device == META:
        raise PickleError("a quantised tensor is not there without data: load it to the CPU")
    return on_storage(tensor._array, tensor._storage, quantizer)


def _quantizer(parameters: Any, sizes: Any) -> PerTensor | PerChannel:
    match parameters:
        case (Plain(name="per_tensor_affine"), float(scale), int(zero_point)):
            return PerTensor(scale, zero_point)
        case (Plain(name=name), Tensor() as scales, Tensor() as zero_points, int(axis)) if name in _PER_CHANNEL:
            count = scales._array.size
            if not 0 <= axis < len(sizes) or {scales._array.shape, zero_points._array.shape} != {(sizes[axis],)}:
                raise PickleError(f"{count} scales along axis {axis} do not fit a tensor of sizes {shown(list(sizes))}")
            return PerChannel(scales._array, zero_points._array, axis, QScheme[name])
    raise PickleError(f"expected a scheme of quantisation, a scale and a zero point, got {shown(parameters)}")


_PER_CHANNEL: Final = ("per_channel_affine", "per_channel_affine_float_qparams")


def _ordered(items: Any = ()) -> OrderedDict[Any, Any]:
    pairs = items if isinstance(items, list | tuple) else (None,)
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise PickleError("an ordered dict is made of something that is no list of keys and values")
    for key, _ in items:
        check_key(key)
    return OrderedDict(items)


def _counter(counts: Any = None) -> Counter[Any]:
    counts = {} if counts is None else counts
    if not isinstance(counts, dict) or not all(type(n) is int for n in counts.values()):
        raise PickleError("a counter is made of something that is no dict of numbers")
    return Counter(counts)


def _parameter(data: Any, requires_grad: Any, hooks: Any) -> Any:
    if not isinstance(data, Tensor) or not isinstance(requires_grad, bool):
        raise PickleError("a parameter is made of something that is no tensor")
    return Parameter(data.detach(), requires_grad)


def _parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    return _with_attributes(_parameter(data, requires_grad, hooks), state)


def _typed(function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor with attributes of its users."""
    is_tensor = isinstance(kind, Plain) and kind.name == "Tensor" and isinstance(arguments, tuple)
    makers = (_tensor, _tensor_of_bytes, _quantized)
    if not is_tensor or not isinstance(function, Function) or function.run not in makers:
        raise PickleError(f"expected what makes a tensor, got {shown(function)} for {shown(kind)}")
    if not function.least <= len(arguments) <= function.most:
        raise PickleError(f"{function.name} does not take {len(arguments)} arguments")
    return _with_attributes(function.run(*arguments), state)


def _with_attributes(tensor: Any, state: Any) -> Any:
    if not isinstance(state, dict) or not all(isinstance(name, str) and not name.startswith("__") for name in state):
        raise PickleError("the attributes of a tensor are no dict of names and values")
    if isinstance(tensor, Tensor):
        tensor.__dict__.update(state)
    return tensor


def _size(items: Any) -> Any:
    if not isinstance(items, tuple | list) or not all(type(n) is int for n in items):
        raise PickleError("a size is made of something besides numbers")
    return Size(items)


def _set(items: Any) -> set[Any]:
    if not isinstance(items, list | tuple):
        raise PickleError("a set is made of something that is no list")
    for item in items:
        check_key(item)
    return set(items)


def _bytes(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise PickleError(f"bytes are made of something that is no text of latin1 letters: {shown(text)}")
    try:
        return text.encode("latin1")
    except UnicodeEncodeError:
        raise PickleError(f"bytes are made of a text with other letters than those of latin1: {shown(text)}") from None


def _refused(why: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        raise PickleError(why)

    return refuse


_SPARSE = "it is a sparse tensor, and Flambeau has none: call to_dense() before saving"
_TYPED_LISTS: Final = {"build_intlist": (int,), "build_doublelist": (float, int), "build_boollist": (bool,)}
_FUNCTIONS: Final[dict[tuple[str, str], Function]] = {
    ("torch._utils", "_rebuild_tensor_v2"): Function("_rebuild_tensor_v2", _tensor, 6, 7),
    ("torch._utils", "_rebuild_tensor_v3"): Function("_rebuild_tensor_v3", _tensor_of_bytes, 7, 8),
    ("torch._utils", "_rebuild_parameter"): Function("_rebuild_parameter", _parameter, 3, 3),
    ("torch._utils", "_rebuild_parameter_with_state"): Function(
        "_rebuild_parameter_with_state", _parameter_with_state, 4, 4
    ),
    ("torch._tensor", "_rebuild_from_type_v2"): Function("_rebuild_from_type_v2", _typed, 4, 4),
    ("torch._utils", "_rebuild_qtensor"): Function("_rebuild_qtensor", _quantized, 7, 7),
    ("torch._utils", "_rebuild_sparse_tensor"): Function("_rebuild_sparse_tensor", _refused(_SPARSE), 0, 99),
    ("torch._utils", "_rebuild_sparse_csr_tensor"): Function("_rebuild_sparse_csr_tensor", _refused(_SPARSE), 0, 99),
    ("collections", "OrderedDict"): Function("OrderedDict", _ordered, 0, 1),
    ("collections", "Counter"): Function("Counter", _counter, 0, 1),
    ("_codecs", "encode"): Function("encode", _bytes, 2, 2),
    ("torch", "device"): Function("device", _device, 1, 2),
    ("torch", "Size"): Function("Size", _size, 1, 1),
    ("builtins", "complex"): Function("complex", _complex, 2, 2),
    ("__builtin__", "complex"): Function("complex", _complex, 2, 2),
    ("builtins", "set"): Function("set", _set, 1, 1),
    ("__builtin__", "set"): Function("set", _set, 1, 1),
    (PICKLE_MODULE, RESTORE_TYPE): Function(RESTORE_TYPE, _tagged, 2, 2),
    **{
        (PICKLE_MODULE, name): Function(name, _list_of(*_TYPED_LISTS[name]) if name in _TYPED_LISTS else _tagged, 1, 1)
        for name in TAGGED_LISTS
    },
}
_PLAIN_NAMES: Final = frozenset(
    ("Tensor", "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric",
     "per_channel_affine_float_qparams")
)  # fmt: skip


class Names:
    """The meanings of names, for one record."""

    def __init__(self, storages: Storages, objects: ObjectMaker | None) -> None:
        self._storages = storages
        self._objects = objects

    @property
    def is_program(self) -> bool:
        """Whether there may be objects of the archive's classes."""
        return self._objects is not None

    def named(self, module: str, name: str) -> Any:
        """What a global is: a function, a storage class, a dtype, or a class of the archive's code."""
        function = _FUNCTIONS.get((module, name))
        if function is not None:
            return function
        if module == ROOT or is_qualified(module):
            if self._objects is None:
                raise PickleError(f"it holds an object of class {module}.{name}, which only archives of programs can")
            qualified = f"{module}.{name}"
            return ProgramClass(qualified, self._objects.named(qualified))
        if module == "torch.storage" and name == UNTYPED.name:
            return UNTYPED
        if module == "torch" and (name in STORAGES or name in QUANTIZED_STORAGES):
            return storage_kind(name)
        if module == "torch" and name in _PLAIN_NAMES:
            return Plain(name)
        dtype = getattr(dtypes, "bool_" if name == "bool" else name, None)
        if module == "torch" and isinstance(dtype, DType):
            return dtype
        raise PickleError(
            f"it names {module}.{name}, which is neither a tensor nor a plain value; of a module of Python's, save the "
            "state_dict, or script it and save that"
        )

    def applied(self, function: Any, argument: Any) -> Any:
        """The value of a function, or the member of an enum."""
        if isinstance(function, ProgramClass) and self._objects is not None:
            value = argument[0] if isinstance(argument, tuple) and len(argument) == 1 else argument
            return self._objects.member(function.kind, value)
        if not isinstance(function, Function) or not isinstance(argument, tuple):
            raise PickleError(f"expected a function and its arguments, got {shown(function)}")
        if not function.least <= len(argument) <= function.most:
            raise PickleError(f"{function.name} does not take {len(argument)} arguments")
        return function.run(*argument)

    def new(self, kind: Any, arguments: Any) -> Any:
        """An object of a class of the archive's code."""
        if not isinstance(kind, ProgramClass) or self._objects is None or arguments != ():
            raise PickleError(f"expected a class of the archive's code, got {shown(kind)}")
        return self._objects.new(kind.kind)

    def build(self, instance: Any, state: Any) -> None:
        """Give an object its attributes; what a state_dict says of itself is left out."""
        if isinstance(instance, OrderedDict):
            return
        if self._objects is None:
            raise PickleError(f"{shown(instance)} cannot be given a state")
        self._objects.build(instance, state)

    def is_given(self, container: Any) -> bool:
        """Whether an object of the archive has it."""
        return self._objects is not None and self._objects.is_given(container)

    def persistent(self, key: Any) -> Any:
        """A storage."""
        if not isinstance(key, tuple) or len(key) != 5 or key[0] != "storage":
            raise PickleError(f"expected a storage outside of the pickle, got {shown(key)}")
        return self._storages.find(*key[1:])


def read_pickle(
    container: Container, name: str, objects: ObjectMaker | None, map_location: MapLocation, *,
    shapes_only: bool = False,
) -> Any:  # fmt: skip
    """The value in the record `name.pkl`, with the storages in the folder `name`. Raises ArchiveError."""
    storages = Storages(container, name, map_location, shapes_only=shapes_only)
    return read_with_storages(container, name, objects, storages)


def read_with_storages(container: Container, name: str, objects: ObjectMaker | None, storages: Storages) -> Any:
    """The value in the record `name.pkl`, whose tensors lie in storages. Raises ArchiveError."""
    return _read(container, f"{name}.pkl", Names(storages, objects))


def read_plain(container: Container, record: str) -> Any:
    """A pickle without tensors and objects. Raises ArchiveError."""
    return _read(container, record, Names(Storages(container, "", str, shapes_only=True), None))


def _read(container: Container, record: str, names: Names) -> Any:
    limits = container.limits
    if container.size(record) > limits.pickle_bytes:
        raise container.error(exceeded(limits, "pickle_bytes"), record)
    data = container.read(record)
    machine = PickleMachine(data, names, limits)
    try:
        with no_collection():  # what is read stays
            value = machine.run()
    except PickleError as error:
        raise container.error(f"{error} (before byte {machine.position})", record) from None
    if machine.position != len(data):
        raise container.error(f"expected {machine.position} bytes, got {len(data)}", record)
    return value
