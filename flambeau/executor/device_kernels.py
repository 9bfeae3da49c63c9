"""Operators by themselves on devices: one kernel of our own, where the kernel over arrays may launch several.

Which calls these are follows from the operator and its arguments, as on the host (`executor.large_calls`), but from
the first element on: on a device the number of launches is what small calls cost. Equal calls have one kernel, which is
kept by the pattern of its arguments.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from flambeau.backends.cuda import sums
from flambeau.codegen import available, native_call
from flambeau.codegen.cuda.schedule import ACCESS_BYTES
from flambeau.cuda.tensors import is_on_device
from flambeau.executor.devices import place_checks as _place_checks  # noqa: F401  (places that arrays name there)
from flambeau.executor.devices.found_errors import GroupErrors
from flambeau.executor.devices.groups import DeviceGroup, on_one_device
from flambeau.executor.devices.launches import GroupLaunch
from flambeau.executor.large_calls import graph_of_call
from flambeau.ops.cuda_devices.cuda_rules import overwrite
from flambeau.ops.derivatives.meaning_steps import is_for_numbers
from flambeau.ops.families.overwrite import check_writeable
from flambeau.ops.families.variants import check_overlap
from flambeau.ops.large import is_worthwhile
from flambeau.passes.fusible import CHANGES, GATHERS
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.specialise.cache import SpecialisationCache
from flambeau.tensor import below, layout
from flambeau.tensor.below import is_plain_on_device
from flambeau.tensor.tensor import Tensor
from flambeau.util.array_address import address_of
from flambeau.util.inversions import DEVICE_COPY, DEVICE_KERNEL
from flambeau.util.made_objects import make_natively

MAX_PATTERNS: Final = 32
"""Patterns of arguments of one operator that kernels are made for; calls of others run by their kernels over arrays."""
WITH_NUMBERS: Final = 8
"""From so many on, kernels are for any numbers, which they are given."""
MAX_LAUNCHES: Final = 256
"""Calls whose launches are kept."""
CONVERSION: Final = "prims::convert_element_type"
PLACES: Final = GATHERS.keys() | CHANGES
"""What operators declare that read or write at places which tensors name."""
FAMILIES: Final = frozenset({"pointwise", "reduce", "row"})


class _Known(NamedTuple):
    """What launches the kernel of a call."""

    launch: GroupLaunch
    errors: GroupErrors
    is_given_numbers: bool


class DeviceKernels:
    """The kernels of one operator."""

    def __init__(self, definition: OpDef) -> None:
        self._definition = definition
        self._adds = definition.accumulator in CHANGES
        self._numbers = [is_for_numbers(a.type) for a in definition.schema.arguments]
        self.groups: SpecialisationCache[Hashable, DeviceGroup | bool] = SpecialisationCache(
            f"device kernels of {definition.full_name}", MAX_PATTERNS, describe=str
        )
        """By pattern; False where no kernel is of use."""
        self._launches: dict[Hashable, _Known] = {}
        """By all that decides about a launch, for calls that are made again."""

    def __call__(self, arguments: Sequence[Any]) -> Any:
        """The result of a call; NotImplemented where no kernel gives it."""
        group, is_given_numbers = self._group_of(arguments)
        if group is None:
            return NotImplemented
        results = group.on_device(self._inputs(arguments, with_numbers=is_given_numbers))
        return NotImplemented if results is None else results[0]

    def _inputs(self, arguments: Sequence[Any], *, with_numbers: bool) -> list[Any]:
        return [
            a for a, takes in zip(arguments, self._numbers, strict=True)
            if isinstance(a, Tensor) or (with_numbers and takes and type(a) is float)
        ]  # fmt: skip

    def _group_of(self, arguments: Sequence[Any]) -> tuple[DeviceGroup | None, bool]:
        """The kernels for calls of this pattern, made now if it is new, and whether they are given the call's numbers;
        None where there are none. The first kernels of an operator hold numbers, later ones are for any."""
        pattern = tuple(map(_pattern, arguments))
        if None in pattern:
            return None, False
        is_number = [takes and type(a) is float for a, takes in zip(arguments, self._numbers, strict=True)]
        try:
            group = self.groups.get(pattern)
            if group is None and len(self.groups) >= WITH_NUMBERS and any(is_number):
                pattern = tuple([float if is_it else p for p, is_it in zip(pattern, is_number, strict=True)])
                group = self.groups.get(pattern)
        except TypeError:  # an argument that cannot be looked up
            return None, False
        if group is None:
            if len(self.groups) >= MAX_PATTERNS:
                return None, False
            is_open = [p is float for p in pattern]
            group = self.groups.get_or_make(pattern, lambda cause: self._group(arguments, is_open))
        return (None, False) if isinstance(group, bool) else (group, float in pattern)

    def quickly(self, arguments: Sequence[Any]) -> Any:
        """The same before anybody else is asked, where nobody has to be: all tensors are plain ones of devices."""
        operands: list[Tensor] = []
        known = self._launch_of(arguments, operands)
        if known is None:
            return NotImplemented
        launch = known.launch
        inputs = self._with_numbers(arguments, launch) if known.is_given_numbers else operands
        return launch(inputs, known.errors.here())[0] if launch.may_fail else launch(inputs)[0]

    def _with_numbers(self, arguments: Sequence[Any], launch: GroupLaunch) -> list[Tensor]:
        """The inputs of a kernel that is for any numbers: these are among them."""
        return on_one_device(self._inputs(arguments, with_numbers=True), launch.device, launch.dtypes)

    def write(self, arguments: Sequence[Any], target: Tensor) -> bool:
        """Write the result of a call into memory of its sizes, dtype and strides; whether that could be.

        Tensors of the call may lie in the same memory where each element depends on those at its place alone.
        """
        operands: list[Tensor] = []
        known = self._launch_of(arguments, operands)
        if known is None or not known.launch.writes(target):
            return False
        is_elementwise = self._definition.family == "pointwise"
        for operand in operands:
            if operand._storage is target._storage and not (is_elementwise and _lies_alike(operand, target)):
                return False
        launch = known.launch
        check_writeable(target)
        inputs = self._with_numbers(arguments, launch) if known.is_given_numbers else operands
        if launch.may_fail:
            launch(inputs, known.errors.here(), target)
        else:
            launch(inputs, into=target)
        return True

    def _launch_of(self, arguments: Sequence[Any], operands: list[Tensor]) -> _Known | None:
        """What launches the kernel of a call, whose tensors are added to `operands`; None where nothing does."""
        key: list[Any] = []
        for argument in arguments:
            if isinstance(argument, Tensor):
                if argument.is_wrapped_number or not is_plain_on_device(type(argument)):
                    return None
                array = argument._array
                ordinal = argument._storage.device.index
                key.append((array.dtype, array.shape, array.strides, ordinal, address_of(array) % ACCESS_BYTES == 0))
                operands.append(argument)
            else:
                key.append((int, argument) if type(argument) is int else _pattern(argument))
        if not operands:
            return None
        if self._adds:
            key.append(sums.deterministic)
        call = tuple(key)
        try:
            known = self._launches.get(call)
        except TypeError:  # an argument that cannot be looked up
            return None
        return known or self._known_launch(call, arguments)

    def _known_launch(self, key: Hashable, arguments: Sequence[Any]) -> _Known | None:
        """What launches the kernel of a call; it is kept for others like it."""
        group, is_given_numbers = self._group_of(arguments)
        launch = None if group is None else group.launch_for(self._inputs(arguments, with_numbers=is_given_numbers))
        if group is None or launch is None:
            return None
        if len(self._launches) >= MAX_LAUNCHES:
            self._launches.clear()
        known = self._launches[key] = _Known(launch, group.errors, is_given_numbers)
        return known

    def _group(self, arguments: Sequence[Any], is_open: Sequence[bool]) -> DeviceGroup | bool:
        """Kernels that hold the numbers of a call, but for those that are open; False where there are none."""
        definition = self._definition
        is_ours = definition.family in ("pointwise", "reduce") or definition.accumulator in PLACES
        if not is_ours and not is_worthwhile(definition, arguments):
            return False
        graph = graph_of_call(definition, arguments, is_open)
        return False if graph is None else DeviceGroup(definition.schema.name.partition("::")[2], graph)


def _pattern(argument: Any) -> Any:
    """What of an argument decides which kernel a call has; None where there is none for such an argument."""
    if isinstance(argument, Tensor):
        is_taken = is_on_device(argument) and not argument.is_wrapped_number
        return (argument._array.dtype, argument._array.ndim) if is_taken else None
    if isinstance(argument, float):
        return argument.hex()
    if isinstance(argument, list):
        return (list, *map(type, argument), *argument)
    return type(argument), argument


_kernels: dict[str, DeviceKernels | None] = {}
"""By the full name of the operator; None for one that no kernel computes."""


@DEVICE_KERNEL.provide
def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run an operator on tensors of a device by a kernel of our own; NotImplemented where there is none."""
    if definition.family in ("in_place", "out"):
        return _written(definition, arguments)
    known = _kernels_of(definition)
    return NotImplemented if known is None else known(arguments)


