"""From the file of a saved model to its first answer: ours beside torch.jit's and ONNX Runtime's.

    python -m benchmarks.first_answers FOLDER                         every archive that has a recorded call
    python -m benchmarks.first_answers FOLDER --only 'nanogpt|lenet'  some of them

Each figure is loading and one call under `no_grad` in a process of its own, whose imports are done: milliseconds of
the processor, all threads together, the least over the rounds. "nothing" has nothing of the model on disk, but the code
that all programs share; "answered" what a process left that asked once; "planned" what one left that asked four times.
ONNX Runtime reads the file that PyTorch's exporter made; without it, or where that fails, its column is empty.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compile_cost import printed
from benchmarks.models import OPSET, _as_torch, _tensors_in, answers_alike, summary

ENGINES = ("nothing", "answered", "planned", "torch.jit", "onnxruntime")
HEAD = ("", *ENGINES, "onnxruntime / nothing", "onnxruntime / planned")
TIMEOUT = 300.0
FEED = ".feed.npz"


def recorded_call(archive: Path) -> tuple[str, list[Any], dict[str, Any]]:
    """The method of the first recorded call, and its arguments."""
    from flambeau.testing.archives import decoded

    with np.load(archive.with_name(f"{archive.stem}.inputs.npz")) as inputs:
        call = json.loads(str(inputs["spec"]))[0]
        arguments = [decoded(v, inputs) for v in call["args"]]
        keywords = {k: decoded(v, inputs) for k, v in call.get("kwargs", {}).items()}
    return ("forward" if call["method"] == "__call__" else call["method"]), arguments, keywords


def prepare_ours(archive: Path, folder: Path) -> Callable[[int], Any]:
    """Loads the model and calls it a number of times."""
    import flambeau as fb

    fb.set_num_threads(1)
    name, arguments, keywords = recorded_call(archive)

    def answer(calls: int) -> None:
        method = getattr(fb.jit.load(archive), name)
        with fb.no_grad():
            for _ in range(calls):
                method(*arguments, **keywords)

    return answer


def prepare_torch(archive: Path, folder: Path) -> Callable[[int], Any]:
    """The same by torch.jit."""
    import torch

    torch.set_num_threads(1)
    name, arguments, keywords = recorded_call(archive)
    inputs, named = _as_torch(arguments), _as_torch(keywords)

    def answer(calls: int) -> None:
        method = getattr(torch.jit.load(archive), name)
        with torch.no_grad():
            method(*inputs, **named)

    return answer


def prepare_onnx(archive: Path, folder: Path) -> Callable[[int], Any]:
    """The same by ONNX Runtime, of the exported file. Raises whatever it raises."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    with np.load(folder / f"{archive.stem}{FEED}") as kept:
        fed = [kept[name] for name in kept.files]
    file = str(folder / f"{archive.stem}.onnx")

    def answer(calls: int) -> Any:
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        return session.run(None, dict(zip([i.name for i in session.get_inputs()], fed, strict=False)))

    return answer


def export(archive: Path, folder: Path) -> None:
    """Write what ONNX Runtime reads. Raises whatever PyTorch's exporter and ONNX Runtime raise, ValueError for another
    answer than the model's."""
    import torch

    _, arguments, keywords = recorded_call(archive)
    inputs, named = _as_torch(arguments), _as_torch(keywords)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(
            torch.jit.load(archive).eval(), tuple(inputs), str(folder / f"{archive.stem}.onnx"), kwargs=named or None,
            dynamo=False, opset_version=OPSET,
        )  # fmt: skip
    np.savez(folder / f"{archive.stem}{FEED}", *_tensors_in([*arguments, *keywords.values()]))
    with torch.no_grad():
        expected = torch.jit.load(archive).eval()(*inputs, **named)
    if not answers_alike(prepare_onnx(archive, folder)(1), expected):
        raise ValueError("what was exported gives another answer than the model")


