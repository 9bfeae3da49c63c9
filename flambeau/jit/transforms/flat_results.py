"""Results in containers, tuples in tuples and dicts, as one tuple of tensors: for transforms of each.

`step(x)`, which gives `{"w": x * 2, "b": x.sum()}`, is

```
def flat(x):
    _r = _f(x)
    return (_r["w"], _r["b"],)
```

whose dict the compiler knows, so that it is none in native code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flambeau.executor.inlined_graph import inlined_graph
from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Value
from flambeau.jit.transforms.flat_functions import MARK
from flambeau.jit.transforms.outlines import compiled_text, header_of, names_of
from flambeau.passes import constant_propagation, lower_dicts, lower_tuples, settle_containers
from flambeau.program.function import Function
from flambeau.program.named_tuples import user_class
from flambeau.schema.types import DictType, TensorType, TupleType, Type
from flambeau.util.kept_on import KeptOn
from flambeau.util.trees import LEAF, Structure

_known: KeptOn[Function, list[tuple[Function, Structure] | None]] = KeptOn()
"""What was answered, by function."""


def flat_results(function: Function) -> tuple[Function, Structure] | None:
    """A function whose results, tensors in tuples and dicts, are given as one tuple, and how they lay; itself where
    they are such a tuple or one tensor; None for other results, for dicts whose keys the compiler does not know, and
    for named tuples without a class in Python."""
    known = _known.get(function)
    if known is None:
        known = _known[function] = [_flat_results(function)]
    return known[0]


def _flat_results(function: Function) -> tuple[Function, Structure] | None:
    returns = function.schema.returns
    structure = _structure(returns[0].type) if len(returns) == 1 else None
    if structure is None and len(returns) == 1 and _is_of_tensors(returns[0].type):
        structure = _built(_settled_result(function))
    if structure is None:
        return None
    if structure.kind in (None, tuple) and all(child.is_leaf() for child in structure.children):
        return function, structure
    names = names_of(function.schema, f"{MARK}_a")
    header = header_of(function.schema, names)
    items = "".join(f"{item}, " for item in _items(structure, f"{MARK}_r"))
    lines = [f"def flat({header}):", f"    {MARK}_r = {MARK}_f({', '.join(names)})", f"    return ({items})"]
    return compiled_text(f"{function.name}_listed", lines, {f"{MARK}_f": function}), structure


def _structure(declared: Type) -> Structure | None:
    if isinstance(declared, TensorType):
        return LEAF
    if not isinstance(declared, TupleType) or (kind := _class_of(declared)) is None:
        return None
    children = [child for child in map(_structure, declared.elements) if child is not None]
    return Structure(kind, None, children) if len(children) == len(declared.elements) > 0 else None


def _class_of(declared: TupleType) -> type | None:
    """`tuple`, or the user's class of a named tuple."""
    return tuple if declared.name is None else user_class(declared)


def _is_of_tensors(declared: Type) -> bool:
    """Whether a type is that of tensors in dicts and tuples."""
    if isinstance(declared, DictType):
        return _is_of_tensors(declared.value)
    if isinstance(declared, TupleType):
        is_known = _class_of(declared) is not None and bool(declared.elements)
        return is_known and all(map(_is_of_tensors, declared.elements))
    return isinstance(declared, TensorType)


def _settled_result(function: Function) -> Value:
    """The result in a graph of the function in which what builds dicts is written out."""
    graph = clone_graph(inlined_graph(function))
    for step in (lower_tuples, constant_propagation, lower_dicts, settle_containers, lower_dicts):
        step.do(graph)
    return graph.returns[0]


def _built(value: Value) -> Structure | None:
    """How tensors lie in what a graph builds; None where that is not known."""
    if isinstance(value.static_type, TensorType):
        return LEAF
    node = value.defining_node
    if node is None or node.op not in ("prim::DictConstruct", "prim::TupleConstruct") or not node.operands:
        return None
    is_dict = node.op == "prim::DictConstruct"
    keys = list(node.operands[::2]) if is_dict else []
    children = [_built(one) for one in (node.operands[1::2] if is_dict else node.operands)]
    whole = [child for child in children if child is not None]
    if len(whole) < len(children) or not all(map(is_constant, keys)) or len(value.uses()) > 1:
        return None  # a dict that something else is done with may have other keys by then
    if is_dict:
        return Structure(dict, list(map(constant_value, keys)), whole)
    assert isinstance(value.static_type, TupleType)
    return Structure(_class_of(value.static_type), None, whole)


def _items(structure: Structure, text: str) -> Iterator[str]:
    """The texts of the tensors in a value."""
    if structure.is_leaf():
        yield text
        return
    keys: Any = range(len(structure.children)) if structure.keys is None else structure.keys
    for key, child in zip(keys, structure.children, strict=True):
        yield from _items(child, f"{text}[{key!r}]")
