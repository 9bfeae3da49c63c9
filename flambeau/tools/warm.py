"""`flambeau warm`: native code that most models need, made once for this machine, so that their first calls find it.

Small layers of the usual kinds are compiled and run, in float32 and float64. What lies in the cache on disk afterwards
is the code that all programs share, entries and layers over images and sequences, and kernels by pattern and class of
sizes, as any model asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import flambeau
from flambeau import nn
from flambeau.codegen import native_call
from flambeau.codegen.graph.groups.group_runner import group_runner_address
from flambeau.codegen.graph.routines.library import routine_addresses
from flambeau.codegen.llvm.object_cache import object_cache
from flambeau.schema.dtype import DType
from flambeau.util.progress_bar import ProgressBar
from flambeau.util.record import dataclass

CALLS: Final = 3
"""Of each layer: the second brings launches for all sizes of a pattern."""
ROWS: Final = (1, 6, 24, 100)
"""Rows of products: one of each class that small and middling models meet."""
WIDTHS: Final = (64, 256)


@dataclass(frozen=True, slots=True)
class Warmed:
    """What `warm` left in the cache."""

    path: str
    steps: int
    files: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.steps} kinds of code are ready in {self.path}: {self.files} files more, {self.bytes:,} bytes"


def warm(only: str = "") -> Warmed:
    """Make the code; `only` names a part, of which the steps' names say which there are. Raises RuntimeError where
    there is no cache to keep it, or no such part.
    """
    cache = object_cache()
    if cache is None:
        raise RuntimeError("there is no cache to warm: FLAMBEAU_CACHE turns it off, or no home directory is known")
    known = dict(steps())
    chosen = {name: run for name, run in known.items() if only in name}
    if not chosen:
        raise RuntimeError(f"nothing to warm is called {only!r}; there are {', '.join(known)}")
    before, bar = cache.info(), ProgressBar("warming", len(chosen))
    try:
        with flambeau.no_grad():
            for name, run in chosen.items():
                bar.step(name)
                run()
    finally:
        bar.end()
    after = cache.info()
    return Warmed(cache.path, len(chosen), after.files - before.files, after.bytes - before.bytes)


def steps() -> Iterator[tuple[str, Callable[[], None]]]:
    """What is made, by name."""
    yield "entries", _entries
    for dtype in (flambeau.float32, flambeau.float64):
        for name, layer, shapes in _layers():
            yield f"{name} {dtype.name}", _Run(layer, shapes, dtype)


def _entries() -> None:
    """The code between Python and kernels."""
    for make in (native_call.loops_code, native_call.products_code, native_call.make_code):
        make()
    group_runner_address()
    routine_addresses()


class _Run:
    """Compiles a layer and calls it."""

    def __init__(self, layer: Callable[[], nn.Module], shapes: tuple[tuple[int, ...], ...], dtype: DType) -> None:
        self._layer, self._shapes, self._dtype = layer, shapes, dtype

    def __call__(self) -> None:
        layer = self._layer().to(self._dtype).eval()
        scripted: Any = flambeau.script(layer)
        for shape in self._shapes:
            for extra in range(CALLS):  # calls of several sizes are what launches for all sizes are made for
                x = flambeau.ones(shape[0] + extra, *shape[1:], dtype=self._dtype)
                if extra == 0:
                    scripted.forward.compile(x)
                scripted(x)


class _Attention(nn.Module):
    def __init__(self, is_causal: bool) -> None:
        super().__init__()
        self.is_causal = is_causal

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=self.is_causal)


Layer = tuple[str, Callable[[], nn.Module], tuple[tuple[int, ...], ...]]


def _layers() -> Iterator[Layer]:
    yield from _images()
    yield from _sequences()
    rows = tuple([(n, WIDTHS[0]) for n in ROWS])
    for name, activation in (("plain", nn.Identity), ("relu", nn.ReLU), ("gelu", nn.GELU), ("silu", nn.SiLU)):
        for width in WIDTHS:
            yield f"linear {width} {name}", _linear(width, activation), rows
    yield "softmax", lambda: nn.Softmax(-1), rows
    yield "layer norm", lambda: nn.LayerNorm(WIDTHS[0]), rows


def _linear(width: int, activation: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(nn.Linear(WIDTHS[0], width), activation())


def _images() -> Iterator[Layer]:
    images = ((1, 16, 14, 14), (2, 16, 7, 7))
    for name, kernel, stride, groups in (
        ("3x3", 3, 1, 1), ("3x3 stride 2", 3, 2, 1), ("1x1", 1, 1, 1), ("depthwise", 3, 1, 16), ("7x7", 7, 2, 1),
    ):  # fmt: skip
        yield f"convolution {name}", _convolution(kernel, stride, groups), images
    yield "convolution 3x3 of many channels", lambda: nn.Conv2d(64, 64, 3, padding=1), ((1, 64, 24, 24),)
    yield "transposed convolution", lambda: nn.ConvTranspose2d(16, 8, 2, 2), images
    yield "maximum pooling", lambda: nn.MaxPool2d(2), images
    yield "average pooling", lambda: nn.AvgPool2d(2), images
    yield "adaptive pooling", lambda: nn.AdaptiveAvgPool2d(1), images
    yield "group norm", lambda: nn.GroupNorm(4, 16), images


def _convolution(kernel: int, stride: int, groups: int) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        convolution = nn.Conv2d(16, 16, kernel, stride, kernel // 2, groups=groups)
        return nn.Sequential(convolution, nn.BatchNorm2d(16), nn.ReLU())

    return make


def _sequences() -> Iterator[Layer]:
    steps_of = ((4, 12, 32), (1, 40, 32))
    for is_causal in (False, True):
        yield f"attention{' causal' * is_causal}", partial(_Attention, is_causal), steps_of
    yield "lstm", lambda: nn.LSTM(32, 32, batch_first=True), steps_of
    yield "gru", lambda: nn.GRU(32, 32, batch_first=True), steps_of
