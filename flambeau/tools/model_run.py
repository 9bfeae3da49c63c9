"""A saved model run on arrays: `flambeau run model.pt --inputs x.npz --expect y.npz`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import flambeau
from flambeau.executor.report import duration
from flambeau.tensor.tensor import Tensor
from flambeau.tools.command_errors import CommandError
from flambeau.utils.pytree import tree_leaves

Array = np.ndarray[Any, Any]
SECONDS: Final = 1.0
"""How long calls are timed at most, behind the first."""


def read_arrays(path: Path) -> list[Array]:
    """The arrays of a `.npz` file in order, or that of a `.npy` file. Raises CommandError for what is none."""
    if not path.is_file():
        raise CommandError(f"there is no file {path}")
    try:
        loaded = np.load(path, allow_pickle=False)
        arrays = [loaded] if isinstance(loaded, np.ndarray) else [loaded[name] for name in loaded.files]
    except (ValueError, OSError) as error:
        raise CommandError(f"{path} is no file of arrays, .npz or .npy: {error}") from error
    if not all(isinstance(array, np.ndarray) for array in arrays):
        raise CommandError(f"{path} is no file of arrays, .npz or .npy: it holds others")
    return arrays


def write_results(path: Path, result: Any) -> None:
    """The tensors of a result as a `.npz` file: `0`, `1`, ... in order."""
    np.savez(path, **{str(number): tensor.detach().numpy() for number, tensor in enumerate(_tensors(result))})


def _tensors(result: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]


def timed(function: Callable[..., Any], arguments: Sequence[Any], repeats: int) -> tuple[Any, list[str]]:
    """What a call gives, and lines about how long calls take.

    Args:
        repeats: calls behind the first, which are timed for `SECONDS` at most.
    """
    start = time.perf_counter()
    result = function(*arguments)
    lines = [f"first call   {duration(time.perf_counter() - start)}"]
    times: list[float] = []
    while len(times) < repeats and sum(times) < SECONDS:
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    if times:
        lines.append(f"later calls  {duration(statistics.median(times))}, the median of {len(times)}")
    return result, lines


def described(result: Any) -> list[str]:
    """A line for each tensor and number of a result."""
    return [f"  {_text(leaf)}" for leaf in tree_leaves(result)]


def _text(leaf: Any) -> str:
    if not isinstance(leaf, Tensor):
        return repr(leaf)
    sizes = "x".join(map(str, leaf.shape)) or "a number"
    text = f"{str(leaf.dtype).partition('.')[2]} {sizes}"
    if not leaf.numel() or leaf.is_complex():
        return text
    wide = leaf.detach().to(flambeau.float64).numpy()
    with np.errstate(all="ignore"):
        return f"{text}: least {wide.min():.6g}, mean {wide.mean():.6g}, greatest {wide.max():.6g}"


def compared(result: Any, expected: Sequence[Array], rtol: float, atol: float) -> tuple[bool, list[str]]:
    """Whether the tensors of a result are the expected ones, and a line for each.

    Raises CommandError if there are not as many.
    """
    tensors = _tensors(result)
    if len(tensors) != len(expected):
        raise CommandError(f"the model gives {len(tensors)} tensors, but {len(expected)} arrays are expected")
    is_equal, lines = True, []
    for number, (tensor, array) in enumerate(zip(tensors, expected, strict=True)):
        got = tensor.detach().numpy()
        if got.shape != array.shape:
            is_equal = False
            lines.append(f"  {number}: DIFFERS, of sizes {got.shape}, expected {array.shape}")
            continue
        fits = np.allclose(got, array, rtol=rtol, atol=atol, equal_nan=True)
        is_equal = is_equal and fits
        lines.append(f"  {number}: {'equal' if fits else 'DIFFERS'}, at most by {_difference(got, array):.3g}")
    return is_equal, lines


def _difference(got: Array, expected: Array) -> float:
    """The largest difference; infinities and nans in the same places make none."""
    with np.errstate(all="ignore"):
        apart = np.abs(got.astype(np.complex128) - expected.astype(np.complex128))
    is_same = (got == expected) | ((got != got) & (expected != expected))
    return float(np.max(np.where(is_same, 0.0, apart), initial=0.0))
