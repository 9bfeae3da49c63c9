"""How fast saved models run: ours beside torch.jit's, and ONNX Runtime's where the model can be exported.

    python -m benchmarks.models FOLDER                          every archive whose first recorded call gives a value
    python -m benchmarks.models FOLDER --only 'nanogpt|lenet'   some of them
    python -m benchmarks.models FOLDER --gradients              calls that record gradients, which ONNX Runtime has not
    python -m benchmarks.models FOLDER --kept figures.jsonl     goes on where a run was cut off, with its figures
    python -m benchmarks.models FOLDER --least --threads 2      the least of all turns, on two threads
    python -m benchmarks.models FOLDER --cpu x86-64-v3          ours and PyTorch as on a machine with AVX2 only

Each row is said (on stderr) as it comes; the table is printed at the end.

`FOLDER` has `NAME.pt` and beside it `NAME.inputs.npz` (`flambeau.testing.archives`). Each model has a process of its
own, in which its runners take turns. Figures are medians in microseconds of the processor's time, on several threads of
the clock, once calls are as fast as they get; ratios above 1 say that ours is faster. ONNX Runtime, which `--cpu` does
not reach (`benchmarks.avx2_only` does, where the processor lets it), gets what the exporter of PyTorch
makes of the model (`pip install onnx onnxruntime`); without it, or where that fails, its column is empty. So it is
where a second call is answered otherwise than by the model: what was exported may lack hooks, or what calls write.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compile_cost import printed
from benchmarks.levels import LEVELS, settings

HEAD = ("", "native", "flambeau", "torch.jit", "frozen", "onnxruntime", "torch.jit / ours", "onnxruntime / ours")
TIMEOUT = 300.0
WARM_UP = 24
"""Calls before any is counted: graphs become native within them, ours and torch's, and tasks are found to be short. No
thread makes plans meanwhile."""
OPSET = 17
Runner = Callable[[], Any]


def runners(archive: Path, *, gradients: bool, threads: int = 1) -> tuple[bool, dict[str, Runner]]:
    """Whether ours is native from end to end, and what makes the first recorded call, by the engine that does.

    What a first call assigns may make another plan for those that follow: the one that serves most calls counts.
    """
    import flambeau as fb
    from flambeau.testing.archives import decoded

    fb.set_num_threads(threads)
    with np.load(archive.with_name(f"{archive.stem}.inputs.npz")) as inputs:
        call = json.loads(str(inputs["spec"]))[0]
        arguments = [decoded(v, inputs) for v in call["args"]]
        keywords = {k: decoded(v, inputs) for k, v in call.get("kwargs", {}).items()}
    name = "forward" if call["method"] == "__call__" else call["method"]
    method = getattr(fb.jit.load(archive), name)

    def ours() -> Any:
        with fb.enable_grad() if gradients else fb.no_grad():
            return method(*arguments, **keywords)

    for _ in range(WARM_UP):
        ours()
    found = {"flambeau": ours}
    with contextlib.suppress(ImportError):
        found |= _peers(archive, name, arguments, keywords, gradients=gradients, threads=threads)
    serving = max(method.explain().compilations, key=lambda compilation: compilation.calls, default=None)
    return serving is not None and serving.is_native, found


def _peers(
    archive: Path, name: str, arguments: Any, keywords: Any, *, gradients: bool, threads: int
) -> dict[str, Runner]:
    """torch.jit as loaded and frozen, and ONNX Runtime; those that take the model. ImportError without torch."""
    import torch

    torch.set_num_threads(threads)
    module = torch.jit.load(archive)
    inputs, named = _as_torch(arguments), _as_torch(keywords)

    def run(method: Any) -> Runner:
        def call() -> Any:
            with torch.enable_grad() if gradients else torch.no_grad():
                return method(*inputs, **named)

        for _ in range(WARM_UP):
            call()
        return call

    found = {"torch.jit": run(getattr(module, name))}
    if not gradients and name == "forward":
        with contextlib.suppress(Exception):  # what cannot be frozen or exported has no figure
            found["frozen"] = run(torch.jit.freeze(torch.jit.load(archive).eval()))
        with contextlib.suppress(Exception):
            runner = _onnx_runner(module, inputs, named, threads)
            fresh = torch.jit.load(archive).eval()
            with torch.no_grad():
                expected = [fresh(*inputs, **named) for _ in range(2)]
            if answers_alike(runner(), expected[-1]):  # which has been asked once, while it was made
                found["onnxruntime"] = runner
    return found


def answers_alike(ours: Any, theirs: Any) -> bool:
    """Whether all numbers in two answers are the same, but for what float32 loses on the way.

    >>> answers_alike([np.ones(2)], (np.ones(2) + 1e-6,)), answers_alike([np.ones(2)], np.zeros(2))
    (True, False)
    """
    mine, others = _arrays_in(ours), _arrays_in(theirs)
    return len(mine) == len(others) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-2, atol=1e-2, equal_nan=True)
        for a, b in zip(mine, others, strict=True)
    )


def _arrays_in(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [a for item in value for a in _arrays_in(item)]
    if isinstance(value, dict):
        return _arrays_in(list(value.values()))
    if isinstance(value, int | float | np.ndarray):
        return [np.asarray(value)]
    return [value.detach().numpy()] if hasattr(value, "numpy") else []


def _as_torch(value: Any) -> Any:
    import torch

    import flambeau as fb

    if isinstance(value, fb.Tensor):
        return torch.from_numpy(value.numpy().copy())
    if isinstance(value, list | tuple):
        return type(value)(map(_as_torch, value))
    return {k: _as_torch(v) for k, v in value.items()} if isinstance(value, dict) else value


def _onnx_runner(module: Any, inputs: Sequence[Any], named: dict[str, Any], threads: int) -> Runner:
    """A session of ONNX Runtime over what PyTorch exports. Raises whatever either of them does."""
    import onnxruntime
    import torch

    file = io.BytesIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(
            module.eval(), tuple(inputs), file, kwargs=named or None, dynamo=False, opset_version=OPSET
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    feed = dict(zip([i.name for i in session.get_inputs()], _tensors_in([*inputs, *named.values()]), strict=False))
    session.run(None, feed)  # raises here what it would raise while the clock runs
    return lambda: session.run(None, feed)


def _tensors_in(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [t for item in value for t in _tensors_in(item)]
    if isinstance(value, dict):
        return _tensors_in(list(value.values()))
    return [value.numpy()] if hasattr(value, "numpy") else []


def figures_of(
    found: dict[str, Runner],
    rounds: int,
    seconds: float,
    *,
    clock: Callable[[], float] = time.process_time,
    choose: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """Microseconds of a call by each runner, which take turns: what is chosen of the turns, the median if not told.

    >>> ticks = iter(range(100))
    >>> figures_of({"a": lambda: None}, 1, 4.0, clock=lambda: float(next(ticks)))
    {'a': 250000.0}
    """
    taken: dict[str, list[float]] = {name: [] for name in found}
    calls = dict.fromkeys(found, 1)
    for _ in range(rounds):
        for name, run in found.items():
            taken[name].append(1e6 * _turn(run, calls, name, seconds, clock))
    return {name: choose(times) for name, times in taken.items()}


def _turn(run: Runner, calls: dict[str, int], name: str, seconds: float, clock: Callable[[], float]) -> float:
    """Seconds of a call in one turn. The clock is asked once for many calls: asking takes as long as short ones do."""
    count, start = 0, clock()
    while True:
        for _ in range(calls[name]):
            run()
        count += calls[name]
        spent = clock() - start
        if spent >= seconds:
            return spent / count
        if spent < seconds / 8:
            calls[name] *= 2


def measure(archive: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one model, from a process of its own. Raises RuntimeError with the last line of what it said."""
    command = [sys.executable, "-m", "benchmarks.models", str(archive), "--one"]
    command += ["--rounds", str(options.rounds), "--seconds", str(options.seconds)]
    command += ["--threads", str(options.threads), *["--gradients"] * options.gradients, *["--least"] * options.least]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(options.threads))
    environment = {**os.environ, **threads, "FLAMBEAU_BACKGROUND": "off"}
    environment |= settings(options.cpu) if options.cpu else {}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=options.timeout, check=False
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it died"])[-1])
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def row(name: str, figures: dict[str, Any]) -> list[str]:
    """A line of the table."""
    if "error" in figures:
        return [name, figures["error"][:30], *["-"] * (len(HEAD) - 2)]
    engines = [figures.get(k) for k in ("flambeau", "torch.jit", "frozen", "onnxruntime")]
    ratios = [t and t / figures["flambeau"] for t in (engines[1], engines[3])]
    cells = [*(f"{t:,.1f}" if t else "-" for t in engines), *(f"{r:.2f}x" if r else "-" for r in ratios)]
    return [name, "yes" if figures["native"] else "no", *cells]


