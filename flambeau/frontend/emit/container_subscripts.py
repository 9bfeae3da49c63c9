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
from flambeau.program.classes import ClassDefinition
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import INT, STRING, ClassType, InterfaceType, NamedType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

LIST_INDEX = (
    "Expected integer literal for index but got a variable or non-integer. ModuleList/Sequential indexing is only "
    "supported with integer literals. For example, 'i = 4; self.layers[i](x)' will fail because i is not a literal. "
    "Enumeration is supported, e.g. 'for index, v in enumerate(self): out = v(inp)'. With an interface that all of "
    "the modules have, any index will do: 'layer: Interface = self.layers[i]'"
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
        return _of_archive(e, where, owner, index, hint)
    if isinstance(index, SliceValue):
        if keys is not None:
            raise CompileError(DICT_INDEX, where)
        return TupleValue(modules[_slice(index, where)])
    position = index.as_value(e, where)
    constant = _constant(position)
    if constant is None or position.static_type != (INT if keys is None else STRING):
        return _any_of(e, where, owner, _by_name(e, where, modules), position, hint, is_keyed=keys is not None)
    if keys is not None:
        if constant not in keys:
            raise CompileError(f"Key Error, {constant}", where)
        return modules[keys.index(str(constant))]
    assert isinstance(constant, int)
    if not -len(modules) <= constant < len(modules):
        raise CompileError(f"Index {constant} out of range of length {len(modules)}", where)
    return modules[constant]


def _of_archive(e: Emitter, where: SourceRange, owner: Value, index: Sugared, hint: Type | None) -> Sugared | None:
    """An item of a container that an archive has as a class with submodules; None for all that is subscripted else."""
    definition = owner.static_type.definition if isinstance(owner.static_type, ClassType) else None
    if not isinstance(definition, ClassDefinition) or not definition.is_module or not isinstance(index, SimpleValue):
        return None
    inner: dict[str, Type] = {a.name: a.type for a in definition.attributes if isinstance(a.type, NamedType)}
    if not inner or definition.find_method("__getitem__") is not None:
        return None
    return _any_of(e, where, owner, inner, index.value, hint, is_keyed=index.value.static_type == STRING)


def _slice(index: SliceValue, where: SourceRange) -> slice:
    trees = (index.start, index.stop, index.step)
    bounds = [constant_int(b) for b in trees]
    if any(b is not None and bound is None for b, bound in zip(trees, bounds, strict=True)):
        raise CompileError(LIST_INDEX, where)
    if bounds[2] == 0:
        raise CompileError("slice step cannot be zero", where)
    return slice(*bounds)


def _by_name(e: Emitter, where: SourceRange, modules: list[Sugared]) -> dict[str, Type]:
    """The types of modules by the names of the attributes that they are read from."""
    values = [m.as_value(e, where) for m in modules]
    nodes = [v.defining_node for v in values]
    names = [str(i) if n is None else str(n.attributes.get("name", i)) for i, n in enumerate(nodes)]
    return {name: value.static_type for name, value in zip(names, values, strict=True)}


def _any_of(
    e: Emitter, where: SourceRange, owner: Value, modules: dict[str, Type], index: Value, hint: Type | None,
    *, is_keyed: bool,
) -> Sugared:  # fmt: skip
    """The module at an index that is known when the program runs: all have to be of one type."""
    types = list(modules.values())
    wanted: Type | None = hint if isinstance(hint, InterfaceType) else None
    if wanted is None and types and isinstance(types[0], NamedType) and all(t == types[0] for t in types):
        wanted = types[0]
    if wanted is None or index.static_type != (STRING if is_keyed else INT):
        raise CompileError(DICT_INDEX if is_keyed else LIST_INDEX, where)
    for name, type_ in modules.items():
        if not is_subtype(type_, wanted):
            raise CompileError(NOT_ANNOTATED.format(name=name, wanted=wanted.annotation, found=type_.annotation), where)
    return SimpleValue(e.emit("prim::ModuleContainerIndex", (owner, index), wanted))
