"""Pointwise kernels, scans, places and turned inputs on CUDA: `python -m benchmarks.cuda_elements --out FILE`.

Ours and PyTorch's run the same functions; JAX has functions of its own. Every row is a median by CUDA
events (for JAX by the clock of the host, around work that is waited for), with the largest error against float64, in
parts of the largest result. Without a card it says so and ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import cuda_report
from benchmarks.cuda_element_references import REFERENCES
from benchmarks.cuda_models import Rows, by_events, by_waiting
from flambeau.cuda import library, tensors
from flambeau.schema.device import Device

SECONDS = 50.0
EACH = 0.15
"""Seconds that a row is measured for."""
MANY, ROWS, COLUMNS = 10**8, 16384, 1024
PROGRAMS = """
def add(x, y):
    return x + y * 2

def tanh_chain(x):
    return (x * 0.5 + 1).tanh() * x

def gelu(x):
    return F.gelu(x)

def softmax_of_columns(x):
    return F.softmax(x, dim=0)

def running_sums(x):
    return x.cumsum(dim=1)

def running_sum_of_all(x):
    return x.cumsum(dim=0)

def rows_of_a_table(x, i):
    return x.index_select(0, i)

def added_rows(x, i, y):
    return x.index_add(0, i, y)

def turned(x):
    return x.t() + x
"""
"""What is measured, in words that both libraries know."""
TABLE = {"x": (50_000, 768), "i": (ROWS,), "y": (ROWS, 768)}
WORKLOADS: dict[str, tuple[dict[str, tuple[int, ...]], int]] = {
    "add": ({"x": (MANY,), "y": (MANY,)}, 12 * MANY),
    "tanh_chain": ({"x": (MANY,)}, 8 * MANY),
    "gelu": ({"x": (MANY,)}, 8 * MANY),
    "softmax_of_columns": ({"x": (ROWS, COLUMNS)}, 8 * ROWS * COLUMNS),
    "running_sums": ({"x": (ROWS, COLUMNS)}, 8 * ROWS * COLUMNS),
    "running_sum_of_all": ({"x": (MANY,)}, 8 * MANY),
    "rows_of_a_table": ({k: TABLE[k] for k in "xi"}, 8 * ROWS * 768),
    "added_rows": (TABLE, 8 * 50_000 * 768 + 12 * ROWS * 768),
    "turned": ({"x": (8192, 8192)}, 12 * 8192 * 8192),
}
"""Of each, the sizes of what it is given, and the bytes that have to be moved."""


class Inputs:
    """The arrays of a workload on the device, the same for every library, and what is right for them."""

    def __init__(self, name: str) -> None:
        cupy = library.cupy()
        random = cupy.random.default_rng(0)
        shapes, _ = WORKLOADS[name]
        self.name = name
        self.arrays = {
            key: random.integers(0, TABLE["x"][0], size=shape)
            if key == "i"
            else random.standard_normal(shape, "float32")
            for key, shape in shapes.items()
        }
        self._right: Any = None

    def error(self, result: Any) -> float:
        """The largest difference from what float64 gives, in parts of its largest value."""
        cupy = library.cupy()
        if self._right is None:
            wide = {k: a.astype("float64") if a.dtype.kind == "f" else a for k, a in self.arrays.items()}
            self._right = REFERENCES[self.name](cupy, **wide)
        difference = cupy.abs(cupy.asarray(result).astype("float64") - self._right).max()
        return float(difference / max(float(cupy.abs(self._right).max()), 1e-30))


def functions_of(functional: Any, name: str) -> dict[str, Any]:
    """The programs with a library's names."""
    import linecache

    filename = f"<kernels for {name}>"
    linecache.cache[filename] = (len(PROGRAMS), None, PROGRAMS.splitlines(True), filename)
    module = type(sys)(f"kernels_for_{name}")
    sys.modules[module.__name__] = module
    module.__dict__["F"] = functional
    exec(compile(PROGRAMS, filename, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def ours(inputs: Inputs, *, replayed: bool = False) -> Callable[[], Any]:
    """A scripted function, launched afresh in every call, or replayed."""
    import flambeau

    functions = functions_of(flambeau.nn.functional, "flambeau")
    script = flambeau.script(functions[inputs.name], without=() if replayed else ("cuda_graphs",))
    given = [tensors.adopted(a, Device("cuda", 0)) for a in inputs.arrays.values()]
    return lambda: script(*given)


def torchs(inputs: Inputs, *, compiled: bool = False) -> Callable[[], Any]:
    """PyTorch, eager or compiled."""
    import torch

    function = functions_of(torch.nn.functional, "torch")[inputs.name]
    given = [torch.from_dlpack(a) for a in inputs.arrays.values()]
    chosen = torch.compile(function) if compiled else function
    return lambda: chosen(*given)


def jaxs(inputs: Inputs) -> Callable[[], Any]:
    """JAX, compiled."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    function = jax.jit(partial(REFERENCES[inputs.name], jax.numpy))
    given = [jax.dlpack.from_dlpack(a) for a in inputs.arrays.values()]
    return lambda: function(*given)


WAYS: tuple[tuple[str, Callable[[Inputs], Callable[[], Any]]], ...] = (
    ("flambeau", ours),
    ("its graph", partial(ours, replayed=True)),
    ("torch", torchs),
    ("jax.jit", jaxs),
    ("torch.compile", partial(torchs, compiled=True)),
)


def copy_speed() -> float:
    """Bytes a second that copying 1e8 floats reads and writes."""
    cupy = library.cupy()
    source = cupy.zeros(MANY, "float32")
    target = cupy.empty_like(source)
    return 8 * MANY / by_events(lambda: cupy.copyto(target, source), EACH) * 1e6


def measure(rows: Rows, name: str, way: str, inputs: Inputs, prepare: Callable[[Inputs], Any], copied: float) -> None:
    """One row, with its part of the speed of a copy, and its error."""
    runs: list[Any] = []

    def prepared() -> Any:
        runs.append(prepare(inputs))
        return runs[0]

    rows.add(name, way, prepared, by_waiting if way == "jax.jit" else partial(by_events, seconds=EACH))
    row = rows.rows[-1]
    if "microseconds" in row:
        row["of_copy"] = round(WORKLOADS[name][1] / row["microseconds"] * 1e6 / copied, 3)
        row["error_in_parts"] = inputs.error(runs[0]())


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write a file."""
    parser = cuda_report.parser_of(__doc__, SECONDS)
    parser.add_argument("--only", nargs="*", choices=WORKLOADS, help="these workloads")
    chosen = parser.parse_args(arguments)
    if not cuda_report.is_measurable():
        return 0
    rows, copied = Rows(chosen.seconds), copy_speed()
    print(f"copy: {copied / 1e12:.2f} TB/s", flush=True)
    for group in (WAYS[:4], WAYS[4:]):  # what compiles longest comes last
        for name in chosen.only or WORKLOADS:
            inputs = Inputs(name)
            for way, prepare in group:
                measure(rows, name, way, inputs, prepare, copied)
    rows.ratios()
    print(f"\n{'':20} {'':14} {'us':>10} {'of copy':>8} {'torch/this':>10} {'error':>9}")
    for row in rows.rows:
        if "microseconds" in row:
            name, ratio, error = row["workload"], row.get("torch_over_this", 0.0), row["error_in_parts"]
            print(f"{name:20} {row['way']:14} {row['microseconds']:10} {row['of_copy']:8} {ratio:10} {error:9.1e}")
    cuda_report.write(chosen.out, rows.rows, copy_bytes_per_second=copied)
    return 0


if __name__ == "__main__":
    sys.exit(main())
