"""Functions of native code that draw from the Mersenne twister and begin it anew: added to a module that calls them.

They read the words that NumPy's generator keeps, where these lie as expected, and make the next round of them, in loops
that become vectors; the numbers of other generators are NumPy's to make.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL, Operand
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.numpy_generator import GENERATOR, PLACE, WORDS

_TYPES: Final = {"uint32": "i32 (ptr)", "double": "double (ptr)", "seed": "void (ptr, i64)", "twist": "void (ptr)"}
_CALLEES: Final = {"double": ("uint32",), "uint32": ("twist",)}
_TEMPERS: Final = ((11, None), (-7, 0x9D2C5680), (-15, 0xEFC60000), (18, None))
"""How a word becomes a number: shifted to the right, or to the left if below 0, masked, and added without carry."""
_FACTOR: Final = 1812433253
_AHEAD: Final = 397
"""How far ahead the other word lies that a new one is made of."""
_UPPER: Final = -1 << 31
"""The bit of a word that goes into the new one; the others are those of its neighbour."""
_MATRIX: Final = 0x9908B0DF
"""What is added without carry where the neighbour is odd."""


def generator_function(functions: dict[str, str], name: str) -> str:
    """The symbol of a function; its text, and that of what it calls, goes to ``functions``."""
    symbol = f"draw_{name}"
    if symbol not in functions:
        callees = _CALLEES.get(name, ())
        for callee in callees:
            generator_function(functions, callee)
        m = ModuleBuilder({}, own={f"draw_{callee}": _TYPES[callee] for callee in callees})
        _BUILDERS[name](m)
        functions[symbol] = m.text()
    return symbol


def _uint32(m: ModuleBuilder) -> None:
    """``i32 draw_uint32(generator)``."""
    f = m.function("i32 draw_uint32", "ptr generator", attributes="alwaysinline")
    (generator,) = f.parameters
    words = f.get(generator, GENERATOR, "words", "ptr")
    f.require(f.compare("ne", words, NULL), "ask")
    address = f.at(words, PLACE, "i32")
    with f.when(f.compare("uge", f.load(address, "i32"), WORDS)):
        f.call("draw_twist", words)
    count = f.load(address, "i32")
    word = f.load(f.at(words, f.convert("zext", count, "i64"), "i32"), "i32")
    f.store(address, f.op("add", count, 1))
    for shift, mask in _TEMPERS:
        turned = f.op("lshr" if shift > 0 else "shl", word, abs(shift))
        word = f.op("xor", word, turned if mask is None else f.op("and", turned, _signed(mask)))
    f.ret(word)
    f.start("ask", falls_through=False)
    _ask(f, generator, "uint32", "i32")


def _twist(m: ModuleBuilder) -> None:
    """``void draw_twist(words)``: the next round of words, none of them drawn.

    Each is made of itself, its neighbour and the one that is `_AHEAD` further on, around the end.
    """
    f = m.function("void draw_twist", "ptr words", attributes="noinline cold")
    (words,) = f.parameters

    def renew(index: Operand, neighbour: Operand, other: Operand) -> None:
        word, following, far = (f.load(f.at(words, k, "i32"), "i32") for k in (index, neighbour, other))
        both = f.op("or", f.op("and", word, _UPPER), f.op("and", following, ~_UPPER))
        added = f.op("and", f.op("sub", f.typed(0, "i32"), f.op("and", following, 1)), _signed(_MATRIX))
        f.store(f.at(words, index, "i32"), f.op("xor", f.op("xor", far, f.op("lshr", both, 1)), added))

    behind = WORDS - _AHEAD
    with f.loop(behind) as k:
        renew(k, f.op("add", k, 1), f.op("add", k, _AHEAD))
    with f.loop(_AHEAD - 1) as k:
        renew(f.op("add", k, behind), f.op("add", k, behind + 1), k)
    renew(WORDS - 1, 0, _AHEAD - 1)
    f.store(f.at(words, PLACE, "i32"), f.typed(0, "i32"))
    f.ret()


def _ask(f: FunctionBuilder, generator: Value, name: str, kind: str) -> None:
    """Return the number that NumPy's own function gives."""
    function, state = (f.get(generator, GENERATOR, part, "ptr") for part in (name, "state"))
    f.ret(f.define(f"call {kind} {function}(ptr {state})", kind))


def _double(m: ModuleBuilder) -> None:
    """``double draw_double(generator)``: 53 bits of two words, the first one's 27 above."""
    f = m.function("double draw_double", "ptr generator", attributes="alwaysinline")
    (generator,) = f.parameters
    f.require(f.compare("ne", f.get(generator, GENERATOR, "words", "ptr"), NULL), "ask")
    high, low = (_shifted(f, f.call("draw_uint32", generator), by) for by in (5, 6))
    above = f.define(f"fmul double {high}, 67108864.0", "double")
    whole = f.define(f"fadd double {above}, {low}", "double")
    f.ret(f.define(f"fdiv double {whole}, 9007199254740992.0", "double"))
    f.start("ask", falls_through=False)
    _ask(f, generator, "double", "double")


def _shifted(f: FunctionBuilder, word: Value, by: int) -> Value:
    return f.convert("uitofp", f.op("lshr", word, by), "double")


def _seed(m: ModuleBuilder) -> None:
    """``void draw_seed(generator, seed)``: the words that follow from a seed of 32 bits, none of them drawn."""
    f = m.function("void draw_seed", "ptr generator", "i64 seed", attributes="noinline")
    generator, seed = f.parameters
    words = f.get(generator, GENERATOR, "words", "ptr")
    filling = f.loop(WORDS, f.convert("trunc", seed, "i32"))
    with filling as k:
        (word,) = filling.values
        f.store(f.at(words, k, "i32"), word)
        mixed = f.op("mul", f.op("xor", word, f.op("lshr", word, 30)), _FACTOR)
        filling.carry(f.op("add", mixed, f.op("add", f.convert("trunc", k, "i32"), 1)))
    f.store(f.at(words, PLACE, "i32"), f.typed(WORDS, "i32"))
    f.put(generator, GENERATOR, has_gauss=0, gauss=0)
    f.ret()


def _signed(mask: int) -> int:
    return mask - (1 << 32) if mask >= 1 << 31 else mask


_BUILDERS: Final = {"uint32": _uint32, "double": _double, "seed": _seed, "twist": _twist}
