"""What modes and subclasses of tensors may answer, the modes of a thread, and tensors that stand for others."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import overrides
from flambeau.utils import _python_dispatch as dispatching


def test_functions_by_namespace() -> None:
    answered = overrides.get_overridable_functions()
    assert flambeau.add in answered[flambeau]
    assert flambeau.nn.functional.relu in answered[flambeau.nn.functional]
    assert flambeau.Tensor.add in answered[flambeau.Tensor]
    assert flambeau.linalg.det in answered[flambeau.linalg]
    ignored = overrides.get_ignored_functions()
    assert {flambeau.zeros, flambeau.tensor, flambeau.manual_seed} <= ignored
    assert flambeau.add not in ignored


def test_every_function_that_is_named_is_answered() -> None:
    class Answering:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "answered"

    for function in (flambeau.add, flambeau.nn.functional.linear, flambeau.linalg.solve):
        assert function(Answering(), Answering()) == "answered"
    doubles = overrides.get_testing_overrides()
    assert doubles[flambeau.add](1, 2) == -1
    assert "input" in inspect.signature(doubles[flambeau.nn.functional.relu]).parameters


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (flambeau.Tensor.add, "flambeau.Tensor.add"),
        (flambeau.add, "flambeau.add"),
        (flambeau.linalg.det, "flambeau.linalg.det"),
        (flambeau.Tensor.shape.__get__, "flambeau.Tensor.shape.__get__"),
        (flambeau.ops.aten.add.Tensor, "aten.add.Tensor"),
        (len, None),
    ],
)
def test_names_of_functions(function: Any, name: str | None) -> None:
    assert overrides.resolve_name(function) == name


def test_members_of_tensors() -> None:
    asked = (flambeau.Tensor.add, flambeau.Tensor.T.__get__, flambeau.add)
    assert [overrides.is_tensor_method_or_property(one) for one in asked] == [True, True, False]
    assert flambeau.Tensor.grad.__get__ in overrides.get_default_nowrap_functions()


class Pair(flambeau.Tensor):
    """Two tensors that are computed with alike."""

    a: flambeau.Tensor
    b: flambeau.Tensor

    @staticmethod
    def __new__(cls, a: Any, b: Any) -> Any:
        return flambeau.Tensor._make_wrapper_subclass(cls, a.size(), dtype=a.dtype, strides=a.stride(), device=a.device)

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def __tensor_flatten__(self) -> Any:
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner: Any, context: Any, size: Any, stride: Any) -> Any:
        return Pair(inner["a"], inner["b"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tree_map = flambeau.utils._pytree.tree_map_only
        a = func(*tree_map(Pair, lambda t: t.a, args), **(kwargs or {}))
        b = func(*tree_map(Pair, lambda t: t.b, args), **(kwargs or {}))
        out = cls(a, b) if isinstance(a, flambeau.Tensor) else a
        return dispatching.return_and_correct_aliasing(func, args, kwargs, out)


def test_wrappers_are_made_by_the_root_class() -> None:
    pair = Pair(flambeau.ones(2, 3).t(), flambeau.zeros(2, 3).t())
    assert (type(pair), pair.shape, pair.stride()) == (Pair, (3, 2), (1, 3))
    total = pair + 1
    assert (total.a[0, 0].item(), total.b[0, 0].item()) == (2.0, 1.0)
    plain = flambeau.Tensor._make_subclass(Pair, flambeau.ones(2))
    assert (type(plain), plain.tolist()) == (Pair, [1.0, 1.0])
    with pytest.raises(TypeError, match="Tensor must define __torch_dispatch__"):
        flambeau.Tensor._make_wrapper_subclass(flambeau.Tensor, (2,))


def test_updates_return_the_tensor_itself() -> None:
    pair = Pair(flambeau.ones(2), flambeau.zeros(2))
    assert pair.add_(1) is pair
    assert (pair.a.tolist(), pair.b.tolist()) == ([2.0, 2.0], [1.0, 1.0])
    with pytest.raises(TypeError, match="takes an overload of an operator, as modes get it, not builtin_function"):
        dispatching.return_and_correct_aliasing(len, (), {}, pair)


@pytest.mark.parametrize(
    "read", [lambda x: x.numpy(), lambda x: x.tolist(), lambda x: x.sum().item(), np.asarray, lambda x: x.__dlpack__()]
)
def test_tensors_that_stand_for_others_have_no_elements(read: Any) -> None:
    with pytest.raises(RuntimeError, match="is not supported for tensor subclasses, got Pair"):
        read(Pair(flambeau.ones(2), flambeau.zeros(2)))


def test_parts_of_tensors() -> None:
    pair = Pair(flambeau.ones(2), flambeau.zeros(2))
    assert dispatching.is_traceable_wrapper_subclass(pair)
    doubled = dispatching.transform_subclass(pair, lambda name, part: part * 2 if name == "a" else part)
    assert (doubled.a.tolist(), doubled.b.tolist()) == ([2.0, 2.0], [0.0, 0.0])


def test_modes_of_a_thread() -> None:
    assert (dispatching._get_current_dispatch_mode(), dispatching.is_in_torch_dispatch_mode()) == (None, False)
    with dispatching.BaseTorchDispatchMode() as outer, dispatching.BaseTorchDispatchMode() as inner:
        assert dispatching._get_current_dispatch_mode_stack() == [outer, inner]
        assert dispatching._get_current_dispatch_mode() is inner
        with dispatching._disable_current_modes() as before:
            assert (before, dispatching.is_in_torch_dispatch_mode()) == ([outer, inner], False)
        assert (flambeau.ones(1) + 1).item() == 2


def test_nobody_is_asked() -> None:
    class Refusing(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise AssertionError(func)

    class Named(flambeau.Tensor):
        pass

    named = flambeau.ones(1).as_subclass(Named)
    with Refusing(), flambeau._C.DisableTorchFunction():
        assert type(named + 1) is flambeau.Tensor
