"""Subclasses of tensors: kept by operators, asked about calls, made of other tensors or of nothing."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any, ClassVar

import pytest

import flambeau as fb
from flambeau.tensor.overrides import subclasses_ignored


class Plain(fb.Tensor):
    """Nothing of its own."""


class Logged(fb.Tensor):
    """Notes what it is asked about."""

    calls: ClassVar[list[str]] = []

    @classmethod
    def __flambeau_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__flambeau_function__(func, types, args, kwargs)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 1,
        lambda x: 1 + x,
        lambda x: 1 - x,
        lambda x: x * fb.ones(2, 2),
        lambda x: fb.ones(2, 2) * x,
        lambda x: -x,
        lambda x: x == 1,
        lambda x: x[0],
        lambda x: x.T,
        lambda x: x.view(4),
        lambda x: fb.cat([x, fb.ones(2, 2)]),
        lambda x: fb.nn.functional.softmax(x, 0),
        lambda x: x.split(1)[0],
        lambda x: x.max(0).values,
        lambda x: x.add_(1),
        lambda x: x.clone(),
        lambda x: x.detach(),
        lambda x: x.to(fb.float64),
        lambda x: fb.zeros_like(x),
        lambda x: x @ x,
    ],
)
def test_operators_keep_the_subclass(call) -> None:
    x = fb.ones(2, 2).as_subclass(Plain)
    assert type(call(x)) is Plain
    assert type(call(x)) is Plain  # with the types known


def test_what_is_no_tensor_stays_what_it_is() -> None:
    x = Plain([[1.0, 2.0]])
    assert (x.shape, x.dtype, x.size(1), x.tolist(), x.sum().item()) == ((1, 2), fb.float32, 2, [[1.0, 2.0]], 3.0)
    assert type(x.max(1)).__name__ == "max"
    assert type(x.split(1)) is tuple
    assert repr(x) == "Plain([[1., 2.]])"


def test_a_subclass_is_asked_about_everything() -> None:
    Logged.calls.clear()
    x = fb.ones(2, 2).as_subclass(Logged)
    assert type(fb.add(x, x)) is Logged
    _ = x.shape
    _ = x.numel()
    _ = x[0]
    assert Logged.calls == ["add", "__get__", "numel", "__getitem__"]


def test_gradients_flow_through_subclasses() -> None:
    x = fb.ones(2, requires_grad=True)
    y = x.as_subclass(Plain)
    assert not y.is_leaf
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    leaf = Plain([1.0, 2.0]).requires_grad_()
    result = (leaf * leaf).sum()
    assert type(result) is Plain
    result.backward()
    assert leaf.grad.tolist() == [2.0, 4.0]


def test_in_place_through_a_subclass_is_recorded() -> None:
    x = fb.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Plain)
    y.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_subclasses_come_before_their_bases_and_may_refuse() -> None:
    asked = []

    class Base(fb.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(cls.__name__)
            return NotImplemented

    class Derived(Base):
        pass

    base, derived = fb.ones(2).as_subclass(Base), fb.ones(2).as_subclass(Derived)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.add'; all __torch_function__"):
        fb.add(base, derived)
    assert asked == ["Derived", "Base"]
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Base' and 'int'"):
        _ = base + 1


def test_unrelated_subclasses_do_not_mix() -> None:
    class Other(fb.Tensor):
        pass

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.add'"):
        fb.add(fb.ones(2).as_subclass(Plain), fb.ones(2).as_subclass(Other))


class Unit:
    """No tensor, but asked like one."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, types, kwargs


def test_any_object_may_answer() -> None:
    x = fb.ones(2)
    assert fb.add(Unit(), 1) == ("add", (Unit,), {})
    assert x + Unit() == ("add", (Unit,), {})
    assert fb.cat([Unit(), x], dim=0) == ("cat", (Unit,), {"dim": 0})
    with pytest.raises(TypeError, match="must be Tensor, not object"):
        fb.add(x, object())


def test_parameters_are_plain() -> None:
    weight = fb.nn.Parameter(fb.ones(2))
    assert type(weight * 2) is fb.Tensor
    assert type(weight + fb.ones(2).as_subclass(Plain)) is Plain
    assert type(weight.as_subclass(Plain)) is Plain


def test_subclasses_may_be_ignored() -> None:
    x = fb.ones(2).as_subclass(Plain)
    with subclasses_ignored():
        assert type(x + 1) is fb.Tensor
    assert type(x + 1) is Plain


