"""Operators on tensors of a device: views by their addresses, the rest by own kernels or by the operators' kernels over
arrays, which run on CuPy's.

While a kernel over arrays runs, the tensors of the call hold arrays of CuPy in place of addresses, and what it makes
itself lies on the device too (`flambeau.tensor.array_library`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.cuda import capturing, library, tensors
from flambeau.cuda.allocator import temporaries
from flambeau.cuda.devices import device as using
from flambeau.cuda.devices import numbered
from flambeau.cuda.storage import CudaStorage
from flambeau.cuda.tensors import is_on_device
from flambeau.ops.families.composite import CompositeKernel
from flambeau.schema.device import Device
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.rule_tables import RuleTable
from flambeau.tensor.array_library import on_device
from flambeau.tensor.below import CONCERNS, KERNELS, ON_DEVICES
from flambeau.tensor.settled import settled
from flambeau.tensor.tensor import Tensor, plain
from flambeau.util.inversions import DEVICE_KERNEL

OTHER_DEVICE: Final = (
    "{name}: expected all tensors to be on the same device, but found at least two devices, {first} and {second}. Move "
    "one of them with .to('{first}')"
)
NO_KERNEL: Final = (
    "{name} has no kernel for CUDA devices yet ({reason}). Compute it on the host: move its tensors with .cpu(), and "
    "the result back with .to('{device}')"
)


def tensors_among(values: Sequence[Any]) -> list[Tensor]:
    """All tensors of a call, those in lists too."""
    collected: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            collected.append(value)
        elif type(value) in (list, tuple):
            collected.extend(tensors_among(value))
    return collected


def device_among(values: Sequence[Any]) -> Device | None:
    """The device that a call names, if any."""
    return next((v for v in values if type(v) is Device), None)


def _concerns(definition: OpDef, arguments: Sequence[Any]) -> bool:
    named = device_among(arguments)
    return named is not None and named.type == "cuda" and definition.schema.concerns_tensors


def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run an operator on tensors of a device, or make some; NotImplemented where the call has to do with none.

    Raises what the operator raises, RuntimeError for tensors of several devices, and NotImplementedError for an
    operator that has no kernel for devices.
    """
    operands = tensors_among(arguments)
    named = device_among(arguments)
    if not any(map(is_on_device, operands)) and not _concerns(definition, arguments):
        return NotImplemented
    result = _by_rule(definition, arguments)
    if result is not NotImplemented:
        return result
    if definition.family in ("metadata", "query") or definition.is_about_tensor:
        return definition.kernel(*arguments)
    device = common_device(definition, operands) if named is None else named
    if definition.effect is Effect.RANDOM:
        return launch(definition, [None if type(a) is Device else a for a in arguments], numbered(device))
    if not any(map(is_on_device, operands)):
        return made_on_host(definition, arguments, numbered(device))
    if definition.family == "view" and not definition.traits.may_copy:
        return settled(definition.kernel(*arguments))
    if isinstance(definition.kernel, CompositeKernel):
        return definition.kernel(*arguments)
    return launch(definition, arguments, device)


