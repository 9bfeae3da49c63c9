"""Kernels by dispatch key: what users registered in place of an operator's kernel, or for an operator of their own.

A key says for whom a kernel is: `CPU`, `CUDA` and `Meta` for tensors there, `Autograd` for what happens before
gradients would be recorded, `CompositeExplicitAutograd` for all devices, and `CompositeImplicitAutograd` for operators
that are nothing but a spelling of others. While a kernel runs, the same operator's calls go past it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from flambeau.schema.opdef import OpDef
from flambeau.tensor.below import AUTOGRAD, CONCERNS, KERNELS, overrides, presented, unwrapped_results
from flambeau.tensor.interceptors import changed, stack
from flambeau.tensor.subclasses import special
from flambeau.tensor.tensor import Tensor

IMPLICIT: Final = "CompositeImplicitAutograd"
EXPLICIT: Final = "CompositeExplicitAutograd"
KEYS: Final = (AUTOGRAD, "Functionalize", "Batched", "Python", "CPU", "CUDA", "Meta", EXPLICIT, IMPLICIT)
"""The names of keys, in the order in which a call goes to them."""
OTHER_NAMES: Final = {
    "AutogradCPU": AUTOGRAD, "AutogradCUDA": AUTOGRAD, "FuncTorchBatched": "Batched", "cpu": "CPU", "cuda": "CUDA",
    "meta": "Meta", "": IMPLICIT,
}  # fmt: skip
_OF_DEVICE: Final = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}

NO_FAKE: Final = (
    "{name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. "
    "Give it one with flambeau.library.register_fake."
)
NO_KERNEL: Final = (
    "Could not run '{name}' with arguments from the '{key}' backend. This could be because the operator doesn't exist "
    "for this backend. '{name}' is only available for these backends: [{known}]."
)

Kernel = Callable[..., Any]


class Table:
    """Kernels by operator and key, and the fallbacks of keys."""

    def __init__(self) -> None:
        self.kernels: dict[str, dict[str, Kernel]] = {}
        self.fallbacks: dict[str, Kernel] = {}
        self.version = 0
        self.overridden_names: frozenset[str] = frozenset()
        """Operators of the package that have kernels of users."""

    def set(self, full_name: str, key: str, kernel: Kernel | None) -> Kernel | None:
        """Register a kernel, or take it away with None; the one that was there before."""
        by_key = self.kernels.setdefault(full_name, {})
        before = by_key.pop(key, None)
        if kernel is not None:
            by_key[key] = kernel
        if not by_key:
            del self.kernels[full_name]
        self.version += 1
        names = {name.partition(".")[0] for name in self.kernels}
        self.overridden_names = frozenset(name for name in names if name.startswith("aten::"))
        overrides.exist = bool(self.overridden_names)
        special.exists = True
        return before

    def get(self, full_name: str, key: str) -> Kernel | None:
        """The kernel for a key; None where it is passed over at the moment."""
        kernel = self.kernels.get(full_name, {}).get(key)
        excluded = stack().excluded
        is_passed = kernel is None or (f"{key} of {full_name}" in excluded) or (key != AUTOGRAD and key in excluded)
        return None if is_passed else kernel


table: Final = Table()


@contextmanager
def past(full_name: str, key: str) -> Iterator[None]:
    """Within the block, calls of an operator go past its kernel for a key."""
    with changed(excluded=stack().excluded | {f"{key} of {full_name}"}):
        yield


def is_overridden(definition: OpDef) -> bool:
    """Whether an operator has kernels of users."""
    return definition.full_name in table.kernels or bool(table.fallbacks)


def key_of(values: Sequence[Any]) -> str:
    """The key of the device that the tensors of a call are on: of the first that is not on the CPU, else `CPU`."""
    for value in values:
        if isinstance(value, Tensor) and value.device.type != "cpu":
            return _OF_DEVICE.get(value.device.type, value.device.type)
        if isinstance(value, list | tuple) and (key := key_of(value)) != "CPU":
            return key
    return "CPU"


def call(kernel: Kernel, definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run a user's kernel on the arguments of an operator."""
    _, args, kwargs = presented(definition, arguments)
    return unwrapped_results(definition, kernel(*args, **kwargs))


def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run a user's kernel for the device of the arguments; NotImplemented where there is none."""
    key = key_of(arguments)
    for name in (key, EXPLICIT) if key != "Meta" else (key,):
        kernel = table.get(definition.full_name, name)
        if kernel is not None:
            with past(definition.full_name, name):
                return call(kernel, definition, arguments)
    return NotImplemented


def run_own(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run an operator that has no kernel but those of users. Raises NotImplementedError if none is for its tensors."""
    result = run(definition, arguments)
    if result is not NotImplemented:
        return result
    implicit = table.get(definition.full_name, IMPLICIT)
    if implicit is not None:
        return call(implicit, definition, arguments)
    key = key_of(arguments)
    if key in table.fallbacks:
        func, args, kwargs = presented(definition, arguments)
        return unwrapped_results(definition, table.fallbacks[key](func, *args, **kwargs))
    known = ", ".join(table.kernels.get(definition.full_name, {}))
    text = NO_FAKE if key == "Meta" else NO_KERNEL
    raise NotImplementedError(text.format(name=definition.full_name, key=key, known=known))


CONCERNS.append(lambda definition, arguments: is_overridden(definition))
KERNELS.append(run)
