"""Tensors written in place, element by element: `copy_`, `fill_`, `add_` and its like.

What is written is computed by the operator's Scalar meaning. Python does it where memory overlaps; where nothing is
broadcast and the last axes have no gaps, which is found out once before the loop, elements are loaded and stored as
vectors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import call_python
from flambeau.codegen.graph.literals import as_rules_take
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, ComplexValue, Native, Scalar
from flambeau.codegen.graph.numbers import complex_elements, complex_numbers
from flambeau.codegen.graph.numbers.complex_elements import ComplexRegisters
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, as_operand
from flambeau.codegen.graph.overlap import overlaps, repeats
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, load
from flambeau.codegen.graph.tensors.creation import FLOAT_AMONG_INTS, refuse_what_is_too_large
from flambeau.codegen.graph.tensors.pointwise import element
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import registry
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import OpDef


def copy_(fn: EmittedFunction, node: Node) -> None:
    """`copy_`: every element converted, broadcast where needed."""
    target, source = array(fn, node.operand(0)), fn.values.get(node.operand(1))
    if not target.rep.rank and (target.rep.dtype.is_complex or _is_complex(source)):
        complex_numbers.put(fn, target, source, node)
        fn.values.set_view(node.result(), target)
        return
    if _is_complex(source) and not target.rep.dtype.is_complex:
        raise CannotCompileError("complex numbers written to real ones")
    s = meaning_of(fn, node, target)
    dtype = target.rep.dtype

    def meaning(_: Operand, element: Operand) -> Operand:
        return s.cast(element, dtype)

    write_all(fn, node, target, [source], meaning, reads_target=False)
    fn.values.set_view(node.result(), target)


def _is_complex(native: Native) -> bool:
    return isinstance(native, ComplexValue) or (isinstance(native, ArrayValue) and native.rep.dtype.is_complex)


def meaning_of(fn: EmittedFunction, node: Node, target: ArrayValue) -> Registers | ComplexRegisters:
    """Who runs an operator's meaning on elements of a tensor."""
    return ComplexRegisters(fn, node) if target.rep.dtype.is_complex else Registers(fn, node, is_exact=False)


def fill_(fn: EmittedFunction, node: Node) -> None:
    """`fill_`, `zero_`."""
    target = array(fn, node.operand(0))
    s = meaning_of(fn, node, target)
    if len(node.operands) == 1:
        operand = s.const(0, target.rep.dtype)
    elif target.rep.dtype.is_complex:
        operand = complex_elements.number(fn, fn.values.get(node.operand(1)), s)
    else:
        value = fn.values.get(node.operand(1))
        is_tensor = arrays.is_tensor(value)
        operand = load(fn, value) if is_tensor else as_operand(fn.values.scalar(node.operand(1)))
        if not is_tensor:
            refuse_what_is_too_large(fn, node, operand, target.rep.dtype)
    if operand.dtype.is_floating_point and not target.rep.dtype.is_floating_point:
        raise CannotCompileError(FLOAT_AMONG_INTS)
    complex_elements.fill(fn, target, s.cast(operand, target.rep.dtype))
    fn.values.set_view(node.result(), target)


def in_place(fn: EmittedFunction, node: Node, definition: OpDef) -> bool:
    """`add_` and its like, by the meaning of `add`; whether it is one of them."""
    plain = _out_of_place(definition)
    if plain is None or not isinstance(fn.values.get(node.operand(0)).rep, Array):
        return False
    natives = [fn.values.get(v) for v in node.operands]
    target = array(fn, node.operand(0))
    types = [as_rules_take(n) for n in natives]
    result = plain.dtype(*types) if plain.dtype is not None else None
    if not isinstance(result, DType) or not _can_hold(target.rep.dtype, result):
        return False
    s = meaning_of(fn, node, target)
    tensors = [k for k, n in enumerate(natives) if k and arrays.is_tensor(n)]
    others = [complex_elements.argument(fn, n) if not arrays.is_tensor(n) else None for n in natives]

    def meaning(own: Operand, *sources: Operand) -> Operand:
        arguments = [own, *others[1:]]
        for k, source in zip(tensors, sources, strict=True):
            arguments[k] = source
        return s.cast(element(plain, s, arguments, types), target.rep.dtype)

    write_all(fn, node, target, [natives[k] for k in tensors], meaning, reads_target=True)
    fn.values.set_view(node.result(), target)
    return True


def _out_of_place(definition: OpDef) -> OpDef | None:
    """The pointwise operator that an in-place one is the form of."""
    schema = definition.schema
    if definition.family != "in_place":
        return None
    plain = registry.find(registry.out_of_place(schema.name) + (f".{schema.overload}" if schema.overload else ""))
    return plain if plain is not None and plain.scalar is not None else None


