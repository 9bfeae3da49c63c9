"""Models on a CUDA device against PyTorch and JAX: `python -m benchmarks.cuda_models --out FILE`.

Every row is a median over repeated calls, by CUDA events where the library has streams, and by the clock of the host
around work that is waited for elsewhere. A row that cannot run says why. Without a card it says so and ends.
"""

from __future__ import annotations

import linecache
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import cuda_report
from flambeau.cuda import library

SECONDS = 85.0
PROGRAMS = '''
class MLP(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.third = nn.Linear(width, width)

    def forward(self, x):
        x = F.relu(self.first(x))
        x = F.relu(self.second(x))
        return self.third(x)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.first_norm = nn.LayerNorm(width)
        self.second_norm = nn.LayerNorm(width)

    def forward(self, x):
        b, t, c = x.size(0), x.size(1), x.size(2)
        q = self.query(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = self.key(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = self.value(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(2, 3)) * 0.125
        mixed = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(b, t, c)
        x = self.first_norm(x + self.output(mixed))
        return self.second_norm(x + self.narrow(F.gelu(self.wide(x))))


class Encoder(nn.Module):
    def __init__(self, depth: int, width: int, heads: int):
        super().__init__()
        self.layers = nn.ModuleList([Layer(width, heads) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def chain(x, y):
    return F.gelu(x * 0.5 + y).tanh() * y + x.sigmoid()


def small_steps(x, w):
    for _ in range(20):
        x = (x @ w).relu() * 0.5 + x
    return x
'''
"""What is measured, in words that both libraries know."""


def programs_for(lib: Any, name: str) -> dict[str, Any]:
    """The programs with a library's names."""
    filename = f"<programs for {name}>"
    linecache.cache[filename] = (len(PROGRAMS), None, PROGRAMS.splitlines(True), filename)
    module = type(sys)(f"programs_for_{name}")
    sys.modules[module.__name__] = module
    module.__dict__.update(nn=lib.nn, F=lib.nn.functional)
    exec(compile(PROGRAMS, filename, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


class Rows:
    """What was measured so far."""

    def __init__(self, seconds: float, workloads: str = "", ways: str = "") -> None:
        """`workloads` and `ways`: texts, one of which the names of rows must hold, separated by commas."""
        self.rows: list[dict[str, Any]] = []
        self._end = time.perf_counter() + seconds
        self._workloads, self._ways = workloads.split(","), ways.split(",")

    def add(self, workload: str, way: str, prepare: Callable[[], Any], measure: Callable[..., Any]) -> None:
        """Measure one way of a workload, unless the time is up. What it raises is the row."""
        if not any(text in workload for text in self._workloads) or not any(text in way for text in self._ways):
            return
        row: dict[str, Any] = {"workload": workload, "way": way}
        self.rows.append(row)
        if time.perf_counter() > self._end:
            row["error"] = "not measured: the time was up"
            return
        start = time.perf_counter()
        try:
            run = prepare()
            row["microseconds"] = measure(run)
        except Exception as error:  # a row that fails must not take the others along
            row["error"] = f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:300] if str(error) else ''}"
        row["seconds_taken"] = round(time.perf_counter() - start, 2)
        print(f"{workload:34} {way:26} {row.get('microseconds', row.get('error'))}", flush=True)

    def ratios(self) -> None:
        """Of each row the time of PyTorch's eager row of the same workload, in units of its own."""
        eager = {r["workload"]: r["microseconds"] for r in self.rows if r["way"] == "torch" and "microseconds" in r}
        for row in self.rows:
            if "microseconds" in row and row["workload"] in eager:
                row["torch_over_this"] = round(eager[row["workload"]] / row["microseconds"], 3)


def by_events(run: Callable[[], Any], seconds: float = 0.6) -> float:
    """Microseconds of the device per call: the median of up to 30 spans of as many calls as take about 5 ms."""
    cuda = library.cupy().cuda
    for _ in range(6):
        run()
    cuda.runtime.deviceSynchronize()
    start = time.perf_counter()
    run()
    cuda.runtime.deviceSynchronize()
    count = max(1, int(0.005 / max(time.perf_counter() - start, 1e-6)))
    spans: list[float] = []
    until = time.perf_counter() + seconds
    while len(spans) < 30 and (len(spans) < 3 or time.perf_counter() < until):
        first, last = cuda.Event(), cuda.Event()
        first.record()
        for _ in range(count):
            run()
        last.record()
        last.synchronize()
        spans.append(cuda.get_elapsed_time(first, last) * 1e3 / count)
    return round(statistics.median(spans), 2)


def by_host(run: Callable[[], Any]) -> float:
    """Microseconds of the host per call that nobody waits for: the median of spans of 20 calls."""
    cuda = library.cupy().cuda
    for _ in range(10):
        run()
    spans = []
    for _ in range(50):
        cuda.runtime.deviceSynchronize()
        start = time.perf_counter()
        for _ in range(20):
            run()
        spans.append((time.perf_counter() - start) / 20 * 1e6)
    cuda.runtime.deviceSynchronize()
    return round(statistics.median(spans), 2)


def by_waiting(run: Callable[[], Any]) -> float:
    """Microseconds per call with the wait for its results, for libraries with streams of their own."""
    for _ in range(4):
        run().block_until_ready()
    spans = []
    for _ in range(15):
        start = time.perf_counter()
        run().block_until_ready()
        spans.append((time.perf_counter() - start) * 1e6)
    return round(statistics.median(spans), 2)


