"""Numbers drawn from NumPy's generator one at a time: `np.random.random()`, `normal`, `uniform`, `randint` in loops.

The formulas are those of NumPy's `RandomState`: two normal numbers at a time by Marsaglia's polar method, integers by
masks. The first draw of a call gets the generator with its lock; leaving the function, and Python, give it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import call_python
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.lowering_tables import Lowering, lowers
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, Scalar
from flambeau.codegen.graph.numbers.scalars import Operand, Registers
from flambeau.codegen.graph.random.generator_functions import generator_function
from flambeau.codegen.graph.representation import Float, Int
from flambeau.codegen.graph.routines.library import call_routine
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.numpy_generator import BEGIN, GENERATOR
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes

WHOLE_32 = (1 << 32) - 1


class Draw:
    """What one node draws."""

    def __init__(self, fn: EmittedFunction, node: Node) -> None:
        """Raises `CannotCompileError` where Python has to draw."""
        if fn.draws is None or fn.e.lanes > 1:
            raise CannotCompileError("numbers of NumPy's generator in a function that calls others")
        self.fn, self.e, self.node = fn, fn.e, node
        self.s = Registers(fn, node, is_exact=True)

    def begin(self) -> Register:
        """The generator, which the function has from here on."""
        fn, e = self.fn, self.e
        assert fn.draws is not None
        kept = e.define(f"load ptr, ptr {fn.draws.slot}", "ptr", 1)
        ask, after = e.label("ask"), e.label("drawing")
        e.raw(f"br i1 {e.icmp('eq', kept, Register('null', 'ptr', 1))}, label %{ask}, label %{after}, !prof !20")
        e.start(ask)
        got = call_routine(fn, BEGIN, number(int(fn.draws.draws_normals)))
        e.raw(f"store ptr {got}, ptr {fn.draws.slot}")
        e.branch(after)
        e.start(after)
        return e.define(f"load ptr, ptr {fn.draws.slot}", "ptr", 1)

    def next(self, generator: Register, name: str, kind: str) -> Register:
        """The next number of a kind."""
        if name != "uint64":
            symbol = generator_function(self.fn.parts.functions, name)
            return self.e.define(f"call {kind} @{symbol}(ptr {generator})", kind, 1)
        function = memory.load_word(self.e, generator, GENERATOR.word(name), "ptr")
        state = memory.load_word(self.e, generator, GENERATOR.word("state"), "ptr")
        return self.e.define(f"call {kind} {function}(ptr {state})", kind, 1)

    def double(self, generator: Register) -> Operand:
        """A number in [0, 1)."""
        return Operand(self.next(generator, "double", "double"), dtypes.float64)

    def constant(self, value: float) -> Operand:
        """A literal."""
        return self.s.const(value, dtypes.float64)

    def operand(self, index: int) -> Operand:
        """A float that the node is given."""
        return Operand(self.fn.values.scalar(self.node.operand(index)).register, dtypes.float64)

    def refuse_negative(self, scale: Operand) -> None:
        """Leave the function where a scale is below zero, or its negative: Python raises."""
        wrong = self.s.logical_and(self.s.signbit(scale), self.s.logical_not(self.s.isnan(scale)))
        self.fn.exits.fail_if(wrong.register, self.node)

    def until(self, draw: Callable[[], Register]) -> None:
        """Draw again until the condition that `draw` gives holds."""
        e = self.e
        again, done = e.label("again"), e.label("drawn")
        e.branch(again)
        e.start(again)
        e.branch_if(draw(), done, again)
        e.start(done)


def _double(d: Draw) -> Operand:
    return d.double(d.begin())


def _uniform(d: Draw, low: Operand, high: Operand) -> Operand:
    span = d.s.sub(high, low)
    d.fn.exits.fail_if(d.s.logical_not(d.s.isfinite(span)).register, d.node)
    return d.s.add(low, d.s.mul(span, _double(d)))


def _exponential(d: Draw, scale: Operand) -> Operand:
    d.refuse_negative(scale)
    return d.s.mul(scale, _standard_exponential(d))


def _standard_exponential(d: Draw) -> Operand:
    return d.s.neg(d.s.log(d.s.sub(d.constant(1.0), _double(d))))


def _normal(d: Draw, loc: Operand, scale: Operand) -> Operand:
    d.refuse_negative(scale)
    return d.s.add(loc, d.s.mul(scale, standard_normal(d)))


def standard_normal(d: Draw) -> Operand:
    """The number that was kept, or one of two new ones, of which the other is kept."""
    e, s, generator = d.e, d.s, d.begin()
    slots = [e.slot("double", 8) for _ in range(3)]
    kept, fresh, after = e.label("kept"), e.label("fresh"), e.label("after")
    word, has_word = GENERATOR.word("gauss"), GENERATOR.word("has_gauss")
    has = memory.load_word(e, generator, has_word, "i64")
    e.branch_if(e.icmp("ne", has, number(0)), kept, fresh)
    e.start(kept)
    e.raw(f"store double {memory.load_word(e, generator, word, 'double')}, ptr {slots[0]}")
    memory.store_word(e, generator, has_word, number(0))
    e.branch(after)
    e.start(fresh)

    def within() -> Register:
        parts = []
        for slot in slots[:2]:
            part = s.sub(s.mul(d.constant(2.0), d.double(generator)), d.constant(1.0))
            e.raw(f"store double {part.register}, ptr {slot}")
            parts.append(part)
        square = s.add(s.mul(parts[0], parts[0]), s.mul(parts[1], parts[1]))
        e.raw(f"store double {square.register}, ptr {slots[2]}")
        return s.logical_and(s.lt(square, d.constant(1.0)), s.ne(square, d.constant(0.0))).register

    d.until(within)
    x, y, square = (Operand(e.define(f"load double, ptr {slot}", "double", 1), dtypes.float64) for slot in slots)
    factor = s.sqrt(s.div(s.mul(d.constant(-2.0), s.log(square)), square))
    memory.store_word(e, generator, word, s.mul(factor, x).register)
    memory.store_word(e, generator, has_word, number(1))
    e.raw(f"store double {s.mul(factor, y).register}, ptr {slots[0]}")
    e.branch(after)
    e.start(after)
    return Operand(e.define(f"load double, ptr {slots[0]}", "double", 1), dtypes.float64)


FLOATS: Final[dict[str, Callable[..., Operand]]] = {
    "random_sample": _double, "uniform": _uniform, "normal": _normal, "exponential": _exponential,
    "standard_normal": standard_normal, "standard_exponential": _standard_exponential,
}  # fmt: skip
"""What draws a float of each distribution that has a native form, of its parameters."""


def _one(distribution: str) -> Lowering:
    """What lowers the operator that draws one float."""

    def lowering(fn: EmittedFunction, node: Node) -> None:
        d = Draw(fn, node)
        value = FLOATS[distribution](d, *(d.operand(k) for k in range(len(node.operands))))
        fn.values.set(node.result(), Scalar(Float(), value.register))

    return lowering


lowers("python::np_random_double")(_one("random_sample"))
lowers("python::np_random_uniform")(_one("uniform"))
lowers("python::np_random_exponential")(_one("exponential"))
lowers("python::np_random_normal")(_one("normal"))


@lowers("python::np_random_seed")
def _seed(fn: EmittedFunction, node: Node) -> None:
    """Begin the twister anew; Python does so with another generator, and says which seeds there are."""
    d, e = Draw(fn, node), fn.e
    seed, generator = fn.values.scalar(node.operand(0)).register, d.begin()
    words = memory.load_word(e, generator, GENERATOR.word("words"), "ptr")
    here, there, after = e.label("here"), e.label("there"), e.label("seeded")
    is_twister = e.icmp("ne", words, Register("null", "ptr", 1))
    e.branch_if(e.binary("and", is_twister, e.icmp("ule", seed, number(WHOLE_32))), here, there)
    e.start(here)
    e.raw(f"call void @{generator_function(fn.parts.functions, 'seed')}(ptr {generator}, i64 {seed})")
    e.branch(after)
    e.start(there)
    call_python(fn, node, (), is_rare=True)
    e.branch(after)
    e.start(after)


@lowers("python::np_random_integer")
def _integer(fn: EmittedFunction, node: Node) -> None:
    """An int from `low` up to, not including, `high`."""
    d = Draw(fn, node)
    low, high = (fn.values.scalar(v).register for v in node.operands)
    fn.exits.fail_if(fn.e.icmp("sge", low, high), node)
    fn.values.set(node.result(), Scalar(Int(), integer(d, low, high)))


@lowers("python::np_random_place")
def _place(fn: EmittedFunction, node: Node) -> None:
    """An int below another, where nothing says that some are more likely."""
    d = Draw(fn, node)
    if literal_of(fn.values.get(node.operand(1))) is not None:
        raise CannotCompileError("a choice by probabilities")
    count = fn.values.scalar(node.operand(0)).register
    fn.exits.fail_if(fn.e.icmp("sle", count, number(0)), node)
    fn.values.set(node.result(), Scalar(Int(), integer(d, number(0), count)))


def integer(d: Draw, low: Register, high: Register) -> Register:
    """An int of a range that is not empty: bits that a mask leaves, drawn until they are in it."""
    e = d.e
    most = e.binary("sub", e.binary("sub", high, number(1)), low)
    slot = e.slot("i64", 8)
    e.raw(f"store i64 0, ptr {slot}")
    some, wide, narrow, after = e.label("some"), e.label("wide"), e.label("narrow"), e.label("after")
    e.branch_if(e.icmp("eq", most, number(0)), after, some)
    e.start(some)
    generator = d.begin()
    mask = most
    for count in (1, 2, 4, 8, 16, 32):
        mask = e.binary("or", mask, e.binary("lshr", mask, number(count)))
    e.branch_if(e.icmp("ugt", most, number(WHOLE_32)), wide, narrow)
    for label, name, kind in ((wide, "uint64", "i64"), (narrow, "uint32", "i32")):
        e.start(label)

        def fits(name: str = name, kind: str = kind) -> Register:
            drawn = d.next(generator, name, kind)
            drawn = drawn if kind == "i64" else e.convert("zext", drawn, "i64")
            drawn = e.binary("and", drawn, mask)
            e.raw(f"store i64 {drawn}, ptr {slot}")
            return e.icmp("ule", drawn, most)

        d.until(fits)
        e.branch(after)
    e.start(after)
    return e.binary("add", low, e.define(f"load i64, ptr {slot}", "i64", 1))