def test_make_subclass_gives_a_leaf_on_the_same_memory() -> None:
    source = fb.ones(2, requires_grad=True) * 2
    x = Plain._make_subclass(source, True)
    assert (type(x), x.requires_grad, x.is_leaf, x.shares_storage(source)) == (Plain, True, True, True)
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        Plain._make_subclass([1.0])
    with pytest.raises(TypeError, match="must be a class that inherits from Tensor"):
        fb.ones(2).as_subclass(int)


def test_attributes_and_init_of_a_subclass() -> None:
    class Named(fb.Tensor):
        def __init__(self, data, name="none"):
            super().__init__(data)
            self.label = name

    x = Named([1.0], name="x")
    assert x.label == "x"
    assert not hasattr(x + 1, "label")
    assert x.add_(1).label == "x"


class Wrapped(fb.Tensor):
    """Holds a tensor, and computes with that."""

    @staticmethod
    def of(inner):
        outer = Wrapped._make_wrapper_subclass(inner.shape, dtype=inner.dtype, strides=inner.stride())
        outer.inner = inner
        return outer

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = [a.inner if isinstance(a, Wrapped) else a for a in args]
        result = func(*plain, **(kwargs or {}))
        return Wrapped.of(result) if isinstance(result, fb.Tensor) else result


def test_wrappers_compute_with_what_they_hold() -> None:
    inner = fb.tensor([[1.0, 2.0], [3.0, 4.0]])
    x = Wrapped.of(inner)
    y = (x * 2 + fb.ones(2, 2)).t()
    assert type(y) is Wrapped
    assert y.inner.tolist() == [[3.0, 7.0], [5.0, 9.0]]
    assert (y.shape, y.stride()) == ((2, 2), (1, 2))
    assert repr(y) == "Wrapped(..., size=(2, 2))"


def test_wrappers_have_gradients() -> None:
    x = Wrapped.of(fb.tensor([1.0, 2.0]))
    x.requires_grad_()
    (x * x).sum().backward()
    assert x.grad.inner.tolist() == [2.0, 4.0]


def test_wrappers_in_programs_run_an_operator_at_a_time() -> None:
    f = fb.CompilationUnit("def f(x: Tensor): return x * 2 + 1").f
    f(fb.ones(2))
    assert f(Wrapped.of(fb.ones(2))).inner.tolist() == [3.0, 3.0]


def test_a_wrapper_needs_dispatch() -> None:
    with pytest.raises(RuntimeError, match="Plain must define __torch_dispatch__"):
        Plain._make_wrapper_subclass((2,))


def test_subclasses_are_pickled_as_what_they_are() -> None:
    x = fb.ones(2).as_subclass(Plain)
    copy = pickle.loads(pickle.dumps(x))
    assert type(copy) is Plain
    assert copy.tolist() == [1.0, 1.0]


def test_results_that_are_saved_for_the_way_back_are_wrappers_still() -> None:
    x = Wrapped.of(fb.tensor([0.0, 1.0])).requires_grad_()
    (x.sigmoid() * 1).sum().backward()
    assert fb.allclose(x.grad.inner, fb.tensor([0.25, 0.19661193]))


def test_the_packages_own_classes_cost_other_calls_nothing() -> None:
    program = "import flambeau; from flambeau.tensor.subclasses import special; assert not special.exists"
    paths = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": paths})


ASKED = {
    "x > 0": "gt", "0 > x": "lt", "x == 0": "__eq__", "x != 0": "ne", "1 + x": "add", "2 * x": "mul",
    "1 - x": "__rsub__", "plain - x": "sub", "plain >= x": "le", "x // 2": "__floordiv__", "i & 1": "__and__",
    "1 & i": "bitwise_and", "i << 1": "__lshift__", "1 << i": "__rlshift__", "-x": "neg", "abs(x)": "abs",
    "list(x)": "unbind",
}  # fmt: skip
"""Expressions with the name of the function that classes are asked about first, which is that of PyTorch's."""


@pytest.mark.parametrize("text", ASKED)
def test_classes_are_asked_about_the_function_that_torch_names(text: str) -> None:
    seen: list[Any] = []

    class Asked(fb.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = fb.ones(2, 3).as_subclass(Asked)
    i = fb.ones(2, dtype=fb.int64).as_subclass(Asked)
    result = eval(text, {"x": x, "i": i, "plain": fb.ones(2, 3)})
    assert seen[0] is getattr(fb.Tensor, ASKED[text])
    assert all(type(one) is Asked for one in (result if isinstance(result, list) else [result]))


def test_modes_do_not_see_how_parameters_are_made() -> None:
    names: list[str] = []

    class Listening(fb.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    with Listening():
        assert fb.nn.Parameter(fb.ones(2)).requires_grad
    assert set(names) == {"ones", "__get__"}