def _kernels_of(definition: OpDef) -> DeviceKernels | None:
    """The kernels of an operator; None if no kernel computes it."""
    known = _kernels.get(definition.full_name, ...)
    if known is ...:
        is_one = _may_have_kernel(definition) and len(definition.schema.returns) == 1 and available()
        known = _kernels[definition.full_name] = DeviceKernels(definition) if is_one else None
        if known is not None and registry.find(definition.full_name) is definition:
            below.QUICK[id(definition)] = known.quickly
            _make_natively()
    return known


@DEVICE_COPY.provide
def copy(target: Tensor, source: Tensor) -> bool:
    """Write the elements of a tensor into another of the same device and sizes; whether a kernel of ours does."""
    known = _kernels_of(registry.get(CONVERSION))
    return known is not None and known.write((source, target.dtype.code), target)


def _lies_alike(operand: Tensor, target: Tensor) -> bool:
    first, second = operand._array, target._array
    is_alike = first.dtype is second.dtype and first.shape == second.shape and first.strides == second.strides
    return is_alike and address_of(first) == address_of(second)


@cache
def _make_natively() -> None:
    """Have tensors, of which every call makes some, made by native code."""
    if address := native_call.make_code():
        make_natively(address)


def _may_have_kernel(definition: OpDef) -> bool:
    return definition.family in FAMILIES or definition.accumulator in PLACES


