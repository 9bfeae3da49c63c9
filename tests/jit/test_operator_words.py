"""Operators of users: what they say of themselves, rules of modes for one of them, libraries of a block."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor, library


def test_operators_of_functions_say_what_they_are() -> None:
    @library.custom_op("own_words::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    assert (twice._qualname, twice._name, twice._namespace) == ("own_words::twice", "twice", "own_words")
    assert twice._opoverload is flambeau.ops.own_words.twice.default


def test_kernels_are_turned_off_for_a_block() -> None:
    @library.custom_op("own_words::kept", mutates_args=())
    def kept(x: Tensor) -> Tensor:
        return x * 2

    kept.register_kernel("cpu", lambda x: x * 10)
    x = flambeau.ones(1)
    with kept.set_kernel_enabled("cpu", False):
        assert kept(x).item() == 2
    with kept.set_kernel_enabled("cpu", True):
        assert kept(x).item() == 10
    assert kept(x).item() == 10


def test_rules_for_one_operator() -> None:
    @library.custom_op("own_words::ruled", mutates_args=())
    def ruled(x: Tensor) -> Tensor:
        return x + 1

    class Mode(flambeau.DispatchMode):
        def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {})) * 100

    class Below(flambeau.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise AssertionError(func)

    @ruled.register_torch_dispatch(Mode)
    def _(mode: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        assert isinstance(mode, Mode)
        return func(*args, **kwargs) * 5

    library.register_torch_dispatch("own_words::ruled", Below, lambda func, types, args, kwargs: flambeau.zeros(3))
    x = flambeau.ones(1)
    with Mode():
        assert (ruled(x).item(), (x + 1).item()) == (10, 200)
    assert ruled(flambeau.Tensor._make_subclass(Below, flambeau.ones(1))).tolist() == [0.0] * 3
    with pytest.raises(TypeError, match="a rule is for a class of dispatch modes, or of tensors"):
        library.register_torch_dispatch("own_words::ruled", int, lambda *a: None)


def test_libraries_of_a_block() -> None:
    with library._scoped_library("own_scoped", "DEF") as lib:
        lib.define("same(Tensor x) -> Tensor")
        lib.impl("same", lambda x: x + 1, "CompositeImplicitAutograd")
        assert flambeau.ops.own_scoped.same(flambeau.ones(1)).item() == 2
    with pytest.raises(AttributeError, match="'_OpNamespace' 'own_scoped' object has no attribute 'same'"):
        flambeau.ops.own_scoped.same  # noqa: B018


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: library.triton_op("a::b"), RuntimeError, "triton_op: there is no Triton here"),
        (lambda: library.wrap_triton(len), RuntimeError, "wrap_triton: there is no Triton here"),
        (lambda: library.get_ctx().new_dynamic_size(), NotImplementedError, "a size that depends on data is not known"),
        (lambda: library.register_fake("own_words::none", len), RuntimeError, "operator own_words::none does not"),
        (lambda: flambeau.ops.aten.add.other, AttributeError, "The underlying op of 'aten.add' has no overload name"),
    ],
)
def test_what_is_not_there(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
