"""Archives as PyTorch reads them: the same answers, the same state, the same places in the user's source."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from tests.serialize.saved_modules import CASES, compiled

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def theirs(value: Any) -> Any:
    """A value of ours as a value of PyTorch's."""
    if isinstance(value, Tensor):
        if value.dtype is flambeau.bfloat16:
            return torch.from_numpy(np.array(value.to(flambeau.float32).numpy(force=True))).to(torch.bfloat16)
        return torch.from_numpy(np.array(value.numpy(force=True)))
    if isinstance(value, list | tuple):
        return type(value)(map(theirs, value))
    return {k: theirs(v) for k, v in value.items()} if isinstance(value, dict) else value


def same(ours: Any, found: Any) -> bool:
    """Whether a result of PyTorch's is ours, already turned into its kind."""
    if isinstance(found, torch.Tensor):
        return ours.dtype == found.dtype and torch.allclose(ours, found.detach(), 1e-4, 1e-5, equal_nan=True)
    if isinstance(found, list | tuple):
        return len(ours) == len(found) and all(map(same, ours, found))
    if isinstance(found, dict):
        return list(ours) == list(found) and all(map(same, ours.values(), found.values()))
    return str(ours) == str(found) if type(ours).__name__ in ("Color", "device") else bool(ours == found)


def loaded(program: Any) -> Any:
    return torch.jit.load(io.BytesIO(flambeau.jit.saving.save_to_buffer(program)))


@pytest.mark.parametrize("case", CASES)
def test_the_same_answers(case: str) -> None:
    ours = compiled(case)
    found = loaded(ours)
    for method, args in CASES[case][1]:
        is_function = method == "forward" and not hasattr(ours, "forward")
        expected = (ours if is_function else getattr(ours, method))(*args)
        is_magic = method.startswith("__") and method != "__call__"
        given = (found._c._get_method(method) if is_magic else getattr(found, method))(*theirs(args))
        assert same(theirs(expected), given), (method, expected, given)


def test_own_state_comes_back_through_its_method() -> None:
    found = loaded(compiled("own state"))
    assert found.weight.tolist() == [10.0, 10.0]
    assert found.packed == [3]
    assert found(torch.zeros(2)).tolist() == [3.0, 3.0]


def test_tensors_keep_layout_order_and_sharing() -> None:
    ours = compiled("tensors")
    found = loaded(ours)
    assert [n for n, _ in found.named_parameters()] == [n for n, _ in ours.named_parameters()]
    assert [n for n, _ in found.named_buffers()] == [n for n, _ in ours.named_buffers()]
    assert found.fixed.requires_grad is False
    assert found.weight.requires_grad is True
    assert found.turned.stride() == (1, 4)
    assert found.spread.stride() == (0,)
    shared = {found.weight.data_ptr() + 16: found.fixed.data_ptr(), found.weight.data_ptr(): found.turned.data_ptr()}
    assert list(shared) == list(shared.values())
    assert found.bias is found.tied or found.bias.data_ptr() == found.tied.data_ptr()


def test_attributes_keep_values_and_types() -> None:
    found = loaded(compiled("attributes"))
    assert (found.whole, found.large, found.small, found.high) == (3, 2**40, -(2**63), float("inf"))
    assert found.odd != found.odd
    assert found.number == 1 - 2j
    assert found.text == 'quote " back \\ new\n ünï'
    assert found.maybe is None
    assert found.either == "a"
    assert found.pairs == {"a": (1, 0.5)}
    assert found.empty == []
    assert found.nested == [{"a": [1], "b": []}]
    assert found.mixed == (1, "a", None, (2.5, [3]))


def test_modules_keep_their_tree() -> None:
    ours = compiled("tree")
    found = loaded(ours)
    assert [n for n, _ in found.named_modules()] == [n for n, _ in ours.named_modules(remove_duplicate=False)]
    assert found.training
    assert not found.frozen.training
    assert found.shared.weight.data_ptr() == getattr(found.list, "2").weight.data_ptr()
    assert list(found.state_dict()) == list(ours.state_dict())


def test_errors_show_the_users_source() -> None:
    found = loaded(compiled("flow"))
    with pytest.raises((RuntimeError, torch.jit.Error)) as caught:
        found(torch.ones(3), 101)
    assert 'saved_modules.py", line' in str(caught.value)
    assert 'raise ValueError("too large")' in str(caught.value)
    with pytest.raises((RuntimeError, torch.jit.Error), match="Python function is annotated to be ignored"):
        loaded(compiled("methods")).add(torch.ones(1), True)
