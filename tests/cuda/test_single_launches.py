"""Eager calls on a device are one launch each: sums, copies, fills, updates in place, and those that are recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as fb
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor, nn
from flambeau.cuda import library
from flambeau.executor.device_kernels import _kernels
from flambeau.tensor.dispatch import operator_of
from flambeau.tensor.subclasses import special

pytestmark = pytest.mark.usefixtures("cuda")


def there(rows: int = 4, columns: int = 8) -> Tensor:
    return (fb.arange(float(rows * columns)).reshape(rows, columns) / 7 - 1).to("cuda")


CALLS: dict[str, Callable[[Tensor], Any]] = {
    "a sum": lambda x: x.sum(), "sums of columns": lambda x: x.sum(0), "a mean": lambda x: x.mean(1),
    "the largest": lambda x: x.amax(1), "a copy": lambda x: x.clone(), "another dtype": lambda x: x.to(fb.float64),
    "a number added": lambda x: x.add_(1.5), "itself added": lambda x: x.add_(x),
    "rows added": lambda x: x[:2].add_(x[2:]), "of a matrix turned": lambda x: x.t().clone(),
    "a row copied": lambda x: x.copy_(fb.ones(8, device="cuda")),
    "a column copied": lambda x: x.copy_(x.new_ones(4, 1)), "a turned one": lambda x: x.t().mul_(2.0),
    "a number everywhere": lambda x: x.fill_(2.5), "out=": lambda x: fb.mul(x, 2.0, out=fb.empty_like(x)),
    "relu_": lambda x: x.relu_(),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_the_host(name: str) -> None:
    x = there()
    on_host = x.cpu()
    found = CALLS[name](x)
    if "copied" in name:
        on_host.fill_(1.0)
        wanted = on_host
    elif name == "out=":
        wanted = on_host * 2.0
    else:
        wanted = CALLS[name](on_host)
    assert found.is_cuda
    assert found.dtype is wanted.dtype
    assert found.stride() == wanted.stride()
    np.testing.assert_allclose(found.cpu().numpy(), wanted.numpy(), rtol=1e-6)
    np.testing.assert_allclose(x.cpu().numpy(), on_host.numpy(), rtol=1e-6)


OF_SEVERAL = ("rows added", "a column copied", "a row copied", "out=")


@pytest.mark.parametrize("name", [n for n in CALLS if n not in OF_SEVERAL])
def test_each_is_one_launch(name: str) -> None:
    if library.is_real():
        pytest.skip("launches are counted by what stands for a card")
    from tests.cuda.pretended.engine import engine

    for kernels in _kernels.values():
        if kernels is not None:
            kernels.groups.clear()  # there is room for as many patterns as tests before this one have called
    x = there()
    CALLS[name](x)
    CALLS[name](x)  # a number is brought to the device when it is met again
    engine.launches.clear()
    CALLS[name](x)
    assert len(engine.launches) == 1


def test_what_lies_in_the_same_memory_is_read_before_it_is_written_or_refused() -> None:
    for change in (
        lambda x: x.add_(x.t()), lambda x: x[1:].add_(x[:-1]), lambda x: x[:, 1:].mul_(x[:, :-1]),
        lambda x: x[:3].add_(x[3:]), lambda x: x.copy_(x.t().clone()), lambda x: x.sub_(x.flip(0)),
        lambda x: x.add_(x[1]), lambda x: fb.softmax(x, 1, out=x), lambda x: fb.exp(x, out=x),
    ):  # fmt: skip
        x = there(6, 6)
        on_host = x.cpu()
        assert outcome(change, x) == outcome(change, on_host)


def outcome(change: Callable[[Tensor], Any], x: Tensor) -> str:
    """The elements after a change, or why it was refused."""
    try:
        change(x)
    except RuntimeError as error:
        return str(error)
    return str(np.round(x.cpu().numpy(), 4))


def test_writes_are_counted_and_refused_as_everywhere() -> None:
    x = there()
    before = x._version
    x.add_(1.0)
    assert x._version == before + 1
    leaf = nn.Parameter(there())
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        leaf.add_(1.0)
    with fb.inference_mode():
        made = there()
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        made.add_(1.0)
    with pytest.raises(RuntimeError, match="can't be cast"):
        fb.ones(3, dtype=fb.int64, device="cuda").add_(1.5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(reduction: str, weighted: bool) -> None:
    for sizes in ((5, 7), (2, 7, 3)):
        scores = fb.randn(*sizes)
        target = fb.randint(0, 7, (sizes[0], *sizes[2:]))
        target[0] = 3
        target[1] = -100
        weight = fb.rand(7) + 0.5 if weighted else None
        results = []
        for place in ("cpu", "cuda"):
            x = scores.detach().to(place).requires_grad_()
            loss = F.cross_entropy(
                x, target.to(place), None if weight is None else weight.to(place), reduction=reduction
            )  # fmt: skip
            (loss * 1.5).sum().backward()
            assert x.grad is not None
            results.append((loss.detach().cpu(), x.grad.cpu()))
        for found, wanted in zip(results[1], results[0], strict=True):
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=2e-5, atol=1e-6)


def test_modes_and_classes_see_calls_on_devices() -> None:
    class Seen(fb.DispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(func.name())
            return func(*args, **(kwargs or {}))

    x = there()
    for _ in range(2):
        x + x
        x.sum()
    with Seen() as seen:
        x + x
        x.sum()
    assert [n.partition("::")[2].partition(".")[0] for n in seen.names] == ["add", "sum"]


def test_a_device_may_be_named_where_the_host_was_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(special, "exists", False)
    operator_of("aten::to").forget()
    x = fb.ones(2)
    x.to("cpu")
    assert x.to("cuda").is_cuda


def test_what_is_recorded_is_launched_once() -> None:
    weight, bias = nn.Parameter(there(8, 8)), nn.Parameter(there(8, 8)[0])
    x = there(8, 8)
    for _ in range(2):
        loss = ((x * weight + bias).relu().sum() * 2).pow(2)
        loss.backward()
    w, b = (p.detach().cpu().requires_grad_() for p in (weight, bias))
    for _ in range(2):
        ((x.cpu() * w + b).relu().sum() * 2).pow(2).backward()
    for found, wanted in ((weight.grad, w.grad), (bias.grad, b.grad)):
        assert found is not None
        assert wanted is not None
        np.testing.assert_allclose(found.cpu().numpy(), wanted.numpy(), rtol=1e-5)


def test_kernels_are_made_for_a_few_numbers_then_for_any() -> None:
    x = there()
    on_host = x.cpu()
    for k in range(40):
        x.lerp_(x.relu(), k / 41)
        on_host.lerp_(on_host.relu(), k / 41)
        found, wanted = fb.nn.functional.elu(x - 3, k / 13), fb.nn.functional.elu(on_host - 3, k / 13)
        np.testing.assert_allclose(found.cpu().numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x.cpu().numpy(), on_host.numpy(), rtol=1e-5)
    for name in ("aten::elu", "aten::lerp.Scalar"):
        kernels = _kernels[name]
        assert kernels is not None
        assert len([p for p in kernels.groups.keys if float in p]) >= 1
