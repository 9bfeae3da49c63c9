"""Tensors written in place, element by element: `copy_`, `fill_`, `add_` and its like.

What is written is computed by the operator's Scalar meaning. Python does it where memory overlaps; where nothing is
broadcast and the last axes have no gaps, which is found out once before the loop, elements are loaded and stored as
vectors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from flambeau.codegen.graph import arrays, memory
from flambeau.codegen.graph.arrays import array, load
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import call_python
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Native, Scalar
from flambeau.codegen.graph.overlap import overlaps, repeats
from flambeau.codegen.graph.pointwise import FLOAT_AMONG_INTS, element, given_of, refuse_what_is_too_large, told
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.scalars import Operand, Registers, as_operand
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.node import Node
from flambeau.schema import registry
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import OpDef


def copy_(fn: EmittedFunction, node: Node) -> None:
    """`copy_`: every element converted, broadcast where needed."""
    target, given = array(fn, node.operand(0)), fn.values.get(node.operand(1))
    s = Registers(fn, node, is_exact=False)
    dtype = target.rep.dtype

    def meaning(_: Operand, source: Operand) -> Register:
        return s.cast(source, dtype).register

    write_all(fn, node, target, [given], meaning, reads_target=False)
    fn.values.set_view(node.result(), target)


def fill_(fn: EmittedFunction, node: Node) -> None:
    """`fill_`, `zero_`."""
    target = array(fn, node.operand(0))
    s = Registers(fn, node, is_exact=False)
    if len(node.operands) == 1:
        operand = s.const(0, target.rep.dtype)
    else:
        given = fn.values.get(node.operand(1))
        operand = load(fn, given) if arrays.is_tensor(given) else as_operand(fn.values.scalar(node.operand(1)))
        if not arrays.is_tensor(given):
            refuse_what_is_too_large(fn, node, operand, target.rep.dtype)
    if operand.dtype.is_floating_point and not target.rep.dtype.is_floating_point:
        raise CannotCompileError(FLOAT_AMONG_INTS)
    arrays.fill(fn, target, s.cast(operand, target.rep.dtype).register)
    fn.values.set_view(node.result(), target)


def in_place(fn: EmittedFunction, node: Node, definition: OpDef) -> bool:
    """`add_` and its like, by the meaning of `add`; whether it is one of them."""
    schema = definition.schema
    if definition.family != "in_place" or not isinstance(fn.values.get(node.operand(0)).rep, Array):
        return False
    plain = registry.find(registry.out_of_place(schema.name) + (f".{schema.overload}" if schema.overload else ""))
    if plain is None or plain.scalar is None:
        return False
    natives = [fn.values.get(v) for v in node.operands]
    target = array(fn, node.operand(0))
    said = [told(n) for n in natives]
    result = plain.dtype(*said) if plain.dtype is not None else None
    if not isinstance(result, DType) or not _can_hold(target.rep.dtype, result):
        return False
    s = Registers(fn, node, is_exact=False)
    places = [k for k, n in enumerate(natives) if k and arrays.is_tensor(n)]
    rest = [given_of(n) if not arrays.is_tensor(n) else None for n in natives]

    def meaning(own: Operand, *sources: Operand) -> Register:
        given = list(rest)
        given[0] = own
        for place, source in zip(places, sources, strict=True):
            given[place] = source
        return s.cast(element(plain, s, given, said), target.rep.dtype).register

    write_all(fn, node, target, [natives[k] for k in places], meaning, reads_target=True)
    fn.values.set_view(node.result(), target)
    return True


def write_all(
    fn: EmittedFunction, node: Node, target: ArrayValue, sources: Sequence[Native],
    meaning: Callable[..., Register], *, reads_target: bool,
) -> None:  # fmt: skip
    """Every element of ``target`` from itself and the sources; by Python where their memory overlaps."""
    e = fn.e
    fixed: dict[int, Operand] = {}
    moving: list[ArrayValue] = []
    for k, source in enumerate(sources):
        if isinstance(source, Scalar) or (isinstance(source, ArrayValue) and source.rep.rank == 0):
            fixed[k] = load(fn, source)
        else:
            assert isinstance(source, ArrayValue)
            moving.append(arrays.broadcast_to(fn, source, target.sizes, node))

    def at(places: list[Register]) -> None:
        operands, rest = [], list(zip(places[1:], moving, strict=True))
        for k in range(len(sources)):
            if k in fixed:
                operands.append(fixed[k])
            else:
                place, source = rest.pop(0)
                operands.append(Operand(memory.load_element(e, place, source.rep.dtype), source.rep.dtype))
        dtype = target.rep.dtype
        own = Operand(memory.load_element(e, places[0], dtype), dtype) if reads_target else Operand(places[0], dtype)
        memory.store_element(e, places[0], meaning(own, *operands), dtype)

    plain = [source for source in sources if isinstance(source, ArrayValue) and source.rep.rank]

    def everywhere() -> None:
        fits = _are_plain(fn, target, plain)
        if fits is None:
            flat = arrays.flattened(fn, [target, *moving])
            arrays.each_element(fn, flat[0].sizes, flat, at)
            return
        alike, spread, done = e.label("alike"), e.label("spread"), e.label("done")
        e.branch_if(fits, alike, spread)
        for label, all_ in (
            (alike, [arrays.in_steps(x, target.sizes) for x in (target, *plain)]), (spread, [target, *moving])
        ):  # fmt: skip
            e.start(label)
            flat = arrays.flattened(fn, all_)
            arrays.each_element(fn, flat[0].sizes, flat, at)
            e.branch(done)
        e.start(done)

    in_the_way = repeats(fn, target)
    if moving:
        in_the_way.append(overlaps(fn, target, moving))
    if not in_the_way:
        everywhere()
    else:
        shares, apart, after = e.label("shares"), e.label("apart"), e.label("after")
        met = functools.reduce(lambda a, b: e.binary("or", a, b), in_the_way)
        e.raw(f"br i1 {met}, label %{shares}, label %{apart}, !prof !20")
        e.start(shares)
        call_python(fn, node, (), is_rare=True)
        e.branch(after)
        e.start(apart)
        everywhere()
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
        step = number(memory.element(x.rep.dtype).itemsize)
        if x.rep.rank and x.strides[-1] != step:
            unclear.append(e.icmp("eq", x.strides[-1], step))
    return functools.reduce(lambda a, b: e.binary("and", a, b), unclear) if unclear else None


def _can_hold(dtype: DType, result: DType) -> bool:
    """Whether a tensor may be overwritten with numbers of another dtype: of its kind of number, or a lower one."""
    return result.category <= dtype.category
