"""What `script` takes beside a function, and how values of Python become arguments."""

# ruff: noqa: UP006, UP035  (spellings that programs use)

from __future__ import annotations

from typing import Any, List, NamedTuple, Tuple

import pytest

import flambeau
from flambeau import Tensor, jit, nn
from flambeau.util.errors import ExecutionError


class Point(NamedTuple):
    x: int
    rest: List[int]


class Turned(NamedTuple):
    rest: int
    x: List[int]


def same(p: Point) -> Point:
    return p


def plain(p: Point | None) -> Tuple[int, List[int]]:
    return p if p is not None else (1, [2])


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_plain_tuples_become_named_ones_where_these_are_declared(backend: Any) -> None:
    f = flambeau.script(same, backend=backend)
    for _ in range(3):
        for given in (Point(1, [2]), (1, [2])):
            found = f(given)
            assert isinstance(found, Point)
            assert found == (1, [2])
    g = flambeau.script(plain, backend=backend)
    assert g((1, [3])) == (1, [3])
    assert g(None) == (1, [2])


@pytest.mark.parametrize(
    ("given", "found", "reason"),
    [
        (Point(1, ["a"]), "Point (aka NamedTuple(x, rest))", "element 1: element 0: 'a' (str) is no int"),  # type: ignore[list-item]
        (Turned(1, [2]), "Turned (aka NamedTuple(rest, x))", "its fields are rest, x, not x, rest"),
        ((1, ["a"]), "Tuple[int, List[str]]", "element 1: element 0: 'a' (str) is no int"),
        ((1, [2], 3), "Tuple[int, List[int], int]", "the tuple has 3 elements, not 2"),
    ],
)
def test_wrong_named_tuples(given: Any, found: str, reason: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        flambeau.script(same)(given)
    assert f"for argument 'p' but instead found type '{found}'." in str(caught.value)
    assert f"Cast error details: {reason}" in str(caught.value)


def test_lists_are_tuples_where_nothing_else_can_be_meant() -> None:
    def pair(p: Tuple[int, float]) -> Tuple[int, float]:
        return p

    def either(p: List[int] | Tuple[int, int]) -> bool:
        return isinstance(p, tuple)

    for _ in range(3):
        assert flambeau.script(pair)([1, 2]) == (1, 2.0)
        assert flambeau.script(either)([1, 2]) is False
        assert flambeau.script(either)((1, 2)) is True
    for wrong, reason in (([1], "the tuple has 1 elements, not 2"), (["a", 2], "element 0: 'a' (str) is no int")):
        with pytest.raises(RuntimeError) as caught:
            flambeau.script(pair)(wrong)
        assert reason in str(caught.value)


def test_code_of_methods_says_nothing_of_self() -> None:
    module = flambeau.script(nn.ReLU())
    assert module.code.startswith("def forward(self,\n    input: Tensor) -> Tensor:\n")
    assert module.forward.code_with_constants[0] == module.code


# -- annotations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["FloatTensor", "LongTensor", "BFloat16Tensor", "ByteTensor"])
def test_tensors_of_a_dtype_are_tensors(name: str) -> None:
    def f(x):  # type: ignore[no-untyped-def]
        return x

    f.__annotations__["x"] = getattr(flambeau, name)
    source = f"def g(x: flambeau.{name}):\n    return x + 1\n"
    with pytest.warns(UserWarning, match=f"TorchScript will treat type annotations of Tensor .* {name} is taken for"):
        unit = flambeau.CompilationUnit(source)
    assert unit.g(flambeau.ones(1)).tolist() == [2.0]
    with pytest.warns(UserWarning, match="TorchScript will treat type annotations of Tensor"):
        assert str(flambeau.script(jit.ignore(f) and calls(f)).schema) == "call(Tensor x) -> Tensor"


def calls(f: Any) -> Any:
    def call(x: Tensor) -> Tensor:
        return f(x)  # type: ignore[no-any-return]

    return call


def test_layouts_are_ints() -> None:
    def f(x: flambeau.layout, y: flambeau.memory_format, z: flambeau.dtype):  # type: ignore[no-untyped-def]
        return x, y, z

    scripted = flambeau.script(f)
    assert str(scripted.schema) == "f(int x, int y, int z) -> ((int, int, int))"
    assert scripted(flambeau.strided, flambeau.channels_last, flambeau.int64) == (0, 2, 4)


def test_annotations_of_classes_whose_module_nobody_imported(tmp_path: Any) -> None:
    text = (
        "from typing import Dict, List\nimport flambeau\nfrom flambeau import nn\n"
        "class Table(nn.Module):\n    rows: Dict[str, List[int]]\n"
        "    def __init__(self):\n        super().__init__()\n        self.rows = {}\n"
        "    def forward(self, name: str) -> int:\n        self.rows[name] = [1]\n        return len(self.rows)\n"
    )
    path = tmp_path / "unimported.py"
    path.write_text(text)
    names: dict[str, Any] = {"__name__": "unimported"}
    exec(compile(text, str(path), "exec"), names)
    assert flambeau.script(names["Table"]())("a") == 1


# -- script's own arguments -------------------------------------------------------------------------------------------


def shifted(n: int) -> int:
    return n + BY  # type: ignore[name-defined]  # noqa: F821


def test_names_may_be_given() -> None:
    assert flambeau.script(shifted, _rcb={"BY": 3}.get)(1) == 4
    with pytest.raises(RuntimeError, match="undefined value BY"):
        flambeau.script(calls_shifted())


def calls_shifted() -> Any:
    def fresh(n: int) -> int:
        return n + BY  # type: ignore[name-defined, no-any-return]  # noqa: F821

    return fresh


def test_what_has_no_effect_says_so() -> None:
    with pytest.warns(FutureWarning, match="`optimize` has no effect; with jit.optimized_execution"):
        assert flambeau.script(same, True)(Point(1, [])) == Point(1, [])  # type: ignore[call-overload]


def test_the_state_of_a_function() -> None:
    def f(x: Tensor, n: int) -> Tensor:
        return x * n + n

    scripted = flambeau.script(f)
    assert scripted.get_debug_state().execution_plans == {}
    scripted(flambeau.ones(2), 3)
    scripted(flambeau.ones(2, 1), 3)
    state = scripted.get_debug_state()
    assert state.graph is scripted.graph
    assert list(state.execution_plans) == ["float32[*], int", "float32[*, 1], int"]
    assert state.execution_plans["float32[*], int"].graph.find("prim::FusionGroup") is not None
    scripted._debug_flush_compilation_cache()
    assert scripted.get_debug_state().execution_plans == {}
    assert scripted(flambeau.ones(1), 3).tolist() == [6.0]


class NoSelf(nn.Module):
    @jit.ignore
    def helper() -> int:  # type: ignore[misc]
        return 1

    def forward(self, x: Tensor) -> Tensor:
        self.helper()
        return x


def test_an_ignored_method_needs_self() -> None:
    with pytest.raises(RuntimeError, match="Non-static method does not have a self argument: 'helper'") as caught:
        flambeau.script(NoSelf())
    assert "        self.helper()\n        ~~~~~~~~~~~ <--- HERE" in str(caught.value)


def test_defaults_are_of_the_declared_type() -> None:
    def f(x: float = 1, y: float | None = None) -> float:
        return x

    scripted = flambeau.script(f)
    assert str(scripted.schema) == "f(float x=1., float? y=None) -> float"
    assert repr(scripted()) == "1.0"


def test_classes_that_are_no_types() -> None:
    def f(x: dict[str, jit.ScriptModule]) -> int:
        return 1

    message = "Unknown type name 'jit.ScriptModule'. Unknown type annotation: '<class 'flambeau.jit.modules.old_style"
    with pytest.raises(ValueError, match=message):
        flambeau.script(f)


# -- modules from inside ----------------------------------------------------------------------------------------------


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.by = 3
        self.inner = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) * self.by