def _written(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """An operator that writes its result: what the one without does, then put there."""
    count = len(definition.schema.arguments)
    if definition.family == "out" and (len(definition.schema.returns) != 1 or len(arguments) != count):
        return NotImplemented
    plain = _plain(definition)
    if plain is None:
        return NotImplemented
    target = arguments[-1] if definition.family == "out" else arguments[0]
    kernels, operands = _kernels_of(plain), arguments[: len(plain.schema.arguments)]
    check_overlap(target, operands)
    if kernels is not None and kernels.write(operands, target):
        target.bump_version()
        return target
    if not layout.is_non_overlapping_and_dense(target._array.shape, target.stride()):
        return NotImplemented
    result = run(plain, operands)
    if result is NotImplemented or result.dtype is not target.dtype or result._array.shape != target._array.shape:
        return NotImplemented
    check_writeable(target)
    overwrite(target, result)
    target.bump_version()
    return target


_plains: dict[str, OpDef | None] = {}


def _plain(definition: OpDef) -> OpDef | None:
    """The operator that gives a new tensor in the place of one that writes; None where there is none like it."""
    if definition.full_name not in _plains:
        wanted = [(a.name, str(a.type)) for a in definition.schema.arguments]
        wanted = wanted[:-1] if definition.family == "out" else wanted
        overloads = [
            d
            for d in registry.overloads(registry.out_of_place(definition.name))
            if d.family in FAMILIES and [(a.name, str(a.type)) for a in d.schema.arguments] == wanted
        ]
        _plains[definition.full_name] = overloads[0] if len(overloads) == 1 else None
    return _plains[definition.full_name]
