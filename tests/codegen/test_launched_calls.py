"""Convolutions a call at a time, forward and transposed, by the launches of plans, beside PyTorch's in double precision
and beside compiled ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.convolutions import launched_calls
from flambeau.codegen.llvm.engine import engine
from tests.codegen.test_convolutions import numbers

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
is_wide = available() and engine().target.vector_bits > 128
pytestmark = pytest.mark.skipif(not is_wide, reason="needs LLVM, and vectors of 256 bits")
CASES = [  # (input, outputs, groups, kernel, padding, dilation, whether a launch serves it)
    ((2, 20, 30, 33), 20, 20, (3, 3), (1, 1), (1, 1), True),  # a channel at a time, places in lanes
    ((3, 33, 12, 13), 33, 33, (5, 3), (2, 0), (1, 2), True),  # channels in lanes
    ((2, 33, 15, 22), 47, 1, (3, 3), (0, 2), (1, 1), True),  # by Winograd's products
    ((1, 64, 8, 8), 64, 1, (3, 3), (1, 1), (2, 2), False),
    ((2, 16, 20, 20), 32, 8, (3, 3), (1, 1), (1, 1), False),
]
conv2d: Any = flambeau.conv2d
conv_transpose2d: Any = flambeau.conv_transpose2d
UNIT = """
def forward(x: Tensor, w: Tensor, b: Tensor, p: List[int], d: List[int], g: int) -> Tensor:
    return flambeau.conv2d(x, w, b, [1, 1], p, d, g)

def transposed(x: Tensor, w: Tensor, b: Tensor, p: List[int], d: List[int], g: int) -> Tensor:
    return flambeau.conv_transpose2d(x, w, b, [1, 1], p, [0, 0], g, d)
"""


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What each call that is prepared is launched by."""
    found: list[Any] = []
    prepare = launched_calls.prepare

    def recorded(*operands: Any) -> Any:
        found.append(prepare(*operands))
        return found[-1]

    monkeypatch.setattr(launched_calls, "prepare", recorded)
    monkeypatch.setattr(launched_calls, "FROM", 0.0)
    return found


@pytest.mark.parametrize("name", ["forward", "transposed"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_calls_are_as_in_torch_and_as_compiled(case: Any, name: str, launched: list[Any]) -> None:
    shape, outputs, groups, kernel, padding, dilation, is_launched = case
    x, b = numbers(0, *shape), numbers(1, outputs)
    pair = (outputs, shape[1] // groups) if name == "forward" else (shape[1], outputs // groups)
    w = numbers(2, *pair, *kernel)
    mine, numbers_ = [flambeau.from_numpy(a) for a in (x, w, b)], (list(padding), list(dilation), groups)
    exact = [torch.tensor(a).double() for a in (x, w, b)]
    function = getattr(flambeau.jit.CompilationUnit(UNIT), name)
    if name == "forward":
        single = conv2d(*mine, 1, padding, dilation, groups)
        expected = torch.conv2d(*exact, 1, padding, dilation, groups).numpy()
    else:
        single = conv_transpose2d(*mine, 1, padding, 0, groups, dilation)
        expected = torch.conv_transpose2d(*exact, 1, padding, 0, groups, dilation).numpy()
    with flambeau.no_grad():
        compiled = [function(*mine, *numbers_) for _ in range(3)][-1]
    assert [one is not None for one in launched] == [is_launched]
    assert np.abs(single.numpy() - expected).max() <= 3e-6 * np.abs(expected).max()
    np.testing.assert_array_equal(single.numpy(), compiled.numpy())


def test_other_layouts_and_what_is_not_finite(launched: list[Any]) -> None:
    x = numbers(0, 2, 33, 33, 40)[:, :, ::-1, 1:]
    x[0, 3, 5, 7], x[1, 2, 0, 0] = np.nan, np.inf
    for count, groups in ((1, 33), (33, 1)):
        w = numbers(1, 33, count, 3, 3)
        found = conv2d(flambeau.from_numpy(x.copy()), flambeau.from_numpy(w), None, 1, 1, 1, groups)
        expected = torch.conv2d(torch.tensor(x.copy()).double(), torch.tensor(w).double(), None, 1, 1, 1, groups)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)
        last = flambeau.from_numpy(np.ascontiguousarray(x.transpose(0, 2, 3, 1))).permute(0, 3, 1, 2)
        again = conv2d(last, flambeau.from_numpy(w), None, 1, 1, 1, groups)
        np.testing.assert_allclose(again.numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)
        assert again.is_contiguous(memory_format=flambeau.channels_last)
    assert [one is not None for one in launched] == [True, False] * 2


def test_gradients_go_the_same_way(launched: list[Any]) -> None:
    x, w = numbers(0, 2, 12, 24, 24), numbers(1, 12, 1, 3, 3)
    mine = [flambeau.from_numpy(a).requires_grad_() for a in (x, w)]
    theirs = [torch.tensor(a).double().requires_grad_() for a in (x, w)]
    (conv2d(*mine, None, 1, 1, 1, 12) ** 2).sum().backward()
    (torch.conv2d(*theirs, None, 1, 1, 1, 12) ** 2).sum().backward()
    for a, b in zip(mine, theirs, strict=True):
        assert a.grad is not None
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-4, atol=1e-3)
    assert [one is not None for one in launched] == [True, True]
