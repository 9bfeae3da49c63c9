"""Compiled kernels as Python callables on NumPy arrays.

A call looks up its launch by the arrays' shapes and strides, allocates the outputs, fills a block of words and jumps
into native code without the GIL. The first call of a new pattern specialises the kernel and, where no other kernel
has come down to the same loop nest, compiles it. ``CompiledKernel.entry()`` gives a callable that does the same
natively for patterns it has seen.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen import native_call, threads
from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import Kernel
from flambeau.codegen.launches import Launch, launch_by
from flambeau.codegen.llvm.abi import NO_MEMORY, OUT_OF_MEMORY, OUTSIDE
from flambeau.codegen.schedules import KeptSchedules, Schedules
from flambeau.codegen.shapes import Span
from flambeau.codegen.sized_launches import SizedLaunch, sized_launches
from flambeau.codegen.variants import Variant
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util.array_address import address_of

Array = npt.NDArray[Any]
Layout = tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...]]
"""Of an array: dtype, shape, strides in bytes."""
MAX_PATTERNS = 64
"""Patterns of calls whose schedules and code a kernel keeps; what was asked for longest ago goes first."""
MAX_LAUNCHES = 256
"""Launches a kernel keeps; the oldest goes first."""


def block_of(launch: Launch, arrays: Sequence[Array], flag: ctypes.c_int32) -> array[int]:
    """The words of a call: of inputs, then outputs. It does not keep them; the flag is set where the call fails."""
    words = array("q", launch.words)
    words[0] = ctypes.addressof(flag)
    for at, a in enumerate(arrays, 1):
        words[at] = address_of(a)
    return words


def start(launch: Launch, words: array[int]) -> None:
    """Run a launch on a block of words, by one thread or by several."""
    runs = launch.runs
    assert runs is not None
    block = words.buffer_info()[0]
    if launch.step:
        threads.run(launch.threads)(runs.address, block, launch.high, launch.step, launch.pieces)
    else:
        runs.entry(block, 0, launch.high)


def _raise_for(flag: int, name: str) -> None:
    """Raise what a flag that a kernel set stands for."""
    if flag == NO_MEMORY:
        raise MemoryError(OUT_OF_MEMORY)
    if flag == OUTSIDE:
        raise IndexError(f"{name}: index out of range")
    if flag:
        raise ZeroDivisionError("ZeroDivisionError")


def _can_write(launch: Launch, target: Array) -> bool:
    """Whether a launch may put its one result into an array. Stores past the cache are for memory that starts on a
    boundary."""
    if launch.variant is None or launch.variant.schedule.nontemporal:
        return False
    return len(launch.outputs) == 1 and launch.outputs[0].fits(target)


class CompiledKernel:
    """A kernel that can be called with one array (or number) per input; gives one array, or a tuple of several.

    Raises ``KernelError`` for inputs that do not fit, ``ZeroDivisionError`` for an integer division by zero,
    ``IndexError`` for an index that lies outside and ``MemoryError`` where there is no memory to work in.
    """

    def __init__(
        self, kernel: Kernel, spans: tuple[Span, ...] = (), choices: Choices = USUAL, kept: KeptSchedules | None = None
    ) -> None:
        """`kept`: schedules from an earlier process, and for later ones."""
        self.kernel = kernel
        self.choices = choices
        self.spans = spans
        """What the shapes of a call must fulfil beyond broadcasting."""
        self.variants: list[Variant] = []
        """Native code compiled for this kernel so far, or read from the cache."""
        self._inputs = kernel.inputs
        self._dtypes = tuple(element_type(b.dtype).numpy for b in kernel.inputs)
        self.launches_cache: SpecialisationCache[tuple[Any, ...], Launch] = SpecialisationCache(
            f"launches of {kernel.name}", MAX_LAUNCHES, describe=lambda key: ", ".join(str(shape) for shape, _ in key)
        )
        self.schedules = Schedules(kernel, spans, choices, MAX_PATTERNS, kept)
        self._inline_cache = InlineCache()

    @property
    def launches(self) -> list[tuple[tuple[Layout, ...], Launch]]:
        """The launches made so far, oldest first, each with the layouts of its inputs."""
        return [
            (tuple([(dtype, *look) for dtype, look in zip(self._dtypes, key, strict=True)]), launch)
            for key, launch in self.launches_cache.items
        ]

    def entry(self) -> Callable[..., Any]:
        """A callable like this one whose repeated calls run natively from end to end; this object where there is none.

        It keeps the kernel alive, not the other way round.
        """
        return native_call.make(self._inline_cache, self._slow) or self

    def __call__(self, *inputs: Any) -> Any:
        arrays = self._arrays(inputs)
        return self.call(self._find_launch(arrays), arrays)

    def launch_for(self, arrays: list[Array]) -> Launch:
        """The launch for inputs like these. Raises ``KernelError`` where they do not fit."""
        return self._find_launch(self._arrays(arrays))

    def _find_launch(self, arrays: list[Array]) -> Launch:
        key = tuple([(a.shape, a.strides) for a in arrays])
        launch = self.launches_cache.get(key)
        if launch is None:
            launch = self.launches_cache.get_or_make(key, lambda cause: self._new_launch(arrays))
        return launch

    def call(self, launch: Launch, arrays: list[Array]) -> Any:
        """Run a launch on arrays like those that it was made for."""
        outputs = [o.allocate() for o in launch.outputs]
        if launch.variant is not None:
            self._run(launch, arrays, outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def write(self, target: Array, inputs: Sequence[Any]) -> bool:
        """Put the one result of a call into an array; whether it lies as a new one would."""
        arrays = self._arrays(inputs)
        launch = self._find_launch(arrays)
        if not _can_write(launch, target):
            return False
        self._run(launch, arrays, [target])
        return True

    def write_in_pieces(self, target: Array, inputs: Sequence[Any], most: int) -> bool:
        """The same of arrays of one axis, and numbers, for so many elements at a time."""
        arrays = self._arrays(inputs)
        launch = self._find_launch([a[:most] if a.ndim else a for a in arrays])
        if not _can_write(launch, target[:most]):
            return False
        flag = ctypes.c_int32(0)
        words = block_of(launch, [*arrays, target], flag)
        moving = [(at, a.itemsize * most) for at, a in enumerate([*arrays, target], 1) if a.ndim]
        for _ in range(len(target) // most):
            start(launch, words)
            for at, distance in moving:
                words[at] += distance
        _raise_for(flag.value, self.kernel.name)
        rest = len(target) % most
        if rest:
            ends = [a[-rest:] if a.ndim else a for a in arrays]
            self._run(self._find_launch(ends), ends, [target[-rest:]])
        return True

    def _slow(self, *inputs: Any) -> Any:
        """What the native entry calls for what it does not know; next time it does."""
        return self.call_and_keep(inputs, self._inline_cache)

    def call_and_keep(
        self, inputs: Sequence[Any], inline_cache: InlineCache, static: Sequence[Sequence[int]] = ()
    ) -> Any:
        """A call whose launch is put on an inline cache, so that an entry of that inline cache serves the next one like
        it: for a kernel that was made for the `static` operands of the call, the next one that has the same.
        """
        arrays = self._arrays(inputs)
        launch = self._find_launch(arrays)
        if static:
            inline_cache.add(launch, inputs, arrays, static)
        elif inline_cache.add(launch, inputs, arrays):
            inline_cache.add_sized(self.sized(inputs), inputs, arrays)
        else:
            inline_cache.add_pattern(launch, inputs, arrays)
        return self.call(launch, arrays)

    def sized(self, inputs: Sequence[Any]) -> list[SizedLaunch]:
        """Launches for inputs like these of any sizes; none where code depends on more than their number."""
        return sized_launches(self.kernel, self.spans, self._arrays(inputs), self.choices, self.schedules.kept)

    def _run(self, launch: Launch, arrays: list[Array], outputs: list[Array]) -> None:
        flag = ctypes.c_int32(0)
        words = block_of(launch, arrays + outputs, flag)
        start(launch, words)
        _raise_for(flag.value, self.kernel.name)

    def _arrays(self, inputs: Sequence[Any]) -> list[Array]:
        if len(inputs) != len(self._inputs):
            raise KernelError(f"{self.kernel.name}: expected {len(self._inputs)} inputs, got {len(inputs)}")
        arrays = []
        for value, dtype, buffer in zip(inputs, self._dtypes, self._inputs, strict=True):
            if type(value) is np.ndarray:
                if value.dtype != dtype:
                    raise KernelError(
                        f"{self.kernel.name}: input {buffer.name} has dtype {value.dtype}, expected {dtype}"
                    )
                arrays.append(value if value.flags.aligned else value.copy())
            else:
                arrays.append(np.asarray(value, dtype=dtype))
        return arrays

    def _new_launch(self, arrays: list[Array]) -> Launch:
        launch = launch_by(self.schedules, arrays)
        if launch.variant is not None and launch.variant not in self.variants:
            self.variants.append(launch.variant)
        return launch

    def explain(self) -> str:
        """What was compiled, why and how long it took; what launches exist."""
        lines = [f"kernel {self.kernel.name}: {len(self.launches_cache)} launches, {len(self.variants)} variants"]
        for v in self.variants:
            lines.append(
                f"  {v.schedule.key().strip()}: {v.milliseconds:.1f} ms, {v.code.object_bytes} bytes of object code"
                + (", from cache" if v.code.is_from_cache else "")
            )
        for key, launch in self.launches_cache.items:
            shapes = ", ".join(str(shape) for shape, _ in key)
            pieces = f", {launch.pieces} pieces" if launch.step else ""
            work = f"{launch.bytes_moved} bytes, {launch.operations} operations"
            lines.append(f"  inputs {shapes}: {work}, about {launch.nanoseconds / 1e3:.1f} us{pieces}")
        return "\n".join(lines)
