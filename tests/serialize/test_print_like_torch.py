"""The code we print for PyTorch's graphs is the code that PyTorch prints for them."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flambeau.ir import Graph, Node, parse_ir
from flambeau.program.signature import schema_of
from flambeau.schema.function import FunctionSchema, parse_schema
from flambeau.schema.match import match_types
from flambeau.schema.types import FUNCTION
from flambeau.serialize import print_with_marks

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.filterwarnings("ignore")

TEXT_LOSES = ("NamedTuple(", "<Tensors>", "Union(")
"""What the text of a graph does not tell: names of named tuples, the number of tensors, the order of a union."""
SIZED = "_output_padding"
"""Methods with lists of a fixed size as parameters, which no text shows and PyTorch tells from other lists."""
SHADOWS = frozenset({"names", "names2"})
"""Programs with variables that hide a function of the printed code, which we rename and PyTorch does not."""


@functools.cache
def schemas(kind: str) -> list[FunctionSchema]:
    return [parse_schema(str(s)) for s in torch._C._jit_get_schemas_for_operator(kind)]


def torch_schema(node: Node) -> FunctionSchema | None:
    types = [v.static_type for v in node.operands]
    return next((s for s in schemas(node.op) if match_types(s, types) is not None), None)


def qualify(graph: Graph, code: str) -> None:
    """Give function constants their full names, which only `code` tells."""
    for node in graph.all_nodes():
        if "Subgraph" in node.attributes:
            qualify(node.attributes["Subgraph"], code)
        if node.op == "prim::Constant" and node.result().static_type == FUNCTION:
            found = re.search(rf"__torch__\.(\w+\.)*{node.attributes['name']}\b", code)
            if found:
                node.attributes["name"] = found[0]


def without_defaults(code: str) -> str:
    head, body = code.split(":\n", 1)
    return re.sub(r"=[^\n]*?(?=,\n|\) ->)", "", head) + ":\n" + body


def with_points(code: str) -> str:
    """PyTorch leaves the point out of large integral floats, which makes ints of them when they are read again."""
    return re.sub(r"(?<![\w.])(\d{11,18})\.(?!\d)", r"\1", code)


def differs(compiled: Any, is_method: bool = False) -> tuple[str, str] | None:
    """Both texts if they are not the same."""
    text, want = compiled.graph.str(False), compiled.code
    if any(loss in text for loss in TEXT_LOSES) or '"\\000' in text:
        return None
    graph = parse_ir(text)
    qualify(graph, want)
    try:
        schema = parse_schema(str(compiled.schema))
    except RuntimeError:
        schema, want = schema_of(compiled.name, graph), without_defaults(want)
    printed = print_with_marks(
        graph, schema=schema, operator_schema=torch_schema, is_method=is_method, name=compiled.name
    )
    got = printed.text
    return None if got == with_points(want) else (got, want)


def functions_of(module: Any) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            yield name, value


def script(obj: Any) -> Any:
    """Compiled by PyTorch; None for what it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.jit.script(obj)
        except Exception:
            return None


def check(compiled: Iterable[tuple[str, Any, bool]], at_least: int) -> None:
    count = 0
    for name, function, is_method in compiled:
        if name.endswith(SIZED):
            continue
        different = differs(function, is_method)
        assert different is None or different[0] == different[1], name
        count += 1
    assert count >= at_least


def own_programs(name: str) -> Any:
    """A module with programs; its classes are compiled by PyTorch when it is imported."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "at_least"), [("programs_of_values", 11), ("programs_of_statements", 9)])
def test_own_programs(name: str, at_least: int) -> None:
    found = [(n, script(fn)) for n, fn in functions_of(own_programs(name)) if n not in SHADOWS]
    check(((n, f, False) for n, f in found if f is not None), at_least)


def test_neural_network_functions() -> None:
    found = [(n, script(f)) for n, f in functions_of(torch.nn.functional) if not n.startswith("__")]
    check(((n, f, False) for n, f in found if hasattr(f, "code")), 60)


def test_shape_functions() -> None:
    found = [(n, script(f)) for n, f in functions_of(importlib.import_module("torch.jit._shape_functions"))]
    check(((n, f, False) for n, f in found if hasattr(f, "code")), 50)


def module_methods() -> Iterator[tuple[str, Any, bool]]:
    for cls in vars(torch.nn).values():
        if not (inspect.isclass(cls) and issubclass(cls, torch.nn.Module)):
            continue
        for arguments in ((), (4,), (4, 4), (4, 4, 3), (2, 4, 4), (8, 2)):
            try:
                instance = cls(*arguments)
            except Exception:
                continue
            scripted = script(instance)
            if scripted is None:
                continue
            for part in scripted.modules():
                for name in part._c._method_names():
                    yield f"{cls.__name__}.{name}", part._c._get_method(name), True
            break


def test_methods_of_modules() -> None:
    check(module_methods(), 150)