def write_all(
    fn: EmittedFunction, node: Node, target: ArrayValue, sources: Sequence[Native],
    meaning: Callable[..., Operand], *, reads_target: bool,
) -> None:  # fmt: skip
    """Every element of ``target`` from itself and the sources; by Python where their memory overlaps."""
    operands = [_operand_of(fn, source, target, node) for source in sources]
    moving = [x for x in operands if isinstance(x, ArrayValue)]
    dtype = target.rep.dtype

    def one(addresses: list[Register]) -> None:
        elements = iter([complex_elements.load(fn, a, x.rep.dtype) for x, a in zip(moving, addresses[1:], strict=True)])
        arguments = [x if isinstance(x, Operand) else next(elements) for x in operands]
        own = complex_elements.load(fn, addresses[0], dtype) if reads_target else Operand(addresses[0], dtype)
        complex_elements.store(fn, addresses[0], meaning(own, *arguments))

    plain = [source for source in sources if isinstance(source, ArrayValue) and source.rep.rank]
    in_the_way = repeats(fn, target)
    lone = [source for source in sources if isinstance(source, ArrayValue) and not source.rep.rank]
    apart = [*moving, *(lone if target.rep.rank else [])]
    if apart:
        in_the_way.append(overlaps(fn, target, apart))
    if in_the_way:
        with _unless(fn, node, in_the_way):
            everywhere(fn, target, plain, moving, one)
    else:
        everywhere(fn, target, plain, moving, one)


def _operand_of(fn: EmittedFunction, source: Native, target: ArrayValue, node: Node) -> Operand | ArrayValue:
    """A source as its element, which is loaded once, or broadcast to the target."""
    if not isinstance(source, ArrayValue) or source.rep.rank == 0:
        return load(fn, source) if isinstance(source, Scalar) else complex_elements.argument(fn, source)
    return arrays.broadcast_to(fn, source, target.sizes, node)


def everywhere(
    fn: EmittedFunction, target: ArrayValue, plain: Sequence[ArrayValue], moving: Sequence[ArrayValue],
    one: Callable[[list[Register]], None],
) -> None:  # fmt: skip
    """A loop over all elements; apart for the case that nothing is broadcast (`plain`), unless that is clear."""
    e, fits = fn.e, _are_plain(fn, target, plain)
    if fits is None:
        flat = arrays.flattened(fn, [target, *moving])
        arrays.each_element(fn, flat[0].sizes, flat, one)
        return
    alike, spread, done = e.label("alike"), e.label("spread"), e.label("done")
    e.branch_if(fits, alike, spread)
    for label, all_ in (
        (alike, [arrays.in_steps(x, target.sizes) for x in (target, *plain)]), (spread, [target, *moving])
    ):  # fmt: skip
        e.start(label)
        flat = arrays.flattened(fn, all_)
        arrays.each_element(fn, flat[0].sizes, flat, one)
        e.branch(done)
    e.start(done)


@contextmanager
def _unless(fn: EmittedFunction, node: Node, conditions: Sequence[Register]) -> Iterator[None]:
    """What is emitted runs unless one of the conditions holds; then Python runs the node."""
    e = fn.e
    shares, apart, after = e.label("shares"), e.label("apart"), e.label("after")
    any_ = functools.reduce(lambda a, b: e.binary("or", a, b), conditions)
    e.raw(f"br i1 {any_}, label %{shares}, label %{apart}, !prof !20")
    e.start(shares)
    call_python(fn, node, (), is_rare=True)
    e.branch(after)
    e.start(apart)
    yield
    e.branch(after)
    e.start(after)


def _are_plain(fn: EmittedFunction, target: ArrayValue, sources: Sequence[ArrayValue]) -> Register | None:
    """Whether nothing is broadcast and the last axes have no gaps, so that vectors can be loaded and stored; None if
    that is clear.
    """
    e, unclear = fn.e, []
    for x in sources:
        own = target.sizes[target.rep.rank - x.rep.rank :]
        unclear += [e.icmp("eq", a, b) for a, b in zip(x.sizes, own, strict=True) if a != b]
    for x in (target, *sources):
        step = number(memory.itemsize(x.rep.dtype))
        if x.rep.rank and x.strides[-1] != step:
            unclear.append(e.icmp("eq", x.strides[-1], step))
    return functools.reduce(lambda a, b: e.binary("and", a, b), unclear) if unclear else None


def _can_hold(dtype: DType, result: DType) -> bool:
    """Whether a tensor may be overwritten with numbers of another dtype: of its kind of number, or a lower one."""
    return result.category <= dtype.category
