"""Steps of training beside PyTorch's: eager modules, and scripted ones, in the loop that users write.

    python -m benchmarks.training_steps [--only NAME ...] [--steps 60] [--dtype float32]

A step is gradients set to none, loss, way back, clipping and the optimiser's step, on one thread. Times are of the
processor, the least of all steps after the first ten; losses of the first twenty are compared with PyTorch's.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

import flambeau
from benchmarks.workloads import training_images, training_sequences

COMPARED = 20
WARM = 10


def measured(library: Any, module: Any, program: Sequence[Any], steps: int) -> tuple[list[float], float]:
    """The losses, and microseconds of the fastest step."""
    _, loss_of, optimiser_of = program
    optimiser, losses, best = optimiser_of(list(module.parameters())), [], float("inf")
    for number in range(steps):
        start = time.thread_time()
        optimiser.zero_grad()
        loss = loss_of(module)
        loss.backward()
        library.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()
        if number >= WARM:
            best = min(best, time.thread_time() - start)
        losses.append(loss.item())
    return losses, best * 1e6


def row(make: Any, dtype: str, steps: int) -> str:
    """One program by PyTorch, `torch.jit`, eager modules and scripted ones, as a row of a table."""
    for library in (torch, flambeau):
        library.set_default_dtype(getattr(library, dtype))
    theirs, ours = (make(library, np.random.default_rng(0), dtype) for library in (torch, flambeau))
    ours[0].load_state_dict({k: flambeau.tensor(v.numpy().copy()) for k, v in theirs[0].state_dict().items()})
    found = [
        measured(torch, copy.deepcopy(theirs[0]), theirs, steps),
        measured(torch, torch.jit.script(copy.deepcopy(theirs[0])), theirs, steps),
        measured(flambeau, copy.deepcopy(ours[0]), ours, steps),
        measured(flambeau, flambeau.script(copy.deepcopy(ours[0])), ours, steps),
    ]
    expected = np.array(found[0][0][:COMPARED])
    off = max(float(np.abs(np.array(losses[:COMPARED]) - expected).max()) for losses, _ in found[2:])
    times = [each for _, each in found]
    cells = [*(f"{each:,.0f}" for each in times), f"{times[1] / times[3]:.2f}", f"{times[0] / times[2]:.2f}"]
    return f"| {make.__name__} | {' | '.join(cells)} | {off:.0e} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    torch.set_num_threads(1)
    flambeau.set_num_threads(1)
    print("| program | PyTorch | torch.jit | eager | scripted | scripted to torch.jit | eager to PyTorch | off |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for make in (*training_images.PROGRAMS, *training_sequences.PROGRAMS):
        if not options.only or make.__name__ in options.only:
            torch.manual_seed(0)
            print(row(make, options.dtype, options.steps), flush=True)


if __name__ == "__main__":
    main()