def summary(rows: Sequence[dict[str, Any]], engine: str) -> str:
    """How we stand beside one engine."""
    ratios = [r[engine] / r["flambeau"] for r in rows if r.get(engine)]
    if not ratios:
        return f"{engine}: none"
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    return f"{engine}: geometric mean {mean:.2f}x over {len(ratios)} models, the least {min(ratios):.2f}x"


def outcome(archive: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What becomes of one model: its figures, or why there are none."""
    try:
        return measure(archive, options)
    except RuntimeError as error:
        return {"error": str(error)}
    except subprocess.TimeoutExpired:
        return {"error": f"longer than {options.timeout:g} s"}


def outcomes(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What becomes of all models, by name, each said as it comes; those of the file of figures are not measured again,
    but those without figures.
    """
    kept: Path | None = options.kept
    lines = kept.read_text().splitlines() if kept is not None and kept.exists() else []
    before = {name: figures for name, figures in map(json.loads, lines) if "error" not in figures}
    known = {}
    for archive in sorted(options.folder.glob("*.pt")):
        name = archive.stem
        recorded = archive.with_name(f"{name}.inputs.npz").exists()
        if not recorded or (options.only and not re.fullmatch(options.only, name)):
            continue
        known[name] = before.get(name) or outcome(archive, options)
        print("  ".join(row(name, known[name])), file=sys.stderr, flush=True)
        if kept is not None and name not in before:
            with kept.open("a") as file:
                file.write(json.dumps([name, known[name]]) + "\n")
    return known


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="archives with recorded calls")
    parser.add_argument("--only", default="", help="regular expression that the name must match in full")
    parser.add_argument("--rounds", type=int, default=5, help="calls of each engine")
    parser.add_argument("--seconds", type=float, default=0.05, help="seconds of a turn")
    parser.add_argument("--least", action="store_true", help="the least of all turns counts, not the median")
    parser.add_argument("--threads", type=int, default=1, help="threads of each engine; of several, time of the clock")
    parser.add_argument("--cpu", choices=LEVELS, help="the level of x86-64 that ours and PyTorch keep to")
    parser.add_argument("--gradients", action="store_true", help="record gradients")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--kept", type=Path, help="file of figures, a line a model, which is read first and added to")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds that a model may take")
    parser.add_argument("--one", action="store_true", help="the folder is one archive: print its figures as JSON")
    options = parser.parse_args(arguments)
    if options.one:
        warnings.simplefilter("ignore")
        is_native, found = runners(options.folder, gradients=options.gradients, threads=options.threads)
        clock = time.process_time if options.threads == 1 else time.perf_counter
        choose = min if options.least else statistics.median
        figures = figures_of(found, options.rounds, options.seconds, clock=clock, choose=choose)
        print(json.dumps({"native": is_native, **figures}))
        return 0
    by_name = outcomes(options)
    table = [list(HEAD), *[row(name, figures) for name, figures in by_name.items()]]
    known = [figures for figures in by_name.values() if "error" not in figures]
    print(printed(table, options.markdown))
    print()
    print(f"native from end to end: {sum(r['native'] for r in known)} of {len(known)}")
    for engine in ("torch.jit", "frozen", "onnxruntime"):
        print(summary(known, engine))
    return 0


if __name__ == "__main__":
    sys.exit(main())
