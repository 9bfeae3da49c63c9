"""Kernels that native code may take over: callables that run in Python until they are given an address.

Who gives it belongs to a higher floor, and is told of each call that ran in Python: `EAGER_CALL`. Calls on large arrays
are offered to `LARGE_CALL` before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ops.families.copied_elements import CopiedElements
from flambeau.schema import registry
from flambeau.tensor.array_library import is_on_device
from flambeau.tensor.repeated_kernels import with_native
from flambeau.tensor.tensor import Tensor
from flambeau.util.at_hand import is_hurried
from flambeau.util.inversions import EAGER_CALL, LARGE_CALL, LARGE_ENTRY
from flambeau.util.missed import MISSED
from flambeau.util.native_type import NativeBase, let_instances_be_native
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class OwnEntry:
    """What native code is told of a kernel of which it has an entry: that serves all calls of a kind, of any sizes, and
    leaves others."""

    name: str
    """Of the entry: see ``codegen.llvm.entry_products`` and ``entry_places``."""
    reads_lists: bool = False
    """Whether it takes lists apart itself; it serves calls without the last arguments then."""


class EntryKernel(NativeBase):  # type: ignore[misc]  # made at run time
    """The kernel of an overload whose work is loops over elements: all arguments in schema order."""

    __slots__ = ("besides", "entry", "may_be_large", "meaning", "name", "often", "run", "target", "unrecorded_")

    def __init__(self, name: str, meaning: Any, run: Callable[..., Tensor], target: int | None = None) -> None:
        """`meaning` says what is computed, to whoever makes native code of it, or is None; `run` computes it with
        NumPy, and where there is a `target`, puts it into the argument of that number and returns this one.
        """
        self.name = name
        self.meaning = meaning
        self.run = run
        self.target = target
        self.may_be_large = target is None and not isinstance(meaning, CopiedElements)
        """Whether calls are offered to `LARGE_CALL`."""
        self.entry: Any = None
        """What native code reads, alive as long as the kernel."""
        self.besides: dict[Any, Beside] = {}
        self.unrecorded_: Beside | None = None
        self.often: Callable[..., Any] | None = None
        """Runs calls that native code leaves to Python, those that come often by a plan."""

    def __call__(self, *arguments: Any) -> Tensor:
        if is_on_device():
            return self.run(*arguments)
        if self.often is None:
            if is_hurried():  # nothing comes often in a first answer
                return self.in_python(*arguments)
            definition = registry.find(self.name) if self.target is None else None
            shorter = self._shorter if self.may_be_large else None
            self.often = self.in_python if definition is None else with_native(definition, self.in_python, shorter)
        return self.often(*arguments)

    def in_python(self, *arguments: Any) -> Tensor:
        """Run a call by NumPy's loops, or a kernel for large arrays."""
        if self.may_be_large:
            result = LARGE_CALL.implementation(self, arguments)
            if result is not None:
                return result  # type: ignore[no-any-return]
        result = self.run(*arguments)
        if self.meaning is not None and not is_hurried():
            EAGER_CALL.implementation(self, arguments, result)
        return result

    def _shorter(self, arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        """What runs calls like one if a kernel for large arrays does: without looking for it again."""
        entry = LARGE_ENTRY.implementation(self, arguments)
        if entry is None:
            return None
        in_python = self.in_python

        def run(*arguments: Any) -> Any:
            result = entry(*arguments)
            return in_python(*arguments) if result is MISSED or result is None else result

        return run

    def beside(self, key: Any, slow: Callable[..., Any]) -> Callable[..., Any]:
        """What runs natively whatever the kernel does, and `slow` for the rest; one for each `key`. Of a kernel without
        a meaning, which never has native code, just `slow`."""
        if self.meaning is None:
            return slow
        entry = self.besides.get(key)
        if entry is None:
            entry = self.besides[key] = Beside(slow)
            if self.entry is not None:
                self.entry.connect(entry, slow)
        return entry

    @property
    def reads_lists(self) -> bool:
        """Whether native code looks at all that lies in lists, whatever that is."""
        return isinstance(self.meaning, OwnEntry) and self.meaning.reads_lists

    @property
    def unrecorded(self) -> Callable[..., Any]:
        """The kernel for arguments that may ask for gradients, where whoever calls it looks after these."""
        if self.meaning is None:
            return self.__call__
        if self.unrecorded_ is None:
            self.unrecorded_ = Beside(self.__call__)
            if self.entry is not None:
                self.entry.connect_any(self.unrecorded_, self.unrecorded_.slow)
        return self.unrecorded_

    def __repr__(self) -> str:
        return f"<kernel of {self.name}>"


class Beside(NativeBase):  # type: ignore[misc]  # made at run time
    """A kernel's native side with another fallback: for callers that must look at what native code does not serve."""

    __slots__ = ("slow",)

    def __init__(self, slow: Callable[..., Any]) -> None:
        self.slow = slow

    def __call__(self, *arguments: Any) -> Any:
        return self.slow(*arguments)


let_instances_be_native(EntryKernel)
let_instances_be_native(Beside)
