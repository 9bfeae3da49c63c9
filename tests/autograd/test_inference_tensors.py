"""Tensors that were made in `inference_mode()`: what they may not do outside, with PyTorch's classes and texts."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.schema import registry
from flambeau.tensor import dispatch
from flambeau.tensor.grad_mode import INFERENCE_SAVED, INFERENCE_WRITTEN

CASES = """
a.is_inference()
n.is_inference()
a._version
a.add_(1)
a.mul(2).is_inference()
a[0].is_inference()
a.view(-1).is_inference()
a.view(-1).add_(1)
a[0].requires_grad
a.requires_grad_()
setattr(a, 'requires_grad', True)
setattr(a, 'requires_grad', False)
a.requires_grad_(False)
g * a
g.exp() * a
(g + a).sum().backward()
(g + a).requires_grad
L.where(a > 0, g, g).tolist()
L.mm(g.reshape(1, -1), a.reshape(-1, 1))
a.detach().is_inference()
a.clone().is_inference()
a.clone().requires_grad_().sum().backward()
n.add_(a).is_inference()
n.copy_(a).is_inference()
(g * 2).add_(a).requires_grad
(g * 2).mul_(a)
a.copy_(g)
a.copy_(n)
a.add_(g)
a.zero_()
a.resize_(5)
a.set_(n)
a.unsqueeze_(0)
a.t_()
a.transpose_(0, 0)
a.data.is_inference()
a.numpy().sum().item()
L.from_numpy(a.numpy()).is_inference()
L.as_tensor(a).is_inference()
L.nn.Parameter(a)
L.nn.Parameter(a, requires_grad=False).is_inference()
copy.deepcopy(a).is_inference()
pickle.loads(pickle.dumps(a)).is_inference()
pickle.loads(pickle.dumps(a)).tolist()
through_file(L, a).is_inference()
through_file(L, a).tolist()
inside(lambda: copy.deepcopy(n).is_inference())
inside(lambda: pickle.loads(pickle.dumps(n)).is_inference())
inside(lambda: through_file(L, n).is_inference())
a.to(L.float64).is_inference()
a.to(L.float32).is_inference()
a.retain_grad()
a.backward()
setattr(g, 'grad', a)
inside(lambda: L.ones(2, requires_grad=True).requires_grad)
inside(lambda: L.ones(2, requires_grad=True).is_inference())
inside(lambda: L.ones(2).requires_grad_().requires_grad)
inside(lambda: g.exp().requires_grad)
inside(lambda: g.exp().is_inference())
inside(lambda: g.view(-1).is_inference())
inside(lambda: g.view(-1)).requires_grad
inside(lambda: g.view(-1)).add_(1)
inside(lambda: n.view(-1)).add_(1).tolist()
inside(lambda: n.view(-1)).is_inference()
inside(lambda: n.view(-1).add_(1)._version)
inside(lambda: a.add_(1)._version)
inside(lambda: a.add_(n).is_inference())
inside(lambda: a.copy_(g).requires_grad)
inside(lambda: n.detach().is_inference())
inside(lambda: n.to(L.float32) is n)
inside(lambda: recorded(lambda: (g * 2).requires_grad))
inside(lambda: recorded(lambda: (g * 2).sum().backward()))
inside(lambda: outside(lambda: (g * 2).requires_grad))
inside(lambda: outside(lambda: L.ones(2).is_inference()))
inside(lambda: g.sum().backward())
(inside(lambda: y.backward()), g.grad.is_inference(), g.grad.tolist())
inside(lambda: L.autograd.grad(y, g)[0].is_inference())
inside(lambda: L.nn.Linear(2, 2).weight.is_inference())
inside(lambda: L.nn.Linear(2, 2))(L.ones(1, 2)).requires_grad
inside(lambda: L.nn.Linear(2, 2))(L.ones(1, 2, requires_grad=True))
L.nn.Linear(3, 2)(a)
L.nn.functional.relu(a).is_inference()
L.cat([g, a]).requires_grad
L.stack([g, a]).sum().backward()
a.expand(2, 3).is_inference()
a[0:1].fill_(2)
n.index_put_((L.tensor([0]),), a[0]).tolist()
g.index_select(0, i)
g[i]
L.gather(g, 0, i)
a.__setitem__(0, 1.0)
(g * 1).__setitem__(slice(None), a)
L.add(n, n, out=a)
L.add(a, a, out=n).is_inference()
inside(lambda: L.add(n, n, out=a).is_inference())
(g * g).backward(a)
L.autograd.grad(g * g, g, a)[0].is_inference()
L.autograd.grad(g * g, g, a, create_graph=True)
a.unbind()[0].add_(1)
a.bernoulli_()
a.uniform_()
inside(lambda: L.from_numpy(np.ones(2)).is_inference())
inside(lambda: L.zeros(2, dtype=L.int64)._version)
inside(lambda: L.tensor([1, 2]).is_inference())
L.is_inference(a)
inside(lambda: L.func.grad(lambda t: (t * t).sum())(n).tolist())
inside(lambda: L.func.vjp(lambda t: (t * t).sum(), n)[1](L.tensor(1.0))[0].tolist())
L.func.grad(lambda t: (t * t).sum())(a).tolist()
L.func.grad(lambda t: (t * a).sum())(n).tolist()
L.func.vmap(lambda t: t * 2)(a).is_inference()
Double(L).apply(a).requires_grad
Double(L).apply(g).requires_grad
Product(L).apply(g, a)
Product(L).apply(a, g)
stepped(L, a)
inside(lambda: L.func.vmap(lambda t: t * 2)(n).is_inference())
"""


def through_file(library: Any, value: Any) -> Any:
    file = io.BytesIO()
    library.save(value, file)
    file.seek(0)
    return library.load(file)


def Double(library: Any) -> Any:  # noqa: N802  (it gives a class)
    class Double(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    return Double


def Product(library: Any) -> Any:  # noqa: N802  (it gives a class)
    class Product(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient, gradient

    return Product


def stepped(library: Any, tensor: Any) -> Any:
    optimizer = library.optim.SGD([tensor], lr=0.1)
    tensor.grad = library.ones(3)
    optimizer.step()
    return tensor


def _answer(library: Any, case: str) -> Any:
    """The value of a case, or the class and the text of its error."""

    def under(mode: Callable[[], Any]) -> Callable[[Callable[[], Any]], Any]:
        def run(function: Callable[[], Any]) -> Any:
            with mode():
                return function()

        return run

    inside, outside = under(library.inference_mode), under(lambda: library.inference_mode(False))
    g = library.tensor([1.0, 2.0, 3.0], requires_grad=True)
    names = {
        "L": library, "n": library.ones(3), "g": g, "y": (g * g).sum(), "inside": inside, "outside": outside,
        "a": inside(lambda: library.tensor([1.0, 2.0, 3.0])), "i": inside(lambda: library.tensor([0, 1])),
        "recorded": under(library.enable_grad),
    }  # fmt: skip
    try:
        value = eval(case, globals() | names)
    except Exception as error:
        return type(error), str(error).strip()
    return value if isinstance(value, bool | int | float | list | tuple) else None


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_answers_are_those_of_pytorch(case: str) -> None:
    torch = pytest.importorskip("torch")
    assert _answer(flambeau, case) == _answer(torch, case)


def _made_inside(tensor: Any) -> Any:
    with flambeau.inference_mode():
        return tensor.clone()


def test_calls_that_run_natively_make_and_refuse_them_too() -> None:
    x, y = flambeau.rand(8), flambeau.rand(8)
    made = _made_inside(x)
    for _ in range(600):  # native code serves the later ones
        with flambeau.inference_mode():
            assert (x + y).is_inference()
            assert x.add_(0).is_inference() is False
            assert made.add_(0).is_inference()
        assert not (x + y).is_inference()
        assert (x + y)._version == 0
    before = made.tolist()
    with pytest.raises(RuntimeError) as raised:
        made.add_(1)
    assert (str(raised.value), made.tolist()) == (INFERENCE_WRITTEN, before)


def test_other_threads_are_not_in_the_mode() -> None:
    found: list[bool] = []

    def look() -> None:
        x = flambeau.rand(8)
        found.extend((x + x).is_inference() for _ in range(300))

    with flambeau.inference_mode():
        other = threading.Thread(target=look)
        other.start()
        other.join()
    assert found == [False] * 300


@flambeau.script
def _doubled(x):  # type: ignore[no-untyped-def]
    return x * 2 + 1, x.is_inference()


@flambeau.script
def _raised(x, y):  # type: ignore[no-untyped-def]
    x.add_(y)
    return x * 2


@flambeau.script
def _product(x, y):  # type: ignore[no-untyped-def]
    return x * y


@flambeau.script
def _total(x, y):  # type: ignore[no-untyped-def]
    return x + y


@flambeau.script
def _within(x):  # type: ignore[no-untyped-def]
    with flambeau.inference_mode():
        y = x * 2
    return y


CALLS = 6


def test_scripted_calls_in_the_mode_give_tensors_of_the_mode() -> None:
    x = flambeau.ones(3)
    for _ in range(CALLS):
        with flambeau.inference_mode():
            result, was = _doubled(x)
            assert (result.is_inference(), was, _doubled(result)[1]) == (True, False, True)
        assert not _doubled(x)[0].is_inference()


def test_scripted_functions_refuse_to_write_them_outside() -> None:
    made, y = _made_inside(flambeau.ones(3)), flambeau.ones(3)
    for n in range(CALLS):
        with flambeau.inference_mode():
            _raised(made, y)
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            _raised(made, y)
        assert made.tolist() == [n + 2.0] * 3
        assert _raised(flambeau.ones(3), made).tolist() == [2 * (n + 3.0)] * 3


def test_scripted_functions_refuse_to_save_them() -> None:
    made, g = _made_inside(flambeau.ones(3)), flambeau.ones(3, requires_grad=True)
    for _ in range(CALLS):
        with pytest.raises(RuntimeError) as raised:
            _product(g, made)
        assert INFERENCE_SAVED in str(raised.value)
        _total(g, made).sum().backward()
        assert _product(made, made).tolist() == [1.0] * 3
    assert g.grad.tolist() == [float(CALLS)] * 3


def test_a_block_in_a_scripted_function_records_nothing_and_makes_ordinary_tensors() -> None:
    x = flambeau.ones(3, requires_grad=True)
    for _ in range(CALLS):
        result = _within(x)
        assert (result.requires_grad, result.is_inference(), result.tolist()) == (False, False, [2.0] * 3)


def test_functions_made_in_the_mode_can_be_trained_outside() -> None:
    def scaled(x):  # type: ignore[no-untyped-def]
        return x * flambeau.tensor([2.0, 3.0])

    with flambeau.inference_mode():
        function = flambeau.script(scaled)
        function(flambeau.ones(2))
    x = flambeau.ones(2, requires_grad=True)
    function(x).sum().backward()
    assert x.grad.tolist() == [2.0, 3.0]


def test_tasks_are_in_the_mode_of_their_forker() -> None:
    with flambeau.inference_mode():
        task = flambeau.jit.fork(flambeau.ones, 2)
    assert flambeau.jit.wait(task).is_inference()


def test_every_operator_that_writes_refuses_them_outside() -> None:
    """All overloads with samples, in place and with `out=`: nothing is written."""
    tried = 0
    for name in sorted({d.name for d in registry.all_definitions() if d.schema.is_mutable}):
        if not name.startswith("aten::") or name in ("aten::detach_", "aten::requires_grad_"):
            continue
        known = [*registry.overloads(name), *registry.overloads(name.removesuffix("_"))]
        for samples in {d.samples for d in known if d.samples is not None}:
            for sample in list(samples())[:2]:
                tried += _refuses(name, [_tensor(a) for a in sample.args], sample.kwargs)
    assert tried > 150


def _tensor(value: Any) -> Any:
    return dispatch.from_numpy_or_copy(value) if isinstance(value, np.ndarray) else value


def _refuses(name: str, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether an operator refuses a target made in the mode; False where the call does not work with any."""
    if not args or "out" in kwargs or not isinstance(args[0], flambeau.Tensor):
        return False
    try:
        if name.endswith("_"):
            dispatch.call(name, args[0].clone(), *args[1:], **kwargs)
            targets = (_made_inside(args[0]),)
            args = [targets[0], *args[1:]]
        else:
            results = dispatch.call(name, *args, **kwargs)
            results = results if isinstance(results, tuple) else (results,)
            outs = tuple([flambeau.empty_like(r) for r in results])
            dispatch.call(name, *args, **kwargs, out=outs[0] if len(outs) == 1 else outs)
            targets = tuple(map(_made_inside, outs))
            kwargs = {**kwargs, "out": targets[0] if len(targets) == 1 else targets}
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return False
    if not all(t._array.size for t in targets):
        return False
    before = [t.numpy().tobytes() for t in targets]
    with pytest.raises(RuntimeError) as raised:
        dispatch.call(name, *args, **kwargs)
    assert (str(raised.value), [t.numpy().tobytes() for t in targets]) == (INFERENCE_WRITTEN, before), name
    return True


def test_writes_are_refused_after_many_recorded_ones() -> None:
    for _ in range(1500):
        leaf = flambeau.tensor([1.0, 2.0, 3.0], requires_grad=True)
        (leaf * 1).view(-1).add_(1)
    with flambeau.inference_mode():
        a = flambeau.tensor([1.0, 2.0, 3.0])
    for target in (a.view(-1), a):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            target.add_(1)
    assert a.tolist() == [1.0, 2.0, 3.0]
