"""Objects of users' classes: a count of references, and the words of their attributes (`class_fields`).

    %n : Node = prim::CreateObject()                 memory of the call, with nothing in it
     = prim::SetAttr[name="key"](%n, %k)             its words
    %next : Node? = prim::GetAttr[name="next"](%n)   1 or 0, and the address of another object

An object that nobody holds is freed at once, circles of them when the call ends (`object_pool`).
"""

from __future__ import annotations

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.containers.lists import tag
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.module import NewFieldError
from flambeau.codegen.graph.native_values import (
    CannotCompileError,
    Native,
    ObjectValue,
    OptionalValue,
    Scalar,
    describe,
    words_of,
)
from flambeau.codegen.graph.objects.class_fields import FIRST, fields_of, is_learned
from flambeau.codegen.graph.objects.filled_objects import escapes_unfilled
from flambeau.codegen.graph.objects.object_pool import MOST_CLASSES
from flambeau.codegen.graph.releases import block_words, destroy_function
from flambeau.codegen.graph.representation import Bool, Fixed, Object, Representation, Unknown, holds_blocks, llvm_words
from flambeau.codegen.layouts import WORD
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.program.classes import ClassDefinition
from flambeau.schema.types import ClassType, NoneType

NULL = Register("null", "ptr", 1)


def create(fn: EmittedFunction, node: Node) -> None:
    """`prim::CreateObject`."""
    type_ = node.result().static_type
    assert isinstance(type_, ClassType)
    definition = type_.definition
    if not definition.has_instances:
        raise CannotCompileError(f"objects of {type_.name}, which is no class of Python's")
    unfilled = escapes_unfilled(node)
    if unfilled:
        raise CannotCompileError(f"{unfilled} of an object is not assigned before the object is used as a whole")
    cell = _cell(fn, definition)
    fields = fields_of(definition, fn.module.learned)
    destroy = destroy_function(fn.parts.functions, definition, fields)
    if fn.e.lanes > 1:
        raise CannotCompileError("a new object in each iteration of a loop")
    size = WORD * (FIRST + fields.words)
    new = f"call ptr @new_object(ptr {fn.exits.context}, ptr @{destroy}, i64 {cell}, i64 {size})"
    block = fn.e.define(new, "ptr", 1)
    fn.exits.leave_without_memory_if(fn.e.icmp("eq", block, NULL))
    for offset, rep in fields.placed:
        for index, _ in block_words(rep, offset):
            memory.store_word(fn.e, block, index, NULL, tag("ptr"))
    fn.values.set_new(node.result(), ObjectValue(Object(definition), block))


def _cell(fn: EmittedFunction, definition: ClassDefinition) -> int:
    """The number of a class among those of the module."""
    classes = fn.parts.classes
    if classes.setdefault(definition.name, definition) is not definition:
        raise CannotCompileError(f"objects of two classes of one name, {definition.name}")
    if len(classes) > MOST_CLASSES:
        raise CannotCompileError(f"objects of more than {MOST_CLASSES} classes")
    return list(classes).index(definition.name)


def read(fn: EmittedFunction, node: Node) -> None:
    """`prim::GetAttr`."""
    value = _object(fn, node)
    offset, rep = _field(fn, value, node)
    if isinstance(rep, Unknown):
        raise CannotCompileError(f"attribute {node.attribute('name')} is read before a tensor is assigned to it")
    fn.values.set_view(node.result(), _load(fn, value, offset, rep))


def write(fn: EmittedFunction, node: Node) -> None:
    """`prim::SetAttr`."""
    value = _object(fn, node)
    _learn(fn, value.rep.definition, node)
    offset, rep = _field(fn, value, node)
    new = fn.slots.converted(fn.values.get(node.operand(1)), rep)
    if not holds_blocks(rep):
        _store(fn, value, offset, new)
        return
    fn.values.retain(new)
    old = _load(fn, value, offset, rep)
    _store(fn, value, offset, new)
    fn.values.drop(old)


def is_instance(fn: EmittedFunction, node: Node) -> None:
    """`prim::isinstance` of an object, or of what may be None: objects are of the class that they are said to be."""
    if len(node.operands) != 1:
        raise CannotCompileError("several values")
    value, types = fn.values.get(node.operand(0)), node.attribute("types")
    admits_none = any(isinstance(t, NoneType) for t in types)
    if value.rep == Fixed(None):
        fn.values.set(node.result(), native_values.constant_of(admits_none))
        return
    inner = value.inner if isinstance(value, OptionalValue) else value
    if not isinstance(inner, ObjectValue):
        raise CannotCompileError(f"the class of {describe(value.rep)}")
    own = inner.rep.definition
    is_one = any(isinstance(t, ClassType) and t.definition.is_satisfied_by(own.type) for t in types)
    answer = native_values.constant_of(is_one)
    if isinstance(value, OptionalValue) and is_one is not admits_none:
        present = value.present
        answer = Scalar(Bool(), present if is_one else fn.e.binary("xor", present, fn.e.like(present, 1)))
    fn.values.set(node.result(), answer)


def _object(fn: EmittedFunction, node: Node) -> ObjectValue:
    value = fn.values.get(node.operand(0))
    if not isinstance(value, ObjectValue):
        raise CannotCompileError(f"an attribute of {describe(value.rep)}")
    if fn.e.lanes > 1:
        raise CannotCompileError("an object in each iteration of a loop")
    return value


def _learn(fn: EmittedFunction, definition: ClassDefinition, node: Node) -> None:
    """Note what tensors an attribute holds from what is assigned; all code is written anew where that is new."""
    attribute = definition.attribute(node.attribute("name"))
    if attribute is None or not is_learned(attribute.type):
        return
    assigned, key = fn.values.get(node.operand(1)).rep, (definition, attribute.name)
    rep: Representation = assigned if assigned == Fixed(None) else native_values.item_form(assigned)
    known = fn.module.learned.get(key)
    wider = rep if known is None else native_values.join(known, rep)
    if wider != known:
        fn.module.learned[key] = wider
        raise NewFieldError


def _field(fn: EmittedFunction, value: ObjectValue, node: Node) -> tuple[int, Representation]:
    fields = fields_of(value.rep.definition, fn.module.learned)
    name = node.attribute("name")
    if name not in fields.names:
        raise CannotCompileError(f"attribute {name} of {describe(value.rep)}")
    return fields.field(name)


def _load(fn: EmittedFunction, value: ObjectValue, offset: int, rep: Representation) -> Native:
    """An attribute, without a reference of its own."""
    kinds = llvm_words(rep)
    words = [memory.load_word(fn.e, value.block, offset + k, kind, tag(kind)) for k, kind in enumerate(kinds)]
    return fn.values.densified(native_values.from_words(rep, words))


def _store(fn: EmittedFunction, value: ObjectValue, offset: int, new: Native) -> None:
    for k, word in enumerate(words_of(new)):
        memory.store_word(fn.e, value.block, offset + k, word, tag(word.type))
