"""Functions written in Python ask modes and classes of arguments about their calls, once and as themselves."""

from __future__ import annotations

import inspect
import pickle
from importlib import import_module
from types import FunctionType
from typing import Any, ClassVar

import pytest

import flambeau
import flambeau.nn.functional as F  # noqa: N812
from flambeau.tensor.overridden_functions import FIRST_CALLS, overridable
from flambeau.tensor.switched_functions import SwitchedFunctions


class Seen(flambeau.FunctionMode):
    """Keeps the functions that are called."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __flambeau_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(func)
        return func(*args, **(kwargs or {}))


class Mine:
    """No tensor, and answers calls all the same."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func, args, kwargs


class Kept(flambeau.Tensor):
    """A subclass as most are: its results are of the class."""

    asked: ClassVar[list[Any]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.asked.append(func)
        return super().__torch_function__(func, types, args, kwargs)


def tensor(*sizes: int) -> flambeau.Tensor:
    return flambeau.rand(*sizes)


CALLS: dict[Any, tuple[Any, ...]] = {
    F.relu: (tensor(2, 3),),
    F.elu: (tensor(2, 3), 0.5),
    F.softmax: (tensor(2, 3), -1),
    F.dropout: (tensor(2, 3), 0.5, False),
    F.linear: (tensor(2, 3), tensor(4, 3)),
    F.layer_norm: (tensor(2, 3), (3,)),
    F.embedding: (flambeau.tensor([1, 0]), tensor(2, 3)),
    F.cross_entropy: (tensor(2, 3), flambeau.tensor([1, 0])),
    F.mse_loss: (tensor(2, 3), tensor(2, 3)),
    F.interpolate: (tensor(1, 1, 2, 2), (4, 4)),
    F.conv2d: (tensor(1, 1, 3, 3), tensor(1, 1, 2, 2)),
    F.max_pool2d: (tensor(1, 1, 4, 4), 2),
    F.max_pool2d_with_indices: (tensor(1, 1, 4, 4), 2),
    F.scaled_dot_product_attention: (tensor(1, 2, 3), tensor(1, 2, 3), tensor(1, 2, 3)),
    flambeau.einsum: ("ij,kj->ik", tensor(2, 3), tensor(2, 3)),
    flambeau.cdist: (tensor(2, 3), tensor(2, 3)),
    flambeau.norm: (tensor(2, 3),),
    flambeau.split: (tensor(2, 3), 1),
    flambeau.broadcast_tensors: (tensor(2, 1), tensor(3)),
    flambeau.block_diag: (tensor(2, 1), tensor(3)),
    flambeau.unique: (tensor(3),),
    flambeau.nonzero: (tensor(3),),
    flambeau.nn.init.constant_: (tensor(3), 1.0),
}


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_a_mode_sees_one_call_of_the_function_itself(function: Any) -> None:
    with Seen() as seen:
        result = function(*CALLS[function])
    assert seen.calls == [function]
    with Seen() as outer, Seen() as inner:
        function(*CALLS[function])
    assert outer.calls == inner.calls == [function]
    assert repr(function(*CALLS[function])) == repr(result)


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_a_subclass_is_asked_once_and_its_results_are_of_it(function: Any) -> None:
    def kept(value: Any) -> Any:
        return value.as_subclass(Kept) if isinstance(value, flambeau.Tensor) else value

    arguments = [kept(value) for value in CALLS[function]]
    Kept.asked.clear()
    result = function(*arguments)
    assert Kept.asked == [function]
    assert all(type(part) is Kept for part in (result if isinstance(result, tuple | list) else [result]))


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_any_object_answers_in_every_position(function: Any) -> None:
    arguments = CALLS[function]
    for position, value in enumerate(arguments):
        if isinstance(value, flambeau.Tensor):
            mine = Mine()
            called, args, kwargs = function(*arguments[:position], mine, *arguments[position + 1 :])
            assert called is function
            assert args[position] is mine
            assert not kwargs
    assert flambeau.cat([Mine()])[0] is flambeau.cat


def test_arguments_come_as_they_were_given() -> None:
    mine = Mine()
    assert F.softmax(mine, dim=0)[1:] == ((mine,), {"dim": 0})
    assert F.dropout(input=mine)[1:] == ((), {"input": mine})


def test_with_indices_another_function_is_asked_about() -> None:
    x = tensor(1, 1, 4, 4)
    for call in (lambda: F.max_pool2d(x, 2, return_indices=True), lambda: F.adaptive_max_pool2d(x, 2, True)):
        with Seen() as seen:
            call()
        assert seen.calls[0] in (F.max_pool2d_with_indices, F.adaptive_max_pool2d_with_indices)
        assert len(seen.calls) == 1


def test_members_of_tensors_are_the_objects_that_they_were_before() -> None:
    cls: Any = flambeau.Tensor
    x = tensor(2, 3)
    for before, call in (
        (cls.size, lambda: x.size()),
        (cls.shape.__get__, lambda: x.shape),
        (cls.T.__get__, lambda: x.T),
        (cls.__getitem__, lambda: x[0]),
        (cls.__len__, lambda: len(x)),
        (cls.norm, lambda: x.norm()),
        (cls.unique, lambda: x.unique()),
        (cls.numpy, lambda: x.numpy()),
        (cls.requires_grad.__set__, lambda: setattr(x, "requires_grad", False)),
    ):
        with Seen() as outer, Seen() as seen:
            call()
        assert seen.calls == outer.calls == [before]
        assert flambeau.overrides.resolve_name(before) or before == cls.requires_grad.__set__


def test_who_refuses_is_named() -> None:
    class Refusing:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match=r"failed for 'torch.cross_entropy'.*\n\n.*tensor subclass .*Refusing"):
        F.cross_entropy(Refusing(), flambeau.tensor(0))  # type: ignore[arg-type]


