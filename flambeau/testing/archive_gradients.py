"""Recorded gradients of archives, checked: `python -m flambeau.testing.archive_gradients FOLDER...`.

Beside `NAME.pt` lies `NAME.grads.npz`, with an array per parameter and
`inputN` for floating tensors among the arguments of the first call: gradients of the sum of `out * cos(arange)` over
its results. They are as inexact as the largest of them: behind a normalisation, sums of large terms are zero.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import flambeau
from flambeau.tensor.tensor import Tensor
from flambeau.testing.archives import ATOL, RTOL, decoded


def gradient_differences(archive: Path) -> Iterator[str]:
    """In what the gradients of an archive's first call are not what was recorded.

    Raises FileNotFoundError if nothing was recorded, and what the call itself raises.
    """
    recorded_inputs = archive.with_name(f"{archive.stem}.inputs.npz")
    with np.load(recorded_inputs) as inputs, np.load(archive.with_name(f"{archive.stem}.grads.npz")) as expected:
        call = json.loads(str(inputs["spec"]))[0]
        module = flambeau.jit.load(archive)
        arguments = [decoded(value, inputs) for value in call["args"]]
        keywords = {name: decoded(value, inputs) for name, value in call.get("kwargs", {}).items()}
        leaves: dict[str, Any] = dict(module.named_parameters()) if isinstance(module, flambeau.nn.Module) else {}
        for number, value in enumerate(arguments):
            if isinstance(value, Tensor) and value.is_floating_point():
                leaves[f"input{number}"] = value.requires_grad_()
        method = module if call["method"] in ("forward", "__call__") else getattr(module, call["method"])
        loss = weighted_sum(method(*arguments, **keywords))
        loss.backward()
        bound = ATOL + RTOL * max((float(np.max(np.abs(expected[n]), initial=0)) for n in expected.files), default=0)
        for name in expected.files:
            actual = leaves[name].grad
            error = np.inf if actual is None else distance(actual.numpy(), expected[name])
            if not error <= bound:
                what = "there is none" if actual is None else f"differs by up to {error:.2g}, {bound:.2g} may be"
                yield f"the gradient of {name}: {what}"


def distance(actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """How far two arrays are apart where they are farthest; infinitely far if they have other shapes.

    >>> distance(np.array([1.0, 0.0]), np.array([1.0, 0.5]))
    0.5
    """
    return float(np.max(np.abs(actual - expected), initial=0)) if actual.shape == expected.shape else np.inf


def weighted_sum(result: Any) -> Any:
    """The sum of `tensor * cos(arange)` over all floating tensors that a result is or holds.

    >>> import flambeau
    >>> weighted_sum((flambeau.ones(1), [flambeau.ones(1)]))
    tensor(2.)
    """
    return sum(
        (tensor * flambeau.arange(tensor.numel()).to(tensor.dtype).cos().reshape(tensor.shape)).sum()
        for tensor in _floating(result)
    )


def _floating(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _floating(item)
    elif isinstance(value, dict):
        yield from _floating(list(value.values()))


def main(folders: Sequence[str]) -> int:
    """Check all archives with recorded gradients in some folders; how many have others."""
    failed = checked = 0
    for recorded in sorted(path for folder in folders for path in Path(folder).glob("*.grads.npz")):
        name = recorded.name.removesuffix(".grads.npz")
        checked += 1
        try:
            problems = list(gradient_differences(recorded.with_name(f"{name}.pt")))
        except (RuntimeError, NotImplementedError) as error:
            problems = [f"{type(error).__name__}: {error}"]
        failed += bool(problems)
        for text in problems:
            sys.stdout.write(f"{name}: {text}\n")
    sys.stdout.write(f"{checked - failed} of {checked} archives have the gradients recorded\n")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
