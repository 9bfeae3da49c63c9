"""What programs do with Python's ways to say what gradients do: custom functions, decorators, hooks."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.jit.gradients import gradient_function


class Scaled(flambeau.autograd.Function):
    """Its gradient is ten times what it would be, so that nobody else's is taken for it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, by: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.by = by
        return x * x * by

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return grad * 20 * x * ctx.by, None


class Parts(flambeau.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, x * 2

    @staticmethod
    def backward(ctx: Any, first: Tensor, second: Tensor) -> Tensor:
        return first * 100 + second * 1000


def scaled(x: Tensor) -> Tensor:
    y = (x.sin() * 2.0).exp() + x
    return Scaled.apply(y, 3.0).tanh() * x.cos() + Scaled.apply(x, 0.5)


def in_parts(x: Tensor) -> Tensor:
    a, b = Parts.apply(x)
    return a * 2.0 + b


@pytest.mark.parametrize("program", [scaled, in_parts])
def test_custom_functions_are_called_from_programs(program: Any) -> None:
    compiled = flambeau.script(program)
    assert ("^Scaled" in str(compiled.graph)) == (program is scaled)
    for _ in range(2):
        found = []
        for function in (program, compiled):
            x = flambeau.tensor([0.1, 0.2], requires_grad=True)
            y = function(x)
            y.sum().backward()
            found.append((y.detach().tolist(), x.grad.tolist()))
        for plain, ours in zip(*found, strict=True):
            assert ours == pytest.approx(plain, rel=5e-5)  # the last sum nearly cancels
    with flambeau.no_grad():
        assert not compiled(x).requires_grad


def _by_keyword(x: Tensor) -> Tensor:
    return Scaled.apply(x, by=2.0)


def _backward(x: Tensor) -> Tensor:
    return Scaled.backward(x)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (_by_keyword, "Scaled.apply takes its arguments by position in programs"),
        (_backward, "programs call a custom function with gradients by Scaled.apply(...): 'backward' of it is"),
    ],
)
def test_what_programs_do_not_have_of_them_says_so(program: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(message)):
        flambeau.script(program)


class Takes(flambeau.autograd.Function):
    @staticmethod
    def forward(ctx: Any, text: str, x: Tensor, sizes: list[Any], other: object) -> Tensor:
        return x * 2


def test_traces_show_what_custom_functions_are_given() -> None:
    given = ("a)", [1, (2,), None], flambeau.Size([3]))
    traced = flambeau.jit.trace(lambda x: Takes.apply(given[0], x, *given[1:]), (flambeau.ones(2),))
    node = traced.graph.findNode("prim::PythonOp")
    assert (node.pyname(), node.scalar_args(), node.attributeNames()) == ("Takes", [*given], [])
    assert " = ^Takes[]('a)', [1, (2,), None], (3,))(%x) #" in str(node)
    assert str(flambeau.ir.parse_ir(str(traced.graph))) == str(traced.graph)
    assert "^Takes('a)', [1, (2,), None], (3,))(x)" in traced.code
    assert traced(flambeau.ones(1)).tolist() == [2.0]


def test_saving_a_custom_function_says_what_to_write() -> None:
    traced = flambeau.jit.trace(lambda x: Scaled.apply(x, 2.0) + 1, (flambeau.ones(2),))
    for program in (traced, flambeau.script(scaled)):
        message = r"(?s)cannot save a program that calls Scaled.apply: .*custom_op and .*test_"
        with pytest.raises(RuntimeError, match=message):
            flambeau.jit.save(program, io.BytesIO())


@flambeau.no_grad()
def silent(x: Tensor) -> Tensor:
    if bool(x.sum() > 100.0):
        return x
    return x * 2


@flambeau.no_grad()
@flambeau.enable_grad()
def recorded(x: Tensor) -> Tensor:
    return x * 2


def failing(x: Tensor) -> Tensor:
    if bool(x.sum() > 0.0):
        raise ValueError("positive")
    return x


class Quiet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.ones(2))

    @flambeau.no_grad()
    def norm(self, x: Tensor) -> Tensor:
        return (x * self.weight).sum()

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight / self.norm(x)


def calls(x: Tensor) -> Tensor:
    return silent(x) + recorded(x) * 10


def test_decorators_of_gradients_mean_what_blocks_do() -> None:
    for program in (silent, recorded, calls):
        compiled = flambeau.script(program)
        for _ in range(2):
            gradients = []
            for function in (program, compiled):
                x = flambeau.ones(2, requires_grad=True)
                y = function(x)
                assert flambeau.is_grad_enabled()
                if y.requires_grad:
                    y.sum().backward()
                gradients.append(None if x.grad is None else x.grad.tolist())
            assert gradients[0] == gradients[1], program
    text = str(flambeau.script(silent).graph)
    assert "^no_grad" in text
    assert text.count("prim::Exit") == 1


