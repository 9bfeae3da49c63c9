"""CUDA kernels of rows, columns and folds against other libraries: `python -m benchmarks.cuda_kernels --out FILE`.

A row says how long a call takes, by CUDA events (by the clock around a wait for JAX, which has streams of its own),
how much of the bandwidth of a plain copy that is, and how far the answer is from that of float64. Without a card it
says so and ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import cuda_report
from benchmarks.cuda_models import Rows, by_events, by_waiting
from flambeau.cuda import library
from flambeau.util.record import dataclass

Array = npt.NDArray[Any]
SECONDS = 50.0
SOFTMAX, LAYER_NORM = "softmax", "layer norm"
LOOKED_AT = 64
"""Rows of large answers that are compared with float64."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One operation on inputs of some shapes."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    of_torch: Callable[..., Any]
    """In the words of PyTorch and flambeau, the library first."""
    of_numpy: Callable[..., Any]
    """The answer, or its first rows, in float64; also in the words of JAX, the library first."""
    rows: int
    """Rows of the answer that ``of_numpy`` is asked for; 0 for all there is."""

    @property
    def inputs(self) -> list[Array]:
        """Normal numbers, always the same."""
        draw = np.random.default_rng(0)
        return [draw.standard_normal(shape, np.float32) for shape in self.shapes]


def _softmax(np: Any, x: Any) -> Any:
    power = np.exp(x - x.max(1, keepdims=True))
    return power / power.sum(1, keepdims=True)


def _layer_norm(np: Any, x: Any, w: Any, b: Any) -> Any:
    off = x - x.mean(1, keepdims=True)
    return off / np.sqrt((off * off).mean(1, keepdims=True) + 1e-5) * w + b


def _torch_layer_norm(lib: Any, x: Any, w: Any, b: Any) -> Any:
    return lib.nn.functional.layer_norm(x, [x.size(1)], w, b)


MATRIX = (16384, 1024)
WORKLOADS = (
    Workload(f"{SOFTMAX} 16384x1024", (MATRIX,), lambda lib, x: lib.softmax(x, -1), _softmax, LOOKED_AT),
    Workload(f"{SOFTMAX} 4096x8192", ((4096, 8192),), lambda lib, x: lib.softmax(x, -1), _softmax, LOOKED_AT),
    Workload(f"{SOFTMAX} 256x50257", ((256, 50257),), lambda lib, x: lib.softmax(x, -1), _softmax, LOOKED_AT),
    Workload(f"{LAYER_NORM} 16384x1024", (MATRIX, (1024,), (1024,)), _torch_layer_norm, _layer_norm, LOOKED_AT),
    Workload("row sums 16384x1024", (MATRIX,), lambda lib, x: x.sum(1), lambda np, x: x.sum(1), 0),
    Workload("argmax of rows 16384x1024", (MATRIX,), lambda lib, x: x.argmax(1), lambda np, x: x.argmax(1), 0),
    Workload("column sums 16384x1024", (MATRIX,), lambda lib, x: x.sum(0), lambda np, x: x.sum(0), 0),
    Workload("column sums 1000000x64", ((10**6, 64),), lambda lib, x: x.sum(0), lambda np, x: x.sum(0), 0),
    Workload("sum of 1e8", ((10**8,),), lambda lib, x: x.sum(), lambda np, x: x.sum(), 0),
    Workload("sum of 1e6", ((10**6,),), lambda lib, x: x.sum(), lambda np, x: x.sum(), 0),
)


def copy_bandwidth() -> float:
    """Bytes that a copy of 400 MB reads and writes in a microsecond."""
    cupy = library.cupy()
    source, target = cupy.ones(10**8, np.float32), cupy.empty(10**8, np.float32)
    return 2 * source.nbytes / by_events(lambda: cupy.copyto(target, source), 0.3)


def expected(workload: Workload, inputs: list[Array]) -> Array:
    """The first rows of the answer, in float64."""
    first = inputs[0][: workload.rows] if workload.rows else inputs[0]
    return np.asarray(workload.of_numpy(np, first.astype(np.float64), *inputs[1:]))


def error_of(got: Array, want: Array) -> float:
    """The largest difference, in units of the largest answer."""
    difference = np.abs(got[: len(want)].astype(np.float64) - want if want.ndim else got - want)
    return float(np.max(difference) / max(float(np.max(np.abs(want))), 1e-300))


