"""Random expressions of a wanted type over the names in scope.

Where Python and the language differ on purpose (ints that wrap, `1 / 0`, `and` of ints), expressions keep clear of the
difference. Tensors come in kinds: exact ones (small whole numbers in floats, where every order of operations gives the
same bits) and whole ones (int64) may be compared and branched on; smooth ones (exp, tanh, softmax) only flow into
results, where they are compared within a tolerance; masks are bools.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

START = (
    ("x", "exact", (2, 3)), ("y", "exact", (3,)), ("z", "smooth", (2, 3)),
    ("n", "int", ()), ("s", "float", ()), ("flag", "bool", ()), ("ints", "ints", ()),
)  # fmt: skip
TENSORS = ("exact", "smooth", "whole", "mask")
SMOOTH = ("tanh", "sigmoid", "sin", "cos", "relu", "neg", "abs", "erf")
EXACT = ("relu", "neg", "abs", "floor", "sign")
WORDS = ("", "a", "bc", "Flambé", "x y", "aXbXc")
Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in scope: its kind and, for tensors, its sizes."""

    name: str
    kind: str
    """exact, smooth, whole, mask; spread (exact, expanded: never written); int, float, bool, str; ints, rows (lists of
    lists), tensors (exact ones of sizes (3,)), dict (of str to int), maybe (int or None)."""
    sizes: Sizes = ()


