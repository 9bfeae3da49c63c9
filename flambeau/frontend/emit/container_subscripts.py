"""Subscripts of containers of modules and parameters: what an index that is known leads to, and one that is not.

self.layers[1]      →    %m = prim::GetAttr[name="1"](%layers)
self.layers[i]      →    %m : I = prim::ModuleContainerIndex(%layers, %i)    where all that it may be have one type
"""

from __future__ import annotations

from flambeau.frontend.emit.values.module_containers import module_keys
from flambeau.frontend.emit.values.simple_value import SimpleValue, module_items
from flambeau.frontend.emit.values.slice_values import SliceValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.trees.tree_views import Subscript
from flambeau.ir.graph import Value
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import INT, STRING, InterfaceType, NamedType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

LIST_INDEX = (
    "Expected integer literal for index. ModuleList/Sequential indexing is only supported with integer literals. For "
    "example, 'i = 4; self.layers[i](x)' will fail because i is not a literal. Enumeration is supported, e.g. 'for "
    "index, v in enumerate(self): out = v(inp)'. With an interface that all of the modules have, any index will do: "
    "'layer: Interface = self.layers[i]'"
)
DICT_INDEX = (
    "Unable to extract string literal index. ModuleDict indexing is only supported with string literals. For example, "
    "'i = \"a\"; self.layers[i](x)' will fail because i is not a literal. Iteration is supported, e.g. 'for k, v in "
    "self.layers.items(): out = v(inp)'. With an interface that all of the modules have, any index will do: 'layer: "
    "Interface = self.layers[i]'"
)
NOT_ANNOTATED = (
    "Attribute {name} is not of annotated type {wanted}: with an index that is not a literal, every module in the "
    "container has to be a {wanted}, but this one is a {found}"
)


def constant_int(value: Value | None) -> int | None:
    """The number that an index is known to be; None if it is not known."""
    number = _constant(value)
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _constant(value: Value | None) -> object:
    if (
        value is None
        or value.defining_node is None
        or value.defining_node.op != "prim::Constant"
        or value.static_type not in (INT, STRING)
    ):
        return None
    constant: object = value.defining_node.attribute("value")
    return constant


def subscripted(e: Emitter, tree: Subscript, owner: Value, index: Sugared, hint: Type | None) -> Sugared | None:
    """What is at an index of a container of modules or parameters; None if `owner` is no such container."""
    where = tree.indices[0].range
    keys = module_keys(e, where, owner)
    modules = module_items(e, where, owner)
    if modules is None:
        return None
    if isinstance(index, SliceValue):
        if keys is not None:
            raise CompileError(DICT_INDEX, where)
        return TupleValue(modules[_slice(index, where)])
    position = index.as_value(e, where)
    constant = _constant(position)
    if constant is None or position.static_type != (INT if keys is None else STRING):
        return _any_of(e, where, owner, modules, position, hint, is_keyed=keys is not None)
    if keys is not None:
        if constant not in keys:
            raise CompileError(f"Key Error, {constant}", where)
        return modules[keys.index(str(constant))]
    assert isinstance(constant, int)
    if not -len(modules) <= constant < len(modules):
        raise CompileError(f"Index {constant} out of range for a container of {len(modules)} modules", where)
    return modules[constant]


def _slice(index: SliceValue, where: SourceRange) -> slice:
    trees = (index.start, index.stop, index.step)
    bounds = [constant_int(b) for b in trees]
    if any(b is not None and bound is None for b, bound in zip(trees, bounds, strict=True)):
        raise CompileError(LIST_INDEX, where)
    if bounds[2] == 0:
        raise CompileError("slice step cannot be zero", where)
    return slice(*bounds)


def _any_of(
    e: Emitter, where: SourceRange, owner: Value, modules: list[Sugared], index: Value, hint: Type | None,
    *, is_keyed: bool,
) -> Sugared:  # fmt: skip
    """The module at an index that is known when the program runs: all have to be of one type."""
    types = [m.as_value(e, where).static_type for m in modules]
    wanted: Type | None = hint if isinstance(hint, InterfaceType) else None
    if wanted is None and types and isinstance(types[0], NamedType) and all(t == types[0] for t in types):
        wanted = types[0]
    if wanted is None or index.static_type != (STRING if is_keyed else INT):
        raise CompileError(DICT_INDEX if is_keyed else LIST_INDEX, where)
    for module, type_ in zip(modules, types, strict=True):
        if not is_subtype(type_, wanted):
            node = module.as_value(e, where).defining_node
            name = node.attribute("name") if node is not None else ""
            raise CompileError(NOT_ANNOTATED.format(name=name, wanted=wanted.annotation, found=type_.annotation), where)
    return SimpleValue(e.emit("prim::ModuleContainerIndex", (owner, index), wanted))