def test_a_module_from_inside() -> None:
    module = flambeau.script(Scaled())
    inside = module._c
    assert str(inside).startswith("ScriptObject <__torch__.")
    assert str(inside).endswith("Scaled>")
    assert (inside.name, inside._method_names(), inside._has_method("nope")) == ("Scaled", ["forward"], False)
    assert inside._get_method("forward")(flambeau.ones(1)).tolist() == [3.0]
    assert [m.name for m in inside._get_methods()] == ["forward"]
    assert inside._type() == flambeau.script(Scaled())._c._type()
    assert inside._type() != module.inner._c._type()
    assert (inside.hasattr("by"), inside.hasattr("nope"), inside.getattr("by")) == (True, False, 3)
    inside.setattr("by", 4)
    assert module.by == 4
    assert module._c == inside
    assert len({module._c, inside}) == 1
    assert module.inner._c != inside
    with pytest.raises(RuntimeError, match="Method 'nope' is not defined"):
        inside._get_method("nope")


def test_numbers_that_are_no_dtypes_are_said_to_be_none() -> None:
    def converted(x: Tensor, number: int) -> Tensor:
        return x.to(dtype=number)

    def made(x: Tensor) -> Tensor:
        return x + flambeau.zeros(2, dtype=77)

    x = flambeau.ones(2)
    scripted: Any = flambeau.script(converted)
    assert scripted(x, 7).dtype == flambeau.float64
    for number in (100, -1, 2**63 - 1):
        with pytest.raises(ExecutionError, match=f"there is no dtype of number {number}"):
            scripted(x, number)
    with pytest.raises(ExecutionError, match="there is no dtype of number 77"):  # without a warning of its passes
        flambeau.script(made)(x)
    with pytest.raises(TypeError, match=r"zeros\(\): argument 'dtype' must be torch.dtype, not int"):
        flambeau.zeros(2, dtype=100)


def test_an_operator_is_no_program() -> None:
    for operator in (flambeau.relu, flambeau.matmul, flambeau.nn.functional.gelu):
        with pytest.raises(TypeError, match=rf"not a operator: {operator.__name__} is compiled already, and runs by"):
            flambeau.script(operator)
