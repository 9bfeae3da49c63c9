"""Function modes and dispatch modes: what they see, in which order, and that they leave nothing behind."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import flambeau as fb
from flambeau.tensor.observer import thread


class Seen(fb.DispatchMode):
    """Notes the operators of a block."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __flambeau_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Called(fb.FunctionMode):
    """Notes the functions of a block; under PyTorch's name."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.functions: list[object] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        self.functions.append(func)
        return func(*args, **(kwargs or {}))


def test_a_dispatch_mode_sees_operators_and_their_arguments() -> None:
    calls = []

    class Mode(fb.DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append((func, types, len(args), kwargs))
            return func(*args, **(kwargs or {}))

    x = fb.ones(2)
    with Mode():
        fb.add(x, x, alpha=2)
        x.sum(0, keepdim=True)
        fb.zeros(2, dtype=fb.float64)
    assert calls[0] == (fb.ops.aten.add.Tensor, (), 2, {"alpha": 2})
    assert calls[1] == (fb.ops.aten.sum.dim_IntList, (), 3, {})
    assert calls[2][0] is fb.ops.aten.zeros.default
    assert list(calls[2][3]) == ["dtype"]


def test_modes_nest_and_the_inner_is_asked_first() -> None:
    order = []

    class Named(fb.DispatchMode):
        def __init__(self, name):
            self.name = name

        def __flambeau_dispatch__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    with Named("outer"), Named("inner"):
        fb.ones(2).relu_()
    assert order == ["inner", "outer"] * 2
    assert thread.handlers == ()


def test_operators_that_a_mode_calls_go_to_the_modes_around_it() -> None:
    outer = Seen()

    class Plus(fb.DispatchMode):
        def __flambeau_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {})) + 1

    with outer, Plus():
        assert (fb.ones(2) * 3).tolist() == [7.0, 7.0]
    assert outer.names == ["aten.ones.default", "aten.add.Tensor", "aten.mul.Tensor", "aten.add.Tensor"]


@pytest.mark.parametrize("kind", [fb.DispatchMode, fb.FunctionMode])
def test_a_mode_that_raises_leaves_the_stack_as_it_was(kind) -> None:
    def refuse(self, func, types, args=(), kwargs=None):
        raise ValueError("no")

    mode = type("Refusing", (kind,), {"__flambeau_dispatch__": refuse, "__flambeau_function__": refuse})()
    x = fb.ones(2)
    with Seen() as outer:
        with mode:
            before = thread.handlers
            with pytest.raises(ValueError, match="no"):
                fb.add(x, x)
            assert thread.handlers is before
        _ = x + x
    assert outer.names == ["aten.add.Tensor"]
    assert thread.handlers == ()


def test_a_mode_can_be_entered_again_and_belongs_to_its_thread() -> None:
    mode, x = Seen(), fb.ones(2)
    with mode, mode:
        _ = x + x
    assert mode.names == ["aten.add.Tensor"] * 2
    with mode:
        other = threading.Thread(target=lambda: x * x)
        other.start()
        other.join()
    assert mode.names == ["aten.add.Tensor"] * 2


def test_modes_are_below_the_tape() -> None:
    x = fb.tensor([1.0, 2.0], requires_grad=True)
    with Seen() as mode:
        y = (x * x).sum()
        assert y.requires_grad
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert mode.names[:2] == ["aten.mul.Tensor", "aten.sum.default"]
    assert mode.names.count("aten.mul.Tensor") == 3  # two of the way back

    class Recorded(fb.DispatchMode):
        def __flambeau_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            assert not result.requires_grad
            return result

    with Recorded():
        assert (x * 2).grad_fn.name() == "MulBackward0"


def test_spellings_of_other_operators_are_seen_as_these() -> None:
    x = fb.ones(2, 3)
    with Seen() as mode:
        fb.nn.functional.mse_loss(x, x)
        fb.nn.functional.softmax(x, 0)
        fb.nn.functional.cosine_embedding_loss(x, x, fb.ones(2))
    assert mode.names[:2] == ["aten.mse_loss.default", "aten.softmax.int"]
    assert "aten.mean.default" in mode.names
    assert fb.ops.aten.add.Tensor.decompose(x, x) is NotImplemented
    with Seen() as mode:
        fb.ops.aten.mse_loss.default.decompose(x, x)
    assert "aten.mean.default" in mode.names


def test_scripted_functions_run_an_operator_at_a_time() -> None:
    @fb.script
    def f(x: fb.Tensor) -> fb.Tensor:
        for _ in range(2):
            x = x * 2 + 1
        return x

    f(fb.ones(2))
    with Seen() as mode:
        assert f(fb.ones(2)).tolist() == [7.0, 7.0]
    assert mode.names == ["aten.ones.default"] + ["aten.mul.Tensor", "aten.add.Tensor"] * 2


def test_refusals_of_modes() -> None:
    class No(fb.FunctionMode):
        def __flambeau_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    x = fb.ones(2)
    with No(), pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.relu'; all __torch_function__"):
        fb.relu(x)


def test_a_function_mode_sees_functions_methods_and_properties() -> None:
    x = fb.ones(2, 2)
    with Called() as mode:
        fb.add(x, 1)
        _ = x.add(1)
        _ = x + 1
        _ = 1 - x
        _ = x.shape
        _ = x.size(0)
        _ = x[0]
        x.sum().item()
        fb.tensor([1])
        _ = x.requires_grad
        _ = -x
    assert mode.functions[:3] == [fb.add, fb.Tensor.add, fb.Tensor.add]
    assert mode.names[3:] == [
        "__rsub__", "__get__", "size", "__getitem__", "sum", "item", "tensor", "__get__", "neg",
    ]  # fmt: skip
    assert "watched" not in repr(fb.Tensor.size)
    assert fb.Tensor.size.__qualname__ == "Tensor.size"


def test_members_are_what_they_were_after_function_modes() -> None:
    before, code = dict(vars(fb.Tensor)), fb.Tensor.size.__code__
    with Called(), Called():
        assert vars(fb.Tensor) == before
        assert fb.Tensor.size.__code__ is not code
    assert all(vars(fb.Tensor)[name] is member for name, member in before.items())


def test_a_function_mode_sees_nothing_within_kernels_and_programs() -> None:
    f = fb.CompilationUnit("def f(x: Tensor): return x.relu() + 1").f
    with Called() as mode:
        f(fb.ones(2))
        fb.nn.functional.softmax(fb.ones(2), 0)
    assert mode.names == ["ones", "ones", "softmax"]


def test_function_modes_come_before_the_tape_and_dispatch_modes() -> None:
    order = []

    class F(fb.FunctionMode):
        def __flambeau_function__(self, func, types, args=(), kwargs=None):
            order.append(f"function {func.__name__}")
            return func(*args, **(kwargs or {}))

    class D(fb.DispatchMode):
        def __flambeau_dispatch__(self, func, types, args=(), kwargs=None):
            order.append(f"dispatch {func.name()}")
            return func(*args, **(kwargs or {}))

    with D(), F():
        fb.ones(2)
    assert order == ["function ones", "dispatch aten::ones"]


def test_overloads_are_one_object_and_say_what_they_are() -> None:
    add = fb.ops.aten.add.Tensor
    assert add is fb.ops.aten.add.Tensor
    assert (add.name(), str(add), add.namespace) == ("aten::add.Tensor", "aten.add.Tensor", "aten")
    assert add.overloadpacket is fb.ops.aten.add
    assert fb.ops.aten.t.default.is_view
    assert not add.is_view


@pytest.mark.parametrize("kind", ["function", "dispatch"])
def test_a_mode_without_what_it_does_is_refused(kind: str) -> None:
    base = {"function": fb.FunctionMode, "dispatch": fb.DispatchMode}[kind]
    with pytest.raises(TypeError, match=f"abstract.*__flambeau_{kind}__"):
        type("Forgetful", (base,), {})()
    by_other_name = {f"__torch_{kind}__": lambda self, func, types, args=(), kwargs=None: 3}
    with type("Other", (base,), by_other_name)():
        result = fb.ones(2)
    assert result == 3


def test_numbers_are_operands_of_the_overload_for_tensors() -> None:
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    class Seen(fb.DispatchMode):
        def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append((str(func), args[1:], kwargs or {}))
            return func(*args, **(kwargs or {}))

    x = fb.ones(2)
    with Seen(), Seen():
        results = x + 1, fb.sub(x, 2.5, alpha=2), x * True, x.div(2, rounding_mode="floor"), x.mul_(3)
    assert [r.tolist() for r in results] == [[2.0] * 2, [-4.0] * 2, [1.0] * 2, [0.0] * 2, [3.0] * 2]
    assert results[2].dtype is fb.float32
    assert calls[::2] == calls[1::2] == [
        ("aten.add.Tensor", (1,), {}), ("aten.sub.Tensor", (2.5,), {"alpha": 2}), ("aten.mul.Tensor", (True,), {}),
        ("aten.div.Tensor_mode", (2,), {"rounding_mode": "floor"}), ("aten.mul_.Tensor", (3,), {}),
    ]  # fmt: skip
    calls.clear()
    with Seen():
        _ = x > 1, x**2, 2 - x, fb.remainder(x, 2)
    assert [name for name, _, _ in calls] == [
        "aten.gt.Scalar", "aten.pow.Tensor_Scalar", "aten.rsub.Scalar", "aten.remainder.Scalar"
    ]  # fmt: skip
