"""Every layer on inputs that are none it is made for: nan, infinities, no elements, other ranks and sizes.

It gives what PyTorch gives, or both refuse.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from tests.nn.layer_table import draw, rows
from tests.nn.peers import flat

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

Arrays = list[np.ndarray]


def with_some(value: float) -> Callable[[Arrays], Arrays]:
    """A fifth of all numbers replaced by one."""

    def change(arrays: Arrays) -> Arrays:
        changed, rng = [a.copy() for a in arrays], np.random.default_rng(5)
        for array in changed:
            if array.dtype.kind == "f" and array.size:
                array.reshape(-1)[rng.integers(0, array.size, max(1, array.size // 5))] = value
        return changed

    return change


HOSTILE: dict[str, Callable[[Arrays], Arrays]] = {
    "nan": with_some(np.nan),
    "infinity": with_some(np.inf),
    "no batch": lambda arrays: [a[:0] for a in arrays],
    "first one without batch": lambda arrays: [arrays[0][:0], *arrays[1:]],
    "no elements": lambda arrays: [arrays[0][..., :0], *arrays[1:]],
    "a dimension more": lambda arrays: [arrays[0][None], *arrays[1:]],
    "a dimension less": lambda arrays: [arrays[0][0] if len(arrays[0]) else arrays[0], *arrays[1:]],
    "a longer row": lambda arrays: [np.concatenate([arrays[0]] * 2, axis=-1), *arrays[1:]],
    "a number": lambda arrays: [np.array(1, arrays[0].dtype), *arrays[1:]],
    "columns first in memory": lambda arrays: [np.asfortranarray(a) for a in arrays],
}
ELSEWHERE: dict[str, dict[str, str]] = {
    "AdaptiveAvgPool2d(1)": {
        "no elements": "PyTorch takes a mean of nothing",
        "a dimension more": "PyTorch takes a mean, whatever the rank",
    },
    "BatchNorm1d": {"no elements": "PyTorch takes no channels for any number"},
    "Bilinear": {"infinity": "which sums are not numbers depends on their order"},
    "ConvTranspose": {"no elements": "PyTorch makes some of nothing if there is no batch either"},
    "CrossMapLRN2d": {
        "nan": "PyTorch takes squares away from a running sum, in which a nan stays",
        "infinity": "PyTorch takes squares away from a running sum, in which an infinity becomes nan",
    },
    "EmbeddingBag": {"no elements": "PyTorch refuses bags without indices"},
    "InstanceNorm2d": {"no batch": "PyTorch fails", "first one without batch": "PyTorch fails"},
    "GELU()": {"infinity": "PyTorch gives nan for infinity, in some places of an array"},
    "MultiLabelMarginLoss": {"nan": "PyTorch leaves nan out", "infinity": "the same", "no batch": "it is not written"},
    "MultiMarginLoss": {"nan": "PyTorch leaves nan out", "no batch": "the result is not written"},
    "PixelUnshuffle": dict.fromkeys(("no batch", "first one without batch", "no elements"), "PyTorch keeps the sizes"),
    "SoftMarginLoss": {"a dimension less": "PyTorch does not broadcast", "a number": "PyTorch does not broadcast"},
    "Unfold": {"no elements": "PyTorch refuses what padding makes possible"},
    "Upsample(scale_factor=1.3": {"infinity": "PyTorch adds 0 times infinity"},
}
"""Where the two differ, and why."""


def known(make: str, kind: str) -> bool:
    return any(name in make and kind in kinds for name, kinds in ELSEWHERE.items())


def result(library: Any, layer: Any, arrays: Arrays) -> list[Any] | Exception:
    try:
        return [t.detach().numpy() for t in flat(layer(*[library.from_numpy(a.copy()) for a in arrays]))]
    except Exception as error:
        return error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "inputs", "remark"), rows())
def test_same_as_torch(make: str, inputs: list[str], remark: str) -> None:
    for kind, change in HOSTILE.items():
        if known(make, kind):
            continue
        mine, theirs = eval(make, {"nn": nn}), eval(make, {"nn": torch.nn})
        if remark == "eval":
            mine.eval(), theirs.eval()
        state = theirs.state_dict()
        mine.load_state_dict({name: flambeau.from_numpy(value.numpy().copy()) for name, value in state.items()})
        arrays = change(draw(inputs, np.float32))
        want, found = result(torch, theirs, arrays), result(flambeau, mine, arrays)
        if isinstance(want, Exception) or isinstance(found, Exception):
            assert isinstance(want, Exception), f"{kind}: only we refuse: {found!r}"
            assert isinstance(found, Exception), f"{kind}: only PyTorch refuses: {want!r}"
            assert not re.search("reshape array|tuple index|non-broadcastable|from an empty axes", str(found)), kind
            continue
        for a, b in zip(found, want, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype), kind
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4, err_msg=kind)