class Expressions:
    """Expressions as text, drawn with one source of randomness."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.scope: list[Variable] = [Variable(*v) for v in START]
        self.counter = 0

    def fresh(self, kind: str, sizes: Sizes = ()) -> Variable:
        """A name not used before."""
        self.counter += 1
        return Variable(f"{kind[0]}{self.counter}", kind, sizes)

    def some(self, kind: str, sizes: Sizes | None = None) -> Variable | None:
        """A variable of a kind, if there is one."""
        fitting = [v for v in self.scope if v.kind == kind and (sizes is None or v.sizes == sizes)]
        return self.draw.choice(fitting) if fitting else None

    def _named(self, kind: str, default: str) -> str:
        found = self.some(kind)
        return found.name if found else default

    def expression(self, kind: str, sizes: Sizes = ()) -> str:
        """An expression of a kind."""
        match kind:
            case "int":
                return self.int_expression()
            case "float":
                return self.float_expression()
            case "bool":
                return self.bool_expression()
            case "str":
                return self.str_expression()
        return self.tensor_expression(kind, sizes)

    # -- scalars ------------------------------------------------------------------------------------------------------

    def int_expression(self, depth: int = 2) -> str:
        """Always a small int."""
        pick = self.draw.randrange(13 if depth else 2)
        if pick == 0:
            return str(self.draw.randint(-9, 9))
        if pick == 1:
            return self._named("int", "n")
        if pick >= 7:
            return self._int_of_something(pick, depth)
        a, b = self.int_expression(depth - 1), self.int_expression(depth - 1)
        if pick in (2, 3):
            return f"({a} {self.draw.choice('+-*')} {b}) % 97"
        if pick == 4:
            return f"({a} {self.draw.choice(['//', '%', '&', '|', '^'])} {self.draw.choice([-5, -3, 2, 3, 7])})"
        if pick == 5:
            return self.draw.choice([f"max({a}, {b})", f"min({a}, {b})", f"abs({a})", f"(-{a})", f"({a} << 2) % 97"])
        return f"({a} if {self.bool_expression(depth - 1)} else {b})"

    def _int_of_something(self, pick: int, depth: int) -> str:
        ints = self._named("ints", "ints")
        if pick == 7:
            return self.draw.choice(
                [f"len({ints})", f"{ints}[-1]", f"{ints}.index({ints}[0])", f"{ints}.count({ints}[-1])"]
            )
        if pick == 8:
            return f"int({self._named('exact', 'x')}.sum()) % 13"
        if pick == 9:
            word = self.str_expression(0)
            return self.draw.choice([f"len({word})", f"{word}.find('X')", f"{word}.count('b')"])
        if pick == 10:
            maybe = self._named("maybe", "None")
            return (
                f"pick({maybe}, {self.int_expression(0)})"
                if maybe == "None"
                else f"({maybe} if {maybe} is not None else -1)"
            )
        if pick == 11:
            return self._named("dict", "{'a': 3, 'b': n}") + self.draw.choice(["['a']", "['b']"])
        shown = self.draw.choice(["shape[0]", "dim()", "numel()", "size(-1)"])
        return f"{self.draw.choice('xz')}.{shown}"

    def float_expression(self, depth: int = 2) -> str:
        """A float that stays small."""
        pick = self.draw.randrange(7 if depth else 2)
        if pick == 0:
            return str(self.draw.choice([0.5, -1.25, 2.0, 0.0, -0.0, 3.75]))
        if pick == 1:
            return self._named("float", "s")
        a, b = self.float_expression(depth - 1), self.float_expression(depth - 1)
        if pick in (2, 3):
            return f"({a} {self.draw.choice('+-')} {b})"
        if pick == 4:
            return f"({a} * 0.5)"
        if pick == 5:
            return f"({a} / {self.draw.choice([2.0, -4.0, 8])})"
        return f"float({self.int_expression(depth - 1)})"

    def bool_expression(self, depth: int = 2) -> str:
        """A condition."""
        pick = self.draw.randrange(10 if depth else 2)
        if pick == 0:
            return self._named("bool", "flag")
        if pick == 1:
            return (
                f"({self.int_expression(0)} {self.draw.choice(['<', '<=', '==', '!=', '>'])} {self.int_expression(0)})"
            )
        if pick == 4:
            return f"({self.int_expression(0)} < {self.int_expression(0)} <= {self.int_expression(0)} != {self.int_expression(0)})"
        if pick == 5:
            return f"bool(({self._named('exact', 'x')} > {self.draw.randint(-3, 3)}).any())"
        if pick == 6:
            return f"({self.int_expression(1)} {self.draw.choice(['in', 'not in'])} {self._named('ints', 'ints')})"
        if pick == 7:
            a, b = self.str_expression(0), self.str_expression(0)
            return self.draw.choice(
                [f"({a} {self.draw.choice(['==', '!=', '<', '>='])} {b})", f"({a} in {b})", f"{b}.startswith({a})"]
            )
        if pick == 8:
            return f"bool({self._named('mask', '(x > 0)')}.{self.draw.choice(['any', 'all'])}())"
        if pick == 9:
            maybe = self.some("maybe")
            known = self._named("dict", "{'a': 1}")
            return f"({maybe.name} is {self.draw.choice(['', 'not '])}None)" if maybe else f"('a' in {known})"
        a, b = self.bool_expression(depth - 1), self.bool_expression(depth - 1)
        return f"({a} {self.draw.choice(['and', 'or'])} {b})" if pick == 2 else f"(not {a})"

    def str_expression(self, depth: int = 1) -> str:
        """A short string."""
        pick = self.draw.randrange(8 if depth else 2)
        if pick == 0:
            return repr(self.draw.choice(WORDS))
        if pick == 1:
            return self._named("str", "'start'")
        a = self.str_expression(depth - 1)
        if pick == 2:
            return f"({a} + {self.str_expression(depth - 1)})[:20]"
        if pick == 3:
            return f"str({self.int_expression(1)})"
        if pick == 4:
            return f"{a}." + self.draw.choice(["upper()", "lower()", "strip()", "replace('a', 'bb')[:20]", "title()"])
        if pick == 5:
            return f"{a}[{self.draw.choice(['1:', ':-1', '::2', '-3:', '::-1'])}]"
        if pick == 6:
            return f"'-'.join([{a}, {self.str_expression(0)}])[:20]"
        return f"f'{{{self.int_expression(0)}}}:{{{self._named('bool', 'flag')}}}'"

    # -- tensors ------------------------------------------------------------------------------------------------------

    def tensor_expression(self, kind: str, sizes: Sizes, depth: int = 2) -> str:
        """An expression of this kind and these sizes."""
        if kind == "mask":
            return self.mask(sizes, depth)
        leaf = self.some(kind, sizes)
        pick = self.draw.randrange(12) if depth else 0
        if pick <= 1 or leaf is None:
            return leaf.name if leaf else self.constant(kind, sizes)
        a = self.tensor_expression(kind, sizes, depth - 1)
        if pick <= 3:
            b = self.tensor_expression(kind, self.narrower(sizes), depth - 1)
            return self.bounded(kind, f"({a} {self.draw.choice('+-*')} {b})")
        if pick == 5:
            number = self.int_expression(0) if kind != "smooth" else self.float_expression(0)
            text = f"({a} {self.draw.choice('+-*')} {number})" if self.draw.random() < 0.7 else f"({number} - {a})"
            return self.bounded(kind, text)
        if pick == 6:
            return f"flambeau.where({self.mask(sizes)}, {a}, {self.tensor_expression(kind, sizes, depth - 1)})"
        if pick == 7:
            return f"flambeau.{self.draw.choice(['minimum', 'maximum'])}({a}, {self.tensor_expression(kind, sizes, depth - 1)})"
        if pick == 8 and sizes == (2, 3):
            return self.reduced(kind, depth)
        if pick == 9:
            return self.rearranged(kind, sizes, depth)
        if pick == 10:
            return f"({a} if {self.bool_expression(1)} else {self.tensor_expression(kind, sizes, depth - 1)})"
        return self.unary(kind, sizes, a)

    def unary(self, kind: str, sizes: Sizes, a: str) -> str:
        """A function of one tensor."""
        if kind == "whole":
            return self.draw.choice([
                f"({a} // {self.draw.choice([2, -3])})", f"({a} % {self.draw.choice([5, -3])})", f"{a}.abs()", f"(-{a})",
                f"({a} & {self.draw.randint(0, 9)})", f"({a} ^ 3)", f"flambeau.clamp({a}, -3, {self.draw.randint(0, 5)})",
                f"{a}.clone()",
            ])  # fmt: skip
        if kind == "exact":
            spread = self.some("spread", sizes)
            return self.draw.choice([
                f"{a}.{self.draw.choice(EXACT)}()", f"flambeau.clamp({a}, -3, {self.draw.randint(0, 5)})", f"{a}.clone()",
                f"{a}.masked_fill({self.mask(sizes, 0)}, {self.draw.randint(-3, 3)})",
                self.bounded(kind, f"({a} + {spread.name})") if spread else f"({a} / 1)", f"({self.mask(sizes, 0)} * {a})",
            ])  # fmt: skip
        choices = [f"{a}.{self.draw.choice(SMOOTH)}()", f"flambeau.exp(-({a} * {a}))", f"({a} / ({a} * {a} + 1.5))"]
        if sizes:
            choices.append(f"flambeau.softmax({a}, -1)")
        return self.draw.choice(choices)

    def reduced(self, kind: str, depth: int) -> str:
        """Something plus a reduction along an axis."""
        a = self.tensor_expression(kind, (2, 3), depth - 1)
        name = self.draw.choice(["sum", "amax", "amin"] + (["mean"] if kind == "smooth" else []))
        axis = self.draw.choice([0, 1, -1])
        kept = (
            f"{a}.{name}({axis}, keepdim=True)"
            if axis == 0 or self.draw.random() < 0.5
            else f"{a}.{name}({axis}).unsqueeze(-1)"
        )
        return self.bounded(kind, f"({self.tensor_expression(kind, (2, 3), depth - 1)} + {kept})")

    def rearranged(self, kind: str, sizes: Sizes, depth: int) -> str:
        """The same sizes by way of others."""
        if sizes == ():
            wide = self.tensor_expression(kind, (2, 3), depth - 1)
            return self.bounded(kind, self.draw.choice([f"{wide}.sum()", f"{wide}.amax()", f"{wide}[1, 2].clone()"]))
        if sizes == (3,):
            wide = self.tensor_expression(kind, (2, 3), depth - 1)
            return self.bounded(kind, self.draw.choice([f"{wide}.sum(0)", f"{wide}[1].clone()", f"{wide}.amin(0)"]))
        if sizes == (2, 3):
            row, other = (self.tensor_expression(kind, (3,), depth - 1) for _ in range(2))
            return self.draw.choice([
                f"flambeau.stack([{row}, {other}])", f"flambeau.cat([{row}.unsqueeze(0), {other}.unsqueeze(0)])",
                f"{row}.expand(2, 3).clone()", f"flambeau.cat([{row}, {other}]).view(2, 3)",
            ])  # fmt: skip
        return f"{self.tensor_expression(kind, sizes, depth - 1)}.clone()"

    def bounded(self, kind: str, text: str) -> str:
        """Exact numbers stay small."""
        return text if kind == "smooth" else f"flambeau.clamp({text}, -64, 64)"

    def narrower(self, sizes: Sizes) -> Sizes:
        """Sizes that broadcast to these."""
        return self.draw.choice([sizes, sizes[1:] or sizes, ()])

    def mask(self, sizes: Sizes, depth: int = 1) -> str:
        """A tensor of bools."""
        leaf = self.some("mask", sizes)
        if leaf is not None and self.draw.random() < 0.4:
            return (
                leaf.name
                if depth == 0 or self.draw.random() < 0.5
                else f"({leaf.name} {self.draw.choice('&|^')} {self.mask(sizes, 0)})"
            )
        kind = self.draw.choice(["exact", "exact", "whole"])
        a = self.tensor_expression(kind, sizes, depth)
        text = f"({a} {self.draw.choice(['>', '<=', '==', '!='])} {self.tensor_expression(kind, sizes, 0)})"
        return f"(~{text})" if self.draw.random() < 0.2 else text

    def constant(self, kind: str, sizes: Sizes) -> str:
        """A new tensor."""
        if kind == "whole":
            return f"flambeau.full({list(sizes)}, {self.draw.randint(-3, 3)}, dtype=flambeau.int64)"
        value = self.draw.randint(-3, 3) if kind == "exact" else self.draw.choice([0.25, -0.5, 1.5])
        return f"flambeau.full({list(sizes)}, {float(value)}, dtype=x.dtype)"
