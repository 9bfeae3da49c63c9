"""`Variable`, and what the way back is told about threads."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.autograd import Variable
from flambeau.autograd.multithreading import is_multithreading_enabled, set_multithreading_enabled


def test_every_tensor_is_a_variable() -> None:
    x = flambeau.ones(2)
    assert isinstance(x, Variable)
    assert issubclass(flambeau.nn.Parameter, Variable)
    assert not isinstance(3, Variable)
    y = Variable(x, requires_grad=True)
    assert (type(y), y.requires_grad, y.data_ptr() == x.data_ptr()) == (flambeau.Tensor, True, True)
    assert not Variable(y).requires_grad
    assert Variable().shape == (0,)
    with pytest.warns(UserWarning, match=r"volatile was removed"):
        Variable(x, volatile=True)
    with pytest.raises(TypeError, match=r"has to be a tensor, but got int"):
        Variable(3)
    with pytest.raises(RuntimeError, match=r"floating point"):
        Variable(flambeau.arange(2), requires_grad=True)


def test_threads_of_the_way_back() -> None:
    with set_multithreading_enabled(False):
        assert not is_multithreading_enabled()
    assert is_multithreading_enabled()
    set_multithreading_enabled(True)
    assert flambeau.autograd.grad_mode.set_multithreading_enabled is set_multithreading_enabled


def test_going_back_with_create_graph_is_warned_of() -> None:
    x = flambeau.tensor(2.0, requires_grad=True)
    with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True") as seen:
        (x**3).backward(create_graph=True)
    assert seen[0].filename == __file__
    assert x.grad is not None
    assert x.grad.requires_grad


def test_decorated_classes_are_warned_of() -> None:
    with pytest.warns(FutureWarning, match=r"Decorating classes is deprecated"):

        @flambeau.no_grad()
        class Seen:
            def __init__(self) -> None:
                self.is_enabled = flambeau.is_grad_enabled()

    assert not Seen().is_enabled


def test_a_tangent_is_given_once() -> None:
    from flambeau.autograd import forward_ad

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(flambeau.ones(2), flambeau.ones(2))
        assert repr(dual) == "tensor([1., 1.], tangent=tensor([1., 1.]))"
        with pytest.raises(RuntimeError, match=r"already has a forward gradient"):
            forward_ad.make_dual(dual, flambeau.ones(2))
