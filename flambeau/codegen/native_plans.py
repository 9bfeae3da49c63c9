"""Plans laid out for the native call entry, chained so that the newest is tried first."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen import threads
from flambeau.codegen.llvm.entry_plan import INPUT_WORDS, PLAN, RELEASE_GIL
from flambeau.codegen.llvm.entry_ready import READY, READY_UP_TO
from flambeau.codegen.plans import RELEASE_FROM, Output, Plan
from flambeau.codegen.sized_plans import SizedPlan, is_row_major
from flambeau.tensor.storage import Storage

_NUMBERS = {(float, "float64"): 0, (int, "int64"): 1}
"""Python numbers that the entry reads by itself, and how it calls them."""
MAX_CHAIN = 32
"""Patterns that the native entry tells apart; calls of further ones take the Python path."""
MAX_SIZED = 16
"""Plans for any size beside them."""


class Chain:
    """The plans of one kernel. Memory once published stays until the chain goes: another thread may be reading it."""

    def __init__(self) -> None:
        self.cell = (ctypes.c_int64 * 2)()
        """The address of the newest plan, which the entry reads, and how many calls were served, which it counts."""
        self._keep: list[Any] = []
        self._known: set[Any] = set()
        self._lock = threading.Lock()
        self._count = 0
        self._sized_count = 0
        self._shapes: dict[Any, tuple[int, ...]] = {}
        """By dtypes and ranks: the shape of the first row-major arrays."""
        self._last: Any = None
        """The plan that is tried last."""

    def add(self, plan: Plan, given: Sequence[Any], arrays: Sequence[npt.NDArray[Any]]) -> bool:
        """Publish ``plan`` for inputs that look exactly like ``given``; ``arrays`` is what they became as arrays.

        True where only sizes change from call to call, so that plans for any size would serve: see ``add_sized``.
        """
        if not all(
            type(x) is np.ndarray or (type(x), a.dtype.name) in _NUMBERS for x, a in zip(given, arrays, strict=True)
        ):
            return False
        with self._lock:
            self._add(plan, given, arrays)
            return self._changes(given, arrays)

    def add_sized(self, plans: Sequence[SizedPlan], given: Sequence[Any], arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Publish plans for inputs like ``given``, whatever their sizes. They are tried after all others."""
        with self._lock:
            for sized in plans:
                if self._sized_count < MAX_SIZED:
                    self._sized_count += 1
                    self._publish_last(self._sized(sized, given, arrays))

    def _changes(self, given: Sequence[Any], arrays: Sequence[npt.NDArray[Any]]) -> bool:
        """Whether this is the second size of a pattern."""
        if not is_row_major(arrays):
            return False
        look = tuple([(type(x), a.dtype, a.ndim) for x, a in zip(given, arrays, strict=True)])
        shape = next(a.shape for a in arrays if a.ndim)
        first = self._shapes.setdefault(look, shape) if len(self._shapes) < MAX_SIZED else self._shapes.get(look)
        if first is None or first == shape or look in self._known:
            return False
        self._known.add(look)
        return True

    def _add(self, plan: Plan, given: Sequence[Any], arrays: Sequence[npt.NDArray[Any]]) -> None:
        look = tuple([(type(x), a.dtype, a.shape, a.strides) for x, a in zip(given, arrays, strict=True)])
        if self._count >= MAX_CHAIN or plan.variant is None or look in self._known:
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
            if type(x) is np.ndarray:
                inputs += [self._object(a.dtype), a.ndim, self._numbers(a.shape), self._numbers(a.strides)]
            else:
                inputs += self._number(x, a)
        words = self._words(plan, inputs, outputs) | {
            "next": self.cell[0], "high": plan.high, "step": plan.step, "pieces": plan.pieces,
            "flags": RELEASE_GIL if plan.nanoseconds >= RELEASE_FROM else 0,
            "pool": threads.pool(plan.threads).run_address if plan.step else 0,
        }  # fmt: skip
        made = self._record(words)
        self._last = self._last or made
        self.cell[0] = ctypes.addressof(made)

    def _sized(self, sized: SizedPlan, given: Sequence[Any], arrays: Sequence[npt.NDArray[Any]]) -> dict[str, int]:
        """The words of a plan for any size."""
        inputs: list[int] = []
        for x, a in zip(given, arrays, strict=True):
            is_array = type(x) is np.ndarray
            inputs += [self._object(a.dtype), a.ndim, 0, a.itemsize] if is_array else self._number(x, a)
        outputs: list[int] = []
        for o in sized.plan.outputs:
            outputs += [self._object(o.dtype), len(o.shape), 0, 0, o.dtype.itemsize, 0, 0]
        return self._words(sized.plan, inputs, outputs) | {
            "size_at": sized.size_at, "least": sized.least, "most": sized.most, "step": sized.step,
            "flags": RELEASE_GIL if sized.releases else 0,
            "pool": threads.pool(sized.threads).run_address if sized.step else 0,
        }  # fmt: skip

    def _words(self, plan: Plan, inputs: list[int], outputs: list[int]) -> dict[str, int]:
        """What all plans have."""
        assert plan.variant is not None
        self._keep.append(plan.variant)
        return dict.fromkeys(PLAN, 0) | {
            "kernel": plan.variant.code.addresses[plan.variant.native.symbol], "words": len(plan.words),
            "template": self._numbers(plan.words), "n_in": len(inputs) // INPUT_WORDS,
            "n_out": len(plan.outputs), "inputs": self._numbers(inputs), "outputs": self._numbers(outputs),
        }  # fmt: skip

    def _record(self, words: dict[str, int]) -> Any:
        made = (ctypes.c_int64 * len(PLAN))(*[words[name] for name in PLAN])
        self._keep.append(made)
        return made

    def _publish_last(self, words: dict[str, int]) -> None:
        made = self._record(words)
        if self._last is None:
            self.cell[0] = ctypes.addressof(made)
        else:
            self._last[PLAN.index("next")] = ctypes.addressof(made)
        self._last = made

    def _number(self, given: Any, array: npt.NDArray[Any]) -> list[int]:
        """The record of a Python number."""
        return [0, _NUMBERS[type(given), array.dtype.name], self._object(type(given)), 0]

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
