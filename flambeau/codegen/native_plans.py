"""Plans laid out for the native call entry, chained so that the newest is tried first."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen import threads
from flambeau.codegen.llvm.entry import PLAN, RELEASE_GIL
from flambeau.codegen.llvm.entry_ready import READY, READY_UP_TO
from flambeau.codegen.plans import RELEASE_FROM, Output, Plan
from flambeau.tensor.storage import Storage

_NUMBERS = {(float, "float64"): 0, (int, "int64"): 1}
"""Python numbers that the entry reads by itself, and how it calls them."""
MAX_CHAIN = 32
"""Patterns that the native entry tells apart; calls of further ones take the Python path."""


class Chain:
    """The plans of one kernel. Memory once published stays until the chain goes: another thread may be reading it."""

    def __init__(self) -> None:
        self.cell = (ctypes.c_int64 * 2)()
        """The address of the newest plan, which the entry reads, and how many calls were served, which it counts."""
        self._keep: list[Any] = []
        self._known: set[Any] = set()
        self._lock = threading.Lock()
        self._count = 0

    def add(self, plan: Plan, given: Sequence[Any], arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Publish ``plan`` for inputs that look exactly like ``given``; ``arrays`` is what they became as arrays."""
        with self._lock:
            self._add(plan, given, arrays)

    def _add(self, plan: Plan, given: Sequence[Any], arrays: Sequence[npt.NDArray[Any]]) -> None:
        look = tuple([(type(x), a.dtype, a.shape, a.strides) for x, a in zip(given, arrays, strict=True)])
        if self._count >= MAX_CHAIN or plan.variant is None or look in self._known:
            return
        if not all(
            type(x) is np.ndarray or (type(x), a.dtype.name) in _NUMBERS for x, a in zip(given, arrays, strict=True)
        ):
            return
        self._known.add(look)
        self._count += 1
        outputs: list[int] = []
        for o in plan.outputs:
            strides = (
                0 if o.permutation is None else self._numbers(_strides_of(o.shape, o.permutation, o.dtype.itemsize))
            )
            size = int(np.prod(o.shape, dtype=np.int64)) * o.dtype.itemsize
            row = self._row(o) if size <= READY_UP_TO else 0
            outputs += [self._object(o.dtype), len(o.shape), self._numbers(o.shape), strides, size, int(o.large), row]
        inputs: list[int] = []
        for x, a in zip(given, arrays, strict=True):
            if type(x) is not np.ndarray:
                inputs += [0, _NUMBERS[type(x), a.dtype.name], self._object(type(x)), 0]
                continue
            inputs += [self._object(a.dtype), a.ndim, self._numbers(a.shape), self._numbers(a.strides)]
        address = plan.variant.code.addresses[plan.variant.native.symbol]
        self._keep.append(plan.variant)
        words = {
            "next": self.cell[0], "kernel": address, "high": plan.high, "step": plan.step,
            "words": len(plan.words), "template": self._numbers(plan.words),
            "flags": RELEASE_GIL if plan.nanoseconds >= RELEASE_FROM else 0, "n_in": len(arrays),
            "n_out": len(plan.outputs), "inputs": self._numbers(inputs), "outputs": self._numbers(outputs),
            "pieces": plan.pieces, "pool": threads.pool(plan.threads).run_address if plan.step else 0,
        }  # fmt: skip
        self.cell[0] = self._numbers([words[name] for name in PLAN])

    def _row(self, output: Output) -> int:
        """Storages for results."""
        storages = [Storage(output.allocate()) for _ in range(READY)]
        self._keep.append(storages)
        return self._numbers([*map(id, storages), 0])

    @property
    def served(self) -> int:
        """Calls that found their plan here."""
        return self.cell[1]

    def _numbers(self, values: Any) -> int:
        memory = (ctypes.c_int64 * max(1, len(values)))(*values)
        self._keep.append(memory)
        return ctypes.addressof(memory)

    def _object(self, value: object) -> int:
        self._keep.append(value)
        return id(value)


def _strides_of(shape: tuple[int, ...], permutation: tuple[int, ...], itemsize: int) -> list[int]:
    """Byte strides of a result whose axes are those of a row-major allocation, permuted."""
    sizes = [0] * len(shape)
    for axis, place in enumerate(permutation):
        sizes[place] = shape[axis]
    steps, step = [0] * len(shape), itemsize
    for place in reversed(range(len(shape))):
        steps[place] = step
        step *= max(sizes[place], 1)
    return [steps[place] for place in permutation]