def fill_shared() -> None:
    """Leave in the cache what all programs share: entries, loops of operators, kernels of layers over images."""
    import flambeau as fb

    x, w = fb.ones(1, 4, 8, 8), fb.ones(4, 4, 3, 3)
    for _ in range(1 << 13):
        fb.add(x[0, 0], 1.0)
    for _ in range(3):
        y = fb.nn.functional.conv2d(x, w, padding=1)
        fb.nn.functional.conv2d(y, w[:, :1], groups=4)
        fb.nn.functional.max_pool2d(y, 2)
        fb.nn.functional.linear(y.flatten(1), fb.ones(3, 256))
        fb.bmm(y[0], y[0])


WORK = {"ours": prepare_ours, "torch": prepare_torch, "onnx": prepare_onnx}


def child(kind: str, archive: Path, folder: Path, calls: int = 1) -> None:
    """What a process of its own does: prints its milliseconds, where it measures any."""
    if kind == "export":
        export(archive, folder)
    elif kind == "shared":
        fill_shared()
    else:
        answer = WORK[kind](archive, folder)
        start = time.process_time()
        answer(calls)
        print(1e3 * (time.process_time() - start))


def run(kind: str, archive: Path, folder: Path, cache: Path, calls: int = 1) -> float | None:
    """The milliseconds of a process; None where it fails."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.first_answers", str(archive), "--child", kind]
    command += ["--work", str(folder), "--calls", str(calls)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "FLAMBEAU_CACHE_DIR": str(cache)}
    environment["FLAMBEAU_BACKGROUND"] = "off"  # who asked four times has the plan when it ends
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return None
    lines = done.stdout.split()
    return None if done.returncode else float(lines[-1]) if lines else 0.0


def measure(archive: Path, folder: Path, rounds: int) -> dict[str, float | None]:
    """Milliseconds by engine; `folder/shared` is a cache with what all programs share."""
    taken: dict[str, list[float | None]] = {engine: [] for engine in ENGINES}
    has_onnx = run("export", archive, folder, folder / "shared") is not None
    for _ in range(rounds):
        cache = folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        shutil.copytree(folder / "shared", cache)
        taken["nothing"].append(run("ours", archive, folder, cache))
        taken["answered"].append(run("ours", archive, folder, cache))
        run("ours", archive, folder, cache, calls=4)
        taken["planned"].append(run("ours", archive, folder, cache))
        taken["torch.jit"].append(run("torch", archive, folder, cache))
        taken["onnxruntime"].append(run("onnx", archive, folder, cache) if has_onnx else None)
    return {name: min([t for t in times if t is not None], default=None) for name, times in taken.items()}


def row(name: str, figures: dict[str, float | None]) -> list[str]:
    """A line of the table."""
    cells = [f"{figures[k]:,.1f}" if figures[k] is not None else "-" for k in ENGINES]
    peer = figures["onnxruntime"]
    ours = [figures[k] for k in ("nothing", "planned")]
    return [name, *cells, *(f"{peer / t:.2f}x" if peer and t else "-" for t in ours)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_answers", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="archives with recorded calls")
    parser.add_argument("--only", default="", help="regular expression that the name must match in full")
    parser.add_argument("--rounds", type=int, default=2, help="processes per figure")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--calls", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        child(options.child, options.folder, options.work, options.calls)
        return 0
    table, known = [list(HEAD)], []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "shared").mkdir()
        run("shared", options.folder, work, work / "shared")
        for archive in sorted(options.folder.resolve().glob("*.pt")):
            is_recorded = archive.with_name(f"{archive.stem}.inputs.npz").exists()
            if not is_recorded or (options.only and not re.fullmatch(options.only, archive.stem)):
                continue
            figures = measure(archive, work, options.rounds)
            table.append(row(archive.stem, figures))
            known.append(figures)
            if sys.stderr.isatty():
                print(f"{len(known)} models", end="\r", file=sys.stderr)
    print(printed(table, options.markdown))
    print()
    for ours in ("nothing", "answered", "planned"):
        rows = [{**f, "flambeau": f[ours]} for f in known if f[ours]]
        print(f"{ours}:", *(summary(rows, engine) for engine in ("torch.jit", "onnxruntime")), sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