def training(lib: Any, programs: dict[str, Any], width: int, batch: int, compiled: Callable[[Any], Any]) -> Any:
    """A step: forward, loss, backward, SGD."""
    lib.manual_seed(0)
    model = programs["MLP"](width).to("cuda")
    optimiser = lib.optim.SGD(model.parameters(), lr=1e-3)
    x, y = lib.randn(batch, width).to("cuda"), lib.randn(batch, width).to("cuda")
    forward = compiled(model)

    def step() -> None:
        optimiser.zero_grad()
        loss = lib.nn.functional.mse_loss(forward(x), y)
        loss.backward()
        optimiser.step()

    return step


def encoder(lib: Any, programs: dict[str, Any], dtype: Any, compiled: Callable[[Any], Any]) -> Any:
    """Twelve layers of 768 on one text of 512 tokens."""
    lib.manual_seed(0)
    model = programs["Encoder"](12, 768, 12).to("cuda").to(dtype).eval()
    x = lib.randn(1, 512, 768).to("cuda").to(dtype)
    forward = compiled(model)

    def run() -> Any:
        with lib.no_grad():
            return forward(x)

    return run


def function_of(lib: Any, function: Any, shapes: list[tuple[int, ...]], compiled: Callable[[Any], Any]) -> Any:
    """A function of tensors of these shapes."""
    given = [lib.randn(*shape).to("cuda") * 0.1 for shape in shapes]
    chosen = compiled(function)
    return lambda: chosen(*given)


def of_library(rows: Rows, lib: Any, name: str, compiled: Callable[[Any], Any]) -> None:
    """All workloads in one way."""
    programs = programs_for(lib, name)
    add = rows.add
    small = [(64, 64), (64, 64)]
    add("20 small steps, host", name, lambda: function_of(lib, programs["small_steps"], small, compiled), by_host)
    add("20 small steps", name, lambda: function_of(lib, programs["small_steps"], small, compiled), by_events)
    add("chain of 1e8", name, lambda: function_of(lib, programs["chain"], [(10**8,), (10**8,)], compiled), by_events)
    add("MLP step 512, batch 128", name, lambda: training(lib, programs, 512, 128, compiled), by_events)
    add("MLP step 4096, batch 1024", name, lambda: training(lib, programs, 4096, 1024, compiled), by_events)
    add("encoder float32", name, lambda: encoder(lib, programs, lib.float32, compiled), by_events)
    add("encoder bfloat16", name, lambda: encoder(lib, programs, lib.bfloat16, compiled), by_events)


def of_flambeau(rows: Rows) -> None:
    """flambeau: scripted with and without replays, and eager."""
    import flambeau

    def script(what: Any) -> Any:
        return flambeau.jit.script(what)

    of_library(rows, flambeau, "flambeau.script", script)
    programs = programs_for(flambeau, "flambeau no graphs")

    def without(what: Any) -> Any:
        return flambeau.script(what, without=("cuda_graphs",))

    for workload, name, shapes, measure in (
        ("20 small steps, host", "small_steps", [(64, 64), (64, 64)], by_host),
        ("20 small steps", "small_steps", [(64, 64), (64, 64)], by_events),
    ):
        prepared = lambda name=name, shapes=shapes: function_of(flambeau, programs[name], shapes, without)  # noqa: E731
        rows.add(workload, "flambeau without graphs", prepared, measure)
    of_library(rows, flambeau, "flambeau eager", lambda what: what)


def of_torch(rows: Rows) -> None:
    """PyTorch eager, and a graph of the small steps captured by hand."""
    import torch

    of_library(rows, torch, "torch", lambda what: what)
    programs = programs_for(torch, "torch graph")

    def replayed() -> Any:
        x, w = torch.randn(64, 64, device="cuda") * 0.1, torch.randn(64, 64, device="cuda") * 0.1
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            programs["small_steps"](x, w)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            programs["small_steps"](x, w)
        return graph.replay

    rows.add("20 small steps, host", "torch.cuda.CUDAGraph", replayed, by_host)
    rows.add("20 small steps", "torch.cuda.CUDAGraph", replayed, by_events)


def of_jax(rows: Rows) -> None:
    """JAX: the functions."""
    import jax
    import jax.numpy as jnp

    def chain(x: Any, y: Any) -> Any:
        return jnp.tanh(jax.nn.gelu(x * 0.5 + y, approximate=False)) * y + jax.nn.sigmoid(x)

    def small_steps(x: Any, w: Any) -> Any:
        for _ in range(20):
            x = jax.nn.relu(x @ w) * 0.5 + x
        return x

    def prepared(function: Any, shapes: list[tuple[int, ...]]) -> Any:
        given = [jnp.full(shape, 0.01, jnp.float32) for shape in shapes]
        compiled = jax.jit(function)
        return lambda: compiled(*given)

    small = [(64, 64), (64, 64)]
    rows.add("20 small steps", "jax.jit", lambda: prepared(small_steps, small), by_waiting)
    rows.add("chain of 1e8", "jax.jit", lambda: prepared(chain, [(10**8,), (10**8,)]), by_waiting)


def of_torch_compile(rows: Rows) -> None:
    """torch.compile in its default mode; compiling takes most of the time."""
    import torch

    of_library(rows, torch, "torch.compile", torch.compile)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write a file."""
    parser = cuda_report.parser_of(__doc__, SECONDS)
    parser.add_argument("--workloads", default="", help="only rows whose workload has one of these texts (a,b)")
    parser.add_argument("--ways", default="", help="only rows whose way has one of these texts (a,b)")
    chosen = parser.parse_args(arguments)
    if not cuda_report.is_measurable():
        return 0
    rows = Rows(chosen.seconds, chosen.workloads, chosen.ways)
    for part in (of_flambeau, of_torch, of_jax, of_torch_compile):
        try:
            part(rows)
        except ImportError as error:
            print(f"left out: {error}", flush=True)
    rows.ratios()
    cuda_report.write(chosen.out, rows.rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