class Ways:
    """The ways of one workload: how each library is given its inputs, and called."""

    def __init__(self, rows: Rows, workload: Workload, bandwidth: float) -> None:
        self.rows, self.workload, self.bandwidth = rows, workload, bandwidth
        self.inputs = workload.inputs
        self.want = expected(workload, self.inputs)

    def add(
        self, way: str, prepare: Callable[[], Callable[[], Any]], on_host: Callable[[Any], Any], measure: Any
    ) -> None:
        """Measure one, with its error and its part of the bandwidth."""
        answer: list[Any] = []

        def prepared() -> Callable[[], Any]:
            run = prepare()
            answer.append(on_host(run()))
            return run

        self.rows.add(self.workload.name, way, prepared, measure)
        row = self.rows.rows[-1]
        if "microseconds" in row:
            moved = sum(x.nbytes for x in self.inputs) + answer[0].nbytes
            row["part_of_copy"] = round(moved / row["microseconds"] / self.bandwidth, 3)
            row["difference"] = error_of(answer[0], self.want)

    def flambeau(self) -> None:
        """A scripted function, by events."""
        import flambeau

        def prepare() -> Callable[[], Any]:
            given = [flambeau.from_numpy(x).to("cuda") for x in self.inputs]
            run = flambeau.script(scripted(self.workload.name))
            return lambda: run(*given)

        self.add("flambeau.script", prepare, lambda t: t.cpu().numpy(), by_events)

    def torch(self, *, compiled: bool = False) -> None:
        """PyTorch, eager or compiled."""
        import torch

        def prepare() -> Callable[[], Any]:
            given = [torch.from_numpy(x).cuda() for x in self.inputs]

            def function(*tensors: Any) -> Any:
                return self.workload.of_torch(torch, *tensors)

            run = torch.compile(function) if compiled else function
            return lambda: run(*given)

        self.add("torch.compile" if compiled else "torch", prepare, lambda t: t.cpu().numpy(), by_events)

    def jax(self) -> None:
        """JAX, compiled."""
        import jax
        import jax.numpy as jnp

        def prepare() -> Callable[[], Any]:
            given = [jax.device_put(x) for x in self.inputs]
            run = jax.jit(lambda *arrays: self.workload.of_numpy(jnp, *arrays))
            return lambda: run(*given)

        self.add("jax.jit", prepare, np.asarray, by_waiting)

    def triton(self) -> None:
        """Triton, where there is a kernel of ours in it."""
        import torch

        from benchmarks import triton_rows

        kernels = {SOFTMAX: triton_rows.softmax, LAYER_NORM: triton_rows.layer_norm}
        run = next((k for name, k in kernels.items() if self.workload.name.startswith(name)), None)
        if run is None:
            return

        def prepare() -> Callable[[], Any]:
            given = [torch.from_numpy(x).cuda() for x in self.inputs]
            return lambda: run(*given)

        self.add("triton", prepare, lambda t: t.cpu().numpy(), by_events)


def scripted(name: str) -> Any:
    """The function of a workload that flambeau compiles."""
    from benchmarks import cuda_kernel_programs as programs

    return next(f for start, f in programs.BY_NAME if name.startswith(start))


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write a file."""
    chosen = cuda_report.parser_of(__doc__, SECONDS).parse_args(arguments)
    if not cuda_report.is_measurable():
        return 0
    rows, bandwidth = Rows(chosen.seconds), copy_bandwidth()
    print(f"a copy moves {bandwidth / 1e6:.2f} TB/s", flush=True)
    later: list[Ways] = []
    for workload in WORKLOADS:
        ways = Ways(rows, workload, bandwidth)
        for way in (ways.flambeau, ways.torch, ways.jax, ways.triton):
            _measured(way)
        if workload.name.split()[0] != "sum":  # compiling takes longest, and inputs of 400 MB are not kept
            later.append(ways)
    for ways in later:
        _measured(lambda ways=ways: ways.torch(compiled=True))
    rows.ratios()
    cuda_report.write(chosen.out, rows.rows, copy_bytes_per_microsecond=bandwidth)
    return 0


def _measured(way: Callable[[], None]) -> None:
    """One way, where its library is installed."""
    try:
        way()
    except ImportError as error:
        print(f"left out: {error}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