def test_decorated_methods_and_what_raises_in_them() -> None:
    plain, compiled = Quiet(), flambeau.script(Quiet())
    for module in (plain, compiled):
        x = flambeau.tensor([1.0, 3.0], requires_grad=True)
        module(x).sum().backward()
        assert x.grad.tolist() == [0.25, 0.25]
        assert module.weight.grad.tolist() == [0.25, 0.75]
    stopped = flambeau.script(flambeau.no_grad()(failing))
    with pytest.raises(ValueError, match="positive"):
        stopped(flambeau.ones(2, requires_grad=True))
    assert flambeau.is_grad_enabled()
    assert flambeau.script(failing)(-flambeau.ones(2, requires_grad=True)).requires_grad
    buffer = io.BytesIO()
    flambeau.jit.save(compiled, buffer)
    buffer.seek(0)
    x = flambeau.tensor([1.0, 3.0], requires_grad=True)
    flambeau.jit.load(buffer)(x).sum().backward()
    assert x.grad.tolist() == [0.25, 0.25]


@pytest.mark.parametrize("name", ["full_backward_hook", "full_backward_pre_hook", "backward_hook"])
def test_hooks_of_gradients_are_refused_by_name(name: str) -> None:
    module = flambeau.script(nn.Linear(2, 2))
    name = f"register_{name}"
    with pytest.raises(RuntimeError, match=rf"{name} is not supported on ScriptModules: .*x\.register_hook\(f\)"):
        getattr(module, name)(lambda *_: None)
    seen = []
    result = module(flambeau.ones(1, 2))
    result.register_hook(lambda grad: seen.append(grad.shape))
    result.sum().backward()
    assert len(seen) == 1


@pytest.mark.parametrize("name", ["full_backward_hook", "full_backward_pre_hook"])
def test_hooks_of_gradients_that_are_there_before_scripting_are_refused(name: str) -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    handle = getattr(module[0], f"register_{name}")(lambda *_: None)
    with pytest.raises(RuntimeError, match=r"Linear has backward hooks, which would never be called: .*handle\.remove"):
        flambeau.script(module)
    handle.remove()
    assert flambeau.script(module)(flambeau.ones(1, 2)).requires_grad


def energy(x: Tensor, k: float) -> Tensor:
    return (x**3).sum() * k


ENERGY = flambeau.script(energy)


def step(x: Tensor) -> Tensor:
    return x - 0.1 * flambeau.func.grad(ENERGY)(x, 2.0)


def both(x: Tensor) -> Tensor:
    value, slopes = flambeau.func.value_and_grad(ENERGY, argnums=(0, 1))(x, 2.0)
    return value * slopes[0] + slopes[1]


class Slope(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return flambeau.func.grad(ENERGY)(x * self.weight, 2.0)


def _again(program: Any) -> Any:
    buffer = io.BytesIO()
    flambeau.jit.save(program, buffer)
    buffer.seek(0)
    loaded = flambeau.jit.load(buffer)
    second = io.BytesIO()
    flambeau.jit.save(loaded, second)
    second.seek(0)
    return flambeau.jit.load(second)


def test_gradients_in_programs_are_saved_and_loaded() -> None:
    x = flambeau.tensor([1.0, 2.0, 3.0])
    for program in (step, both):
        compiled = flambeau.script(program)
        assert _again(compiled)(x).tolist() == compiled(x).tolist()
    module = flambeau.script(Slope())
    for kept in (_again(module), _again(flambeau.jit.freeze(module.eval()))):
        assert kept(x).tolist() == [6.0, 24.0, 54.0]
    loaded = _again(module)
    loaded(x).sum().backward()
    assert loaded.weight.grad.tolist() == [12.0, 48.0, 108.0]
    gradient = gradient_function(ENERGY)
    assert "ops.prim.Gradient(__torch__." in gradient.code
    assert _again(gradient)(x, 2.0).tolist() == [6.0, 24.0, 54.0]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("[7], False, False, x, k)", "ops.prim.Gradient takes a function of the archive, a list of numbers of its"),
        ("[0], False, False, x)", "ops.prim.Gradient gives energy() other arguments than it takes"),
        ("[0], False, True, x, k)", "energy() should return a pair"),
    ],
)
def test_an_archive_that_asks_for_a_strange_gradient_is_refused(written: str, message: str) -> None:
    buffer, changed = io.BytesIO(), io.BytesIO()
    flambeau.jit.save(gradient_function(ENERGY), buffer)
    with zipfile.ZipFile(buffer) as before, zipfile.ZipFile(changed, "w") as after:
        for record in before.namelist():
            text = before.read(record)
            after.writestr(record, text.replace(b"[0], False, False, x, k)", written.encode()))
    changed.seek(0)
    with pytest.raises(RuntimeError, match=re.escape(message)):
        flambeau.jit.load(changed)(flambeau.ones(3), 2.0)


def test_a_gradient_read_from_text_says_that_its_function_is_not_there() -> None:
    graph = flambeau.ir.parse_ir(str(flambeau.script(step).inlined_graph))
    with pytest.raises(RuntimeError, match="read from text does not say which function's"):
        flambeau._C._create_function_from_graph("f", graph)(flambeau.ones(3))
    copy = flambeau.script(step).inlined_graph.copy()
    assert flambeau._C._create_function_from_graph("f", copy)(flambeau.ones(3)).tolist() == pytest.approx([0.4] * 3)