def _by_rule(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """By the rule of the overload, or of all overloads but those that write into a given tensor."""
    rule = CUDA_RULES.get(definition.full_name)
    if rule is None and definition.family != "out":
        rule = CUDA_RULES.get(definition.name)
    return NotImplemented if rule is None else rule(definition, arguments)


def common_device(definition: OpDef, operands: Sequence[Tensor]) -> Device:
    """The device of a call. Tensors of the host that hold one number may be among others.

    Raises RuntimeError for tensors of several devices.
    """
    device = next(t.device for t in operands if is_on_device(t))
    for tensor in operands:
        if tensor.device != device and (tensor.ndim or is_on_device(tensor)):
            raise RuntimeError(OTHER_DEVICE.format(name=definition.name, first=device, second=tensor.device))
    return device


def launch(definition: OpDef, arguments: Sequence[Any], device: Device) -> Any:
    """Run an operator on a device by a kernel of our own, or by its kernel over arrays, on CuPy's."""
    result = DEVICE_KERNEL.implementation(definition, arguments)
    if result is not NotImplemented:
        return result
    if isinstance(definition.kernel, CompositeKernel):
        return definition.kernel(*arguments)
    with using(device.index), temporaries():
        return by_arrays(definition, arguments, device)


def by_arrays(definition: OpDef, arguments: Sequence[Any], device: Device) -> Any:
    """Run the kernel over arrays of an operator on CuPy's arrays."""
    if capturing.underway:
        capturing.look_at(definition)
    loan = Loan(device)
    kernel = getattr(definition.kernel, "run", definition.kernel)
    try:
        with on_device(library.cupy(), definition.name):
            result = kernel(*loan.lend(arguments))
    except TypeError as error:
        if not _is_for_want_of_a_kernel(str(error)):
            raise
        raise NotImplementedError(
            NO_KERNEL.format(name=definition.name, reason=str(error).partition(".")[0], device=device)
        ) from error
    except AttributeError as error:
        raise NotImplementedError(NO_KERNEL.format(name=definition.name, reason=error, device=device)) from error
    return loan.give_back(result)


def _is_for_want_of_a_kernel(text: str) -> bool:
    """Whether CuPy says that it does not have what a kernel over arrays asks for."""
    return any(
        part in text
        for part in ("Implicit conversion to a NumPy", "Unsupported type", "no implementation found", "NotImplemented")
    )


class Loan:
    """Tensors of a device as kernels over arrays get them, and what these give as tensors of the device."""

    __slots__ = ("_device", "_pairs")

    def __init__(self, device: Device) -> None:
        self._device = device
        self._pairs: list[tuple[Tensor, Tensor, Any]] = []

    def lend(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments, their tensors holding arrays of CuPy."""
        return [self._lent(a) for a in arguments]

    def _lent(self, value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(map(self._lent, value))
        if not isinstance(value, Tensor):
            return value
        for original, stand_in, _ in self._pairs:
            if original is value:
                return stand_in
        if is_on_device(value):
            array: Any = tensors.lent(value)
            stand_in = plain(array, value._storage)
        else:
            array = library.cupy().asarray(value._array)
            stand_in = plain(array, value._storage)
            stand_in.is_wrapped_number = value.is_wrapped_number
        self._pairs.append((value, stand_in, array))
        return stand_in

    def give_back(self, result: Any) -> Any:
        """The result of a kernel; what it did to a tensor that was lent is done to the tensor itself."""
        for original, stand_in, array in self._pairs:
            if stand_in._array is not array and is_on_device(original):
                moved = tensors.adopted(stand_in._array, self._device, self._storage_of(stand_in))
                original._array, original._storage = moved._array, moved._storage
        return self._returned(result)

    def _returned(self, value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(map(self._returned, value))
        if not isinstance(value, Tensor):
            return tensors.adopted(value, self._device) if hasattr(value, "__cuda_array_interface__") else value
        for original, stand_in, _ in self._pairs:
            if stand_in is value:
                return original
        if not hasattr(value._array, "__cuda_array_interface__"):
            return tensors.on_device(value, self._device)
        return tensors.adopted(value._array, self._device, self._storage_of(value))

    @staticmethod
    def _storage_of(tensor: Tensor) -> CudaStorage | None:
        return tensor._storage if isinstance(tensor._storage, CudaStorage) else None


def made_on_host(definition: OpDef, arguments: Sequence[Any], device: Device) -> Tensor:
    """What an operator makes of numbers alone, made on the host and brought to a device."""
    result: Tensor = definition.kernel(*[None if type(a) is Device else a for a in arguments])
    return tensors.on_device(result, device)


CUDA_RULES: RuleTable[Any] = RuleTable("what an operator does on a CUDA device, where it is not its kernel over arrays")
CAPTURED_RULES: RuleTable[Any] = RuleTable(
    "what an operator does on a CUDA device, by kernels and copies there alone, so that it may be part of a graph"
)
CONCERNS.append(_concerns)
KERNELS.insert(0, run)
ON_DEVICES.append(run)
