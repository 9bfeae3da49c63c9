"""Functions of the C library that code for devices calls, written out: a device has no C library.

The code of a function falls back on the C library where an argument is beyond its own method's reach; here each such
function is defined for every argument, in float64. Those of float32 widen their arguments: the remainder of a division
is exact all the same, and the others have digits to spare.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flambeau.codegen.cuda.device_power import power
from flambeau.codegen.cuda.device_trig import TABLE, cos, sin, table_text, tan
from flambeau.codegen.kernel.dtypes import HALVES
from flambeau.codegen.llvm import vecmath_trig
from flambeau.codegen.llvm.emitter import Emitter, Target, Value, int_constant
from flambeau.codegen.llvm.lanes import PREFIX
from flambeau.codegen.lower.values import LoweringError
from flambeau.util.record import dataclass

IMPLICIT, FRACTION_BITS = 1 << 52, 52


@dataclass(frozen=True, slots=True)
class Library:
    """LLVM text of some functions."""

    declarations: tuple[str, ...]
    functions: tuple[str, ...]


def device_functions(names: tuple[str, ...]) -> Library:
    """Definitions of C functions by name. Raises ``LoweringError`` naming one that has none here."""
    declarations: dict[str, None] = {}
    functions = []
    for name in names:
        wide = name if name in FUNCTIONS else name.removesuffix("f")
        if wide not in FUNCTIONS:
            raise LoweringError(f"'{name}' has no device code")
        e = Emitter(Target(vector_bits=32, converted_halves=tuple(HALVES)))
        arity, body = FUNCTIONS[wide]
        element = "double" if name == wide else "float"
        args = [Value(f"%x{k}", element, 1) for k in range(arity)]
        result = body(e, *(a if name == wide else e.convert("fpext", a, "double") for a in args))
        result = result if name == wide else e.convert("fptrunc", result, "float")
        head = f"define internal {element} @{PREFIX}{name}({', '.join(f'{element} {a}' for a in args)}) {{"
        functions.append("\n".join([head, "entry:", *e.entry, *e.lines, f"  ret {element} {result}", "}"]))
        declarations.update(e.declarations)
    if any(TABLE in text for text in functions):
        declarations[table_text()] = None
    return Library(tuple(declarations), tuple(functions))


def _while(
    e: Emitter,
    start: list[Value],
    goes_on: Callable[[list[Value]], Value],
    iteration: Callable[[list[Value]], list[Value]],
) -> list[Value]:
    """A loop over some values while a condition on them holds; ``iteration`` emits no branches."""
    head, body, after, before = e.label("while"), e.label("iteration"), e.label("done"), e.block
    state = [Value(e.name("w"), v.type, 1) for v in start]
    e.branch(head)
    e.start(head)
    at = len(e.lines)
    e.branch_if(goes_on(state), body, after)
    e.start(body)
    following = iteration(state)
    e.branch(head)
    e.lines[at:at] = [
        f"  {v} = phi {v.type} [{s}, %{before}], [{n}, %{body}]"
        for v, s, n in zip(state, start, following, strict=True)
    ]
    e.start(after)
    return state


def _split(e: Emitter, bits: Value) -> tuple[Value, Value]:
    """(exponent, fraction with its leading bit at 52) of a positive double; subnormals are scaled up, 0 is left."""
    exponent = e.binary("lshr", bits, e.like(bits, FRACTION_BITS))
    fraction = e.binary("and", bits, e.like(bits, IMPLICIT - 1))
    shift = e.binary("sub", _leading_zeros(e, fraction), e.like(bits, 63 - FRACTION_BITS))
    shift = e.binary("and", shift, e.like(bits, 63))
    is_subnormal = e.icmp("eq", exponent, e.like(bits, 0))
    scaled = e.select(
        is_subnormal,
        e.binary("shl", fraction, shift),
        e.binary("or", fraction, e.like(bits, IMPLICIT)),
    )
    return e.select(is_subnormal, e.binary("sub", e.like(bits, 1), shift), exponent), scaled


def _leading_zeros(e: Emitter, a: Value) -> Value:
    e.declare("declare i64 @llvm.ctlz.i64(i64, i1)")
    return e.define(f"call i64 @llvm.ctlz.i64(i64 {a}, i1 false)", "i64", 1)


def fmod(e: Emitter, a: Value, b: Value) -> Value:
    """The exact remainder, with the sign of ``a``: long division, a bit of the quotient an iteration."""
    mask = int_constant((1 << 63) - 1, "i64", 1)
    bits_a, bits_b = (e.binary("and", e.as_bits(v), mask) for v in (a, b))
    (exponent, x), (floor, y) = _split(e, bits_a), _split(e, bits_b)
    zero, one = e.like(x, 0), e.like(x, 1)

    def reduced(v: Value) -> Value:
        rest = e.binary("sub", v, y)
        return e.select(e.icmp("sge", rest, zero), rest, v)

    exponent, x = _while(
        e,
        [exponent, x],
        lambda s: e.icmp("sgt", s[0], floor),
        lambda s: [e.binary("sub", s[0], one), e.binary("shl", reduced(s[1]), one)],
    )
    # Where |a| < |b| nothing was divided.
    x = e.select(e.icmp("slt", exponent, floor), x, reduced(x))
    shift = e.binary("sub", _leading_zeros(e, x), e.like(x, 63 - FRACTION_BITS))
    x = e.binary("shl", x, e.binary("and", shift, e.like(x, 63)))
    exponent = e.binary("sub", exponent, shift)
    normal = e.binary(
        "or", e.binary("sub", x, e.like(x, IMPLICIT)), e.binary("shl", exponent, e.like(x, FRACTION_BITS))
    )
    down = e.binary("and", e.binary("sub", one, exponent), e.like(x, 63))
    magnitude = e.select(e.icmp("sgt", exponent, zero), normal, e.binary("lshr", x, down))
    magnitude = e.select(e.icmp("eq", x, zero), zero, magnitude)
    result = e.intrinsic("copysign", e.as_float(magnitude), a)
    infinity = e.like(a, math.inf)
    result = e.select(e.fcmp("oeq", e.fabs(b), infinity), a, result)
    no_answer = e.binary("or", e.fcmp("ueq", e.fabs(a), infinity), e.fcmp("ueq", b, e.like(b, 0.0)))
    no_answer = e.binary("or", no_answer, e.fcmp("uno", b, b))
    return e.select(no_answer, e.like(a, math.nan), result)


def hypot(e: Emitter, a: Value, b: Value) -> Value:
    """The root of the sum of squares, scaled where they would overflow or vanish; infinite where one is."""
    a, b = e.fabs(a), e.fabs(b)
    first = e.fcmp("ogt", a, b)
    large, small = e.select(first, a, b), e.select(first, b, a)
    down = e.select(e.fcmp("ogt", large, e.like(a, 2.0**500)), e.like(a, 2.0**-600), e.like(a, 1.0))
    factor = e.select(e.fcmp("olt", large, e.like(a, 2.0**-400)), e.like(a, 2.0**600), down)
    x, y = e.fmul(large, factor), e.fmul(small, factor)
    square = e.fmul(x, x)
    lost = e.fma(x, x, e.fneg(square))
    total = e.fma(y, y, square)
    rest = e.fadd(e.fma(y, y, e.fsub(square, total)), lost)
    root = e.intrinsic("sqrt", total)
    # One step of Newton's takes back what the sum lost.
    error = e.fadd(e.fma(e.fneg(root), root, total), rest)
    better = e.fadd(root, e.fdiv(error, e.fadd(root, root)))
    plain = e.binary("or", e.fcmp("ueq", root, e.like(a, 0.0)), e.fcmp("ueq", root, e.like(a, math.inf)))
    result = e.fdiv(e.select(plain, root, better), factor)
    infinity = e.like(a, math.inf)
    is_infinite = e.binary("or", e.fcmp("oeq", a, infinity), e.fcmp("oeq", b, infinity))
    return e.select(is_infinite, infinity, result)


def atan2(e: Emitter, y: Value, x: Value) -> Value:
    """The angle of the point (x, y)."""
    a, b = e.fabs(y), e.fabs(x)
    steep = e.fcmp("ogt", a, b)
    large, small = e.select(steep, a, b), e.select(steep, b, a)
    # Zero by zero and infinity by infinity have angles too.
    zero, one, infinity = e.like(x, 0.0), e.like(x, 1.0), e.like(x, math.inf)
    ratio = e.fdiv(small, e.select(e.fcmp("oeq", large, zero), one, large))
    ratio = e.select(e.fcmp("oeq", small, infinity), one, ratio)
    angle = vecmath_trig.atan(e, ratio)
    low = e.like(x, vecmath_trig.PI_PARTS["double"][1])
    upright = e.fadd(e.fsub(e.like(x, math.pi / 2), angle), e.fmul(low, e.like(x, 0.5)))
    angle = e.select(steep, upright, angle)
    left = e.fadd(e.fsub(e.like(x, math.pi), e.fsub(angle, low)), zero)
    is_left = e.icmp("slt", e.as_bits(x), e.bits_like(x, 0))
    angle = e.intrinsic("copysign", e.select(is_left, left, angle), y)
    unordered = e.binary("or", e.fcmp("uno", x, x), e.fcmp("uno", y, y))
    return e.select(unordered, e.like(x, math.nan), angle)


FUNCTIONS: dict[str, tuple[int, Callable[..., Value]]] = {
    "fmod": (2, fmod),
    "hypot": (2, hypot),
    "atan2": (2, atan2),
    "pow": (2, power),
    "sin": (1, sin),
    "cos": (1, cos),
    "tan": (1, tan),
}
"""C name of the float64 function -> number of arguments, code."""
