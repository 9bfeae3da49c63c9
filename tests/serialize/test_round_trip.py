"""Saved and loaded again: the same answers, the same code, the same file the second time."""

from __future__ import annotations

import io
import linecache
import zipfile
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, jit
from flambeau.jit.saving import save_to_buffer
from tests.serialize.saved_modules import CASES, compiled


def again(program: Any) -> Any:
    return jit.load(io.BytesIO(save_to_buffer(program)))


def same(a: Any, b: Any) -> bool:
    """Whether two results are alike."""
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and a.shape == b.shape and bool(flambeau.allclose(a, b))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


def records(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def differing(first: bytes, second: bytes) -> set[str]:
    a, b = records(first), records(second)
    return {n.partition("/")[2] for n in a.keys() | b.keys() if a.get(n) != b.get(n)}


@pytest.mark.parametrize("case", CASES)
def test_saved_and_loaded(case: str) -> None:
    ours = compiled(case)
    first = save_to_buffer(ours)
    loaded = jit.load(io.BytesIO(first))
    second = save_to_buffer(loaded)
    twice = jit.load(io.BytesIO(second))
    if case != "own state":  # every saving multiplies its weight
        changed = {n for n in differing(first, second) if not n.endswith(".debug_pkl")}
        lost = {"traced_inputs.pkl", "traced_inputs/0"} if case == "traced" else set()
        assert changed - {".data/serialization_id"} == lost
        assert differing(second, save_to_buffer(twice)) == set()
    for method, args in CASES[case][1]:
        is_function = method == "forward" and not hasattr(ours, "forward")
        expected = (ours if is_function else getattr(ours, method))(*args)
        assert same(expected, getattr(loaded, method)(*args)), method
        assert same(expected, getattr(twice, method)(*args)), method


def test_state_and_attributes_stay() -> None:
    ours = compiled("tree")
    loaded = again(ours)
    assert [n for n, _ in loaded.named_modules()] == [n for n, _ in ours.named_modules()]
    assert list(loaded.state_dict()) == list(ours.state_dict())
    assert all(map(same, loaded.state_dict().values(), ours.state_dict().values()))
    assert loaded.shared is loaded.list[2] or loaded.shared.weight.data_ptr() == loaded.list[2].weight.data_ptr()
    assert (loaded.training, loaded.frozen.training) == (True, False)
    held = again(compiled("attributes"))
    assert (held.text, held.number, held.nested) == ('quote " back \\ new\n ünï', 1 - 2j, [{"a": [1], "b": []}])
    state = again(compiled("own state"))
    assert (state.weight.tolist(), state.packed) == ([10.0, 10.0], [3])


def test_views_keep_sharing() -> None:
    loaded = again(compiled("tensors"))
    loaded.weight.detach()[1, 0] = 77.0
    assert loaded.fixed[0].item() == loaded.turned[0, 1].item() == 77.0
    assert loaded.spread.stride() == (0,)
    assert loaded.bias.data_ptr() == loaded.tied.data_ptr()
    assert (loaded.brain.dtype, loaded.number.dtype) == (flambeau.bfloat16, flambeau.complex64)
    assert [p for p, _ in loaded.named_parameters()] == [p for p, _ in compiled("tensors").named_parameters()]


def test_places_are_those_of_the_first_source() -> None:
    ours = compiled("flow")
    twice = again(again(ours))
    for program in (ours, twice):
        with pytest.raises(Exception, match="too large") as caught:
            program(flambeau.ones(3), 101)
        text = str(caught.value)
        assert 'saved_modules.py", line' in text
        assert 'raise ValueError("too large")' in text


class Holder(flambeau.nn.Module):
    def __init__(self, first: Any, second: Any) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor) -> Tensor:
        return self.first(x) + self.second(x)


def test_equal_names_from_two_archives_go_into_one() -> None:
    unit = "class Cell(nn.Module):\n  def forward(self, x: Tensor) -> Tensor:\n    return helper(x) {op} 3.0\n"
    loaded = []
    for op in "+*":
        scope: dict[str, Any] = {"nn": flambeau.nn, "Tensor": Tensor}
        source = f"def helper(x: Tensor) -> Tensor:\n  return x {op} 2.0\n" + unit.format(op=op)
        name = f"cell_{'plus' if op == '+' else 'times'}.py"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        scope["__name__"] = "cells"
        exec(compile(source, name, "exec", dont_inherit=True), scope)
        loaded.append(again(flambeau.script(scope["Cell"]())))
    both = again(flambeau.script(Holder(*loaded)))
    assert both(flambeau.ones(1)).item() == (1 + 2 + 3) + (1 * 2 * 3)
    names = [n.partition("/")[2] for n in records(both.save_to_buffer()) if n.endswith("cells.py") or "mangle" in n]
    assert "code/__torch__/cells.py" in names
    assert "code/__torch__/cells/___torch_mangle_0.py" in names