def test_layers_ask_by_their_functions() -> None:
    x, layer = tensor(2, 3), flambeau.nn.Sequential(flambeau.nn.Linear(3, 4), flambeau.nn.ReLU(), flambeau.nn.Dropout())
    with Seen() as seen:
        layer(x)
    assert [one for one in seen.calls if isinstance(one, FunctionType)] == [F.linear, F.relu, F.dropout]


def test_functions_stay_what_they_are() -> None:
    function = F.cross_entropy
    with Seen():
        inside = F.cross_entropy
        assert list(inspect.signature(inside).parameters)[:3] == ["input", "target", "weight"]
        assert inspect.getsource(inside).startswith("def cross_entropy(")
    assert inside is function is pickle.loads(pickle.dumps(function))
    assert function.__name__ == "cross_entropy"
    assert function.__doc__


def test_programs_compile_what_is_written_while_a_mode_looks() -> None:
    def loss(x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
        return F.mse_loss(F.dropout(x, 0.5, False), y)

    with Seen():
        compiled = flambeau.script(loss)
    for _ in range(3):
        x, y = tensor(2, 3), tensor(2, 3)
        assert flambeau.allclose(compiled(x, y), ((x - y) ** 2).mean())


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> SwitchedFunctions:
    """Functions that ask, as they are before anybody has a class that answers."""
    functions = SwitchedFunctions()
    for module in ("overridden_functions", "overrides", "modes"):
        monkeypatch.setattr(import_module(f"flambeau.tensor.{module}"), "switched", functions)
    return functions


def test_calls_run_what_is_written_unless_somebody_answers(own: SwitchedFunctions) -> None:
    def doubled(x: Any) -> Any:
        return x + x

    written = doubled.__code__
    overridable(doubled)
    assert doubled.__code__ is not written
    for n in range(FIRST_CALLS):
        assert doubled(n) == 2 * n
    assert doubled.__code__ is written
    with Seen() as seen:
        assert doubled(3) == 6
    assert seen.calls == [doubled]
    assert doubled.__code__ is written

    class Asked(flambeau.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func

    assert own.always
    assert doubled(tensor(2).as_subclass(Asked)) is doubled


def test_the_first_object_that_answers_is_met_by_any_function(own: SwitchedFunctions) -> None:
    def first(x: Any) -> Any:
        return x

    def second(x: Any) -> Any:
        return x

    overridable(first)
    overridable(second)
    for n in range(FIRST_CALLS):
        first(n)
    assert second(Mine())[0] is second
    assert first(Mine())[0] is first
