"""What is refused about gradients, in the classes and texts of PyTorch: one table, run by both."""

from __future__ import annotations

import copy  # noqa: F401  (for the table)
from typing import Any

import pytest

import flambeau

CASES = """
x.add_(1)
x[0].mul_(2)
x.view(-1).zero_()
lib.add(x, x, out=x)
lib.add(x, 1, out=lib.empty(2))
exec('y = x.exp(); y.add_(1); y.sum().backward()', globals() | names)
exec('y = x * x; z = y.sigmoid(); y.zero_(); z.mul_(2).sum().backward()', globals() | names)
exec('y = (x * x).sum(); y.backward(); y.backward()', globals() | names)
exec('y = (x * x).sum(); lib.autograd.grad(y, x); lib.autograd.grad(y, x)', globals() | names)
(x * 2).backward()
lib.autograd.grad(x * 2, x)
n.sum().backward()
n.sum().backward(lib.ones(()))
lib.autograd.grad(n.sum(), n)
i.requires_grad_()
setattr(i, 'requires_grad', True)
lib.ones(2, dtype=lib.int64, requires_grad=True)
lib.tensor([True], requires_grad=True)
x.numpy()
(x * 2).numpy()
(x * 2).backward(lib.ones(3))
(x * 2).backward(lib.ones(2, 2))
(x * 2).sum().backward(lib.ones(1))
lib.autograd.grad(x * 2, x, lib.ones(3))
lib.autograd.grad((x * 2).sum(), [x, w])
lib.autograd.grad((x * 2).sum(), w)
lib.autograd.grad((x * 2).sum(), [])
lib.autograd.grad((x * 2).sum(), [n])
lib.autograd.grad((x * 2).sum(), x, allow_unused=False, materialize_grads=True)
copy.deepcopy(x * 2)
(x * 2).requires_grad_(False)
(x * 1).reshape(2, 1).unbind(0)[0].add_(1)
(x * 1).split(1)[0].add_(1)
quiet(lambda: x[0:1]).add_(1)
quiet(lambda: x.view(2)).mul_(2)
n.retain_grad()
n.register_hook(print)
setattr(x, 'grad', 3)
setattr(x, 'grad', lib.ones(3))
setattr(x, 'grad', lib.ones(2, dtype=lib.float64))
setattr(x, 'grad', x)
(x > 0).sum().backward()
x.argmax().backward()
x.detach().sum().backward()
(x * 2).sum().backward(inputs=[])
(x * 2).sum().backward(inputs=[n])
(x * 2).backward(inputs=[])
x.sum().backward(lib.ones((), dtype=lib.complex64))
x.resize_(3)
setattr(x, 'data', i)
x.requires_grad_(None)
lib.set_grad_enabled('on')
(x * 2).sum().backward(inputs=x * 3)
lib.nn.Parameter(i)
Few(lib).apply(x).sum().backward()
Many(lib).apply(x).sum().backward()
Shape(lib).apply(x).sum().backward()
Text(lib).apply(x).sum().backward()
hooked(lambda g: g[:1])
hooked(lambda g: 'text')
hooked(lambda g: g.double())
hooked(lambda g: 1 / 0)
(x + 0j).sum().backward()
lib.autograd.backward([x.sum(), n.sum()])
lib.autograd.backward([x * 2], [None])
lib.autograd.backward([(x * 2).sum()], [lib.ones(2)])
(x * 2).detach_().requires_grad_().sum().backward()
x.view(2, 1).detach_()
lib.autograd.gradcheck(lambda t: t * 2, (n,))
lib.func.grad(lambda t: t * 2)(n)
lib.func.grad(lambda t: 3.0)(n)
lib.func.grad(lambda t: t.sum())(i)
lib.func.grad(lambda t: t.sum(), 3)(n)
lib.func.jvp(lambda t: t, n, (n,))
lib.func.jvp(lambda t: t, (n,), (lib.ones(3),))
lib.func.jvp(lambda t: t, (), ())
lib.func.vjp(lambda t: 3, n)
lib.func.vmap(lambda t: t.sum().item())(n)
lib.func.vmap(lambda t: t)(lib.ones(()))
lib.func.vmap(lambda t, u: t)(n, lib.ones(3))
""".strip().splitlines()


def _function(library: Any, given: str) -> Any:
    class Broken(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return eval(given, {"grad": grad})

    return Broken


def Few(library: Any) -> Any:  # noqa: N802  (it gives a class)
    return _function(library, "()")


def Many(library: Any) -> Any:  # noqa: N802  (it gives a class)
    return _function(library, "(grad, grad)")


def Shape(library: Any) -> Any:  # noqa: N802  (it gives a class)
    return _function(library, "grad[:1].expand(3)")


def Text(library: Any) -> Any:  # noqa: N802  (it gives a class)
    return _function(library, "'text'")


def _refusal(library: Any, case: str) -> tuple[str, str]:
    """The class and the text of a case's error; empty texts where it works."""
    x = library.ones(2, requires_grad=True)

    def hooked(hook: Any) -> None:
        y = x * 2
        y.register_hook(hook)
        y.sum().backward()

    def quiet(function: Any) -> Any:
        with library.no_grad():
            return function()

    names = {
        "lib": library, "x": x, "w": library.ones(1, requires_grad=True), "n": library.ones(2),
        "i": library.ones(2, dtype=library.int64), "hooked": hooked, "quiet": quiet,
    }  # fmt: skip
    names["names"] = names
    try:
        eval(case, globals() | names)
    except Exception as error:
        return type(error).__name__, str(error).strip()
    return "", ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_class_and_text_are_pytorchs(case: str) -> None:
    torch = pytest.importorskip("torch")
    kind, text = _refusal(torch, case)
    assert _refusal(flambeau, case)[0] == kind
    # what PyTorch says, to the end of its first sentences; what follows says more than its does, or names its functions
    assert _opening(_refusal(flambeau, case)[1]) == _opening(text)


def _opening(text: str) -> str:
    for end in ("\n", " Hint:", " If error is occurring", "size of value:", "must match the tensor's"):
        text = text.partition(end)[0]
    return text.removesuffix("size of value").strip()


def test_batches_of_gradients_are_given() -> None:
    x = flambeau.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="each has one dimension more in front than its output"):
        flambeau.autograd.grad(x.sum(), x, is_grads_batched=True)
