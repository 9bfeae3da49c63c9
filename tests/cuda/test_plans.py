"""Compiled functions on tensors of a device give what they give on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor

pytestmark = pytest.mark.usefixtures("cuda")


def on_device(value: Any) -> Any:
    """A value with all tensors on the device."""
    if isinstance(value, Tensor):
        return value.to("cuda")
    return type(value)(map(on_device, value)) if isinstance(value, list | tuple) else value


def assert_same(found: Any, wanted: Any, *, is_there: bool = True) -> None:
    """Assert that a result on the device is one of the host."""
    if isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, is_there=is_there)
    elif isinstance(wanted, Tensor):
        assert found.is_cuda == is_there
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found.cpu().numpy(), wanted.numpy(), rtol=2e-5, atol=2e-6)
    else:
        assert found == wanted


def assert_runs(function: Any, *arguments: Any, times: int = 4) -> Any:
    """Assert that a scripted function gives the same there, call after call; what it explains."""
    script = flambeau.script(function)
    for _ in range(times):
        wanted = script(*_copies(arguments))
        assert_same(script(*on_device(_copies(arguments))), wanted)
    return script


def _copies(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.clone()
    return type(value)(map(_copies, value)) if isinstance(value, list | tuple) else value


def chain(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = F.gelu(x * 2 + y)
    return z, z.sum(dim=1)


def loops(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x * 0.5 + float(i)
        if i % 3 == 1:
            x = x.relu()
    return x


def by_sizes(x: Tensor) -> Tensor:
    if x.size(0) > 3:
        return x.sum(dim=0)
    elif x.dim() == 2 and x.size(1) == 1:
        return x.exp()
    return x.mean(dim=1)


def by_elements(x: Tensor) -> Tensor:
    while bool(x.sum() > 1.0):
        x = x / 2
    return x + 1


def in_place(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    x += y
    x[0] = y[1] * 3
    x[:, 1:3].mul_(2)
    y.zero_()
    return x, y + 1


def views(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    a = x.t()[1:, ::2] * 2
    b = x.reshape(-1)[3:].view(-1, 1) + 1
    c = x.unsqueeze(1).expand(x.size(0), 2, x.size(1)).contiguous().tanh()
    return a, b, c, x[-1]


def softmaxes(x: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return F.softmax(x, dim=-1), F.layer_norm(x, [x.size(1)], w, b), F.log_softmax(x.t(), dim=0)


def linear_layers(x: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return F.gelu(F.linear(x, w, b)), torch_addmm(b, x, w), x @ w.t()


def torch_addmm(b: Tensor, x: Tensor, w: Tensor) -> Tensor:
    return flambeau.addmm(b, x, w.t(), beta=0.5, alpha=2.0).sigmoid()


def numbers(x: Tensor, k: float, n: int, flag: bool) -> tuple[Tensor, float, int]:
    y = x * k + n
    if flag:
        y = y - 1
    return y, k * 2, n + x.numel()


def factories(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    a = flambeau.zeros(x.size(0), 3, device=x.device) + 1
    b = flambeau.arange(x.size(1), device=x.device) * x
    return a, b, flambeau.ones_like(x) + x


def integers(x: Tensor, places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    i = (x * 10).to(flambeau.int64)
    return i // 3 + i % 4, i.sum(), flambeau.where(x > 0, x, -x).index_select(0, places)


def places_and_running(x: Tensor, i: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    picked = x.gather(0, i)
    added = x.scatter_add(0, i, w * 2).index_add(0, i[:, 0], w)
    return picked, added, x.scatter(1, i % x.size(1), w), (picked.cumsum(0) + 1).cumprod(1)


def looks_up(x: Tensor, i: Tensor) -> Tensor:
    return x.index_select(0, i) + 1


def lists(xs: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    total = xs[0] * 0
    made: list[Tensor] = []
    for x in xs:
        total = total + x
        made.append(x.exp())
    return flambeau.cat(made, dim=0) + total.sum(), made


def fails_on_zero(x: Tensor, y: Tensor) -> Tensor:
    return x // y + 1


R = flambeau.randn
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (chain, (R(4, 5), R(4, 5))), (chain, (R(4, 5), R(1, 5))), (chain, (R(0, 5), R(1, 1))), (chain, (R(1, 1), R(3, 1))),
    (chain, (R(4, 5, dtype=flambeau.float64), R(4, 5))), (chain, (R(5, 4).t(), R(4, 10)[:, ::2])),
    (loops, (R(7), 7)), (loops, (R(0), 3)), (loops, (R(2, 3), 0)),
    (by_sizes, (R(2, 3),)), (by_sizes, (R(5, 3),)), (by_sizes, (R(2, 1),)), (by_elements, (R(6).abs() + 3,)),
    (in_place, (R(4, 5), R(4, 5))), (views, (R(4, 5),)), (views, (R(6, 3)[::2],)),
    (softmaxes, (R(4, 6), R(6), R(6))), (linear_layers, (R(4, 6), R(3, 6), R(3))),
    (numbers, (R(3, 2), 1.5, 7, True)), (numbers, (R(3, 2), -0.5, 2, False)), (factories, (R(2, 4),)),
    (places_and_running, (R(3, 4), flambeau.randint(0, 3, [3, 4]), R(3, 4))),
    (integers, (R(5, 2), flambeau.tensor([3, 0, 1, 1]))), (lists, ([R(2, 3), R(2, 3)],)),
]  # fmt: skip


@pytest.mark.parametrize(("program", "arguments"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_programs_give_what_they_give_on_the_host(program: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert_runs(program, *arguments)


def test_groups_are_one_launch_each(pretended_cuda: Any) -> None:
    from tests.cuda.pretended.engine import engine

    script = flambeau.script(chain, without=("cuda_graphs",))
    x = on_device(R(4, 5))
    script(x, x)
    before = len(engine.launches)
    script(x, x)
    assert len(engine.launches) == before + 1


def test_a_division_by_zero_says_where() -> None:
    script = flambeau.script(fails_on_zero)
    x, zero = flambeau.tensor([1, 2]).to("cuda"), flambeau.tensor([1, 0]).to("cuda")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        script(x, zero).cpu()


def test_an_index_outside_says_where() -> None:
    script = flambeau.script(looks_up)
    x = R(4, 5).to("cuda")
    assert script(x, flambeau.tensor([1, 3]).to("cuda")).shape == (2, 5)
    with pytest.raises(Exception, match="index_select"):
        script(x, flambeau.tensor([1, 4]).to("cuda")).cpu()


def test_explain_says_what_runs_on_the_device() -> None:
    def once_more(x: Tensor, y: Tensor) -> Tensor:
        return F.gelu(x * 2 + y)

    script = flambeau.script(once_more, without=("cuda_graphs",))
    x = R(4, 5).to("cuda")
    for _ in range(4):
        script(x, x)
    told = str(script.explain())
    assert "float32[*, *] on cuda:0" in told
    assert "on a device: 1 group(s) as kernels of the device" in told
    there = [c for c in script.explain().compilations if "cuda" in c.spec]
    assert [k.calls for c in there for k in c.kernels] == [4]


def test_tensors_of_two_devices_are_refused(pretended_cuda: Any) -> None:
    script = flambeau.script(chain)
    with pytest.raises(RuntimeError, match=r"expected all tensors to be on the same device.*cuda:0 and cpu"):
        script(R(2, 3).to("cuda"), R(2, 3))
    with pytest.raises(RuntimeError, match=r"found at least two devices, cuda:0 and cuda:1"):
        script(R(2, 3).to("cuda:0"), R(2, 3).to("cuda:1"))


def test_a_number_of_the_host_goes_with_tensors_of_a_device() -> None:
    script = flambeau.script(chain)
    x, two = R(2, 3), flambeau.tensor(2.0)
    assert_same(script(x.to("cuda"), two), script(x, two))


def moved(x: Tensor) -> Tensor:
    y = x.to("cuda") * 2
    return (y + 1).relu()


def test_functions_that_name_a_device() -> None:
    script = flambeau.script(moved)
    x = R(3, 4)
    for _ in range(4):
        assert_same(script(x), (x * 2 + 1).relu())


class MLP(flambeau.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = flambeau.nn.Linear(6, 8), flambeau.nn.Linear(8, 3)
        self.norm = flambeau.nn.LayerNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.gelu(self.norm(self.first(x))))


class CNN(flambeau.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = flambeau.nn.Conv2d(2, 4, 3, padding=1)
        self.norm = flambeau.nn.BatchNorm2d(4)
        self.last = flambeau.nn.Linear(4 * 3 * 3, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.conv(x)))[:, :, ::2, ::2]
        return self.last(x.flatten(1))


@pytest.mark.parametrize(("module", "sizes"), [(MLP, (5, 6)), (CNN, (2, 2, 6, 6))])
def test_modules(module: Any, sizes: tuple[int, ...]) -> None:
    eager = module().eval()
    x = R(*sizes)
    script = flambeau.jit.script(eager)
    with flambeau.no_grad():
        wanted = script(x)
        script.to("cuda")
        for _ in range(4):
            assert_same(script(x.to("cuda")), wanted)
