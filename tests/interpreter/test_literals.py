"""Constants of graphs that were read from text: what text does not carry is refused, never guessed."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.ir import parse_ir
from flambeau.jit import create_function_from_graph

BACKENDS = ("reference", "interpreter", "native")


def run(constant: str, backend: str, type_: str = "Tensor", rest: str = "  return (%c)") -> flambeau.Tensor:
    text = f"graph(%x : Tensor):\n  %c : {type_} = prim::Constant[value={constant}]()\n{rest}"
    function = flambeau.script(create_function_from_graph("f", parse_ir(text)), backend=backend)
    found: flambeau.Tensor = function(flambeau.arange(3) * 2)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("text", "type_", "expected"),
    [
        (" 1 -2  3 [ CPULongType{3} ]", "Tensor", [1, -2, 3]),
        (" 1  2\n 3  4\n[ CPUIntType{2,2} ]", "Tensor", [[1, 2], [3, 4]]),
        ("{2.5}", "Double(requires_grad=0, device=cpu)", 2.5),
        (" 1  0 [ CPUBoolType{2} ]", "Tensor", [True, False]),
    ],
)
def test_what_text_carries(text: str, type_: str, expected: object, backend: str) -> None:
    assert run(text, backend, type_).tolist() == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_tensors_in_lists(backend: str) -> None:
    found = run(
        "annotate(List[Optional[Tensor]], [ 2  0 [ CPULongType{2} ]])", backend, "Tensor?[]",
        "  %y : Tensor = aten::index(%x, %c)\n  return (%y)",
    )  # fmt: skip
    assert found.tolist() == [4, 0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" 0.5000  0.3333 [ CPUFloatType{2} ]", "has not all its digits in its text; give the graph a parameter"),
        ("(1,.,.) = \n  1  2\n[ CPULongType{1,1,2} ]", "has not all its digits in its text"),
        ("<Tensor>", "has no dtype or sizes in its text"),
    ],
)
def test_what_text_does_not_carry(text: str, message: str, backend: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        run(text, backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('  %f : Function = prim::Constant[name="g"]()\n  %y : Tensor = prim::CallFunction(%f, %x)\n', "g"),
        ("  %y : Tensor = ^scale(2)(%x)\n", r"\^scale"),
    ],
)
def test_a_function_that_is_only_a_name_cannot_be_called(body: str, name: str, backend: str) -> None:
    graph = parse_ir(f"graph(%x : Tensor):\n{body}  return (%y)")
    function = flambeau.script(create_function_from_graph("f", graph), backend=backend)
    message = f"function '{name}' is only a name in this graph, .* print `fn.inlined_graph` in place of `fn.graph`"
    with pytest.raises(RuntimeError, match=message):
        function(flambeau.ones(2))
