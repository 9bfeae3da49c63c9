"""Random programs on ints, floats and bools, written twice: as IR text, and as Python source with 64-bit arithmetic."""

from __future__ import annotations

import ctypes
import math
import random

INTS = (0, 1, -1, 2, -2, 3, 7, 63, 64, -64, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63), -(2**63) + 1)
FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 2.0**53, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan)


def wrapped(value: int) -> int:
    """As C keeps it in 64 bits."""
    return ctypes.c_int64(value).value


def divided(a: float, b: float) -> float:
    """As C divides."""
    if b:
        return a / b
    return math.nan if not a or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def times(a: float, b: float) -> float:
    return a * b


OPERATIONS = {
    # name: operand types, result type, Python
    "aten::add.int": ("int int", "int", "wrapped({} + {})"),
    "aten::sub.int": ("int int", "int", "wrapped({} - {})"),
    "aten::mul.int": ("int int", "int", "wrapped({} * {})"),
    "aten::neg.int": ("int", "int", "wrapped(-{})"),
    "aten::__and__.int": ("int int", "int", "({} & {})"),
    "aten::__xor__.int": ("int int", "int", "({} ^ {})"),
    "aten::__lshift__.int": ("int int", "int", "wrapped({} << {})"),
    "aten::__rshift__.int": ("int int", "int", "({} >> {})"),
    "aten::add.float": ("float float", "float", "({} + {})"),
    "aten::sub.float": ("float float", "float", "({} - {})"),
    "aten::mul.float": ("float float", "float", "({} * {})"),
    "aten::div.float": ("float float", "float", "divided({}, {})"),
    "aten::div.int": ("int int", "float", "divided(float({}), float({}))"),
    "aten::add.int_float": ("int float", "float", "(float({}) + {})"),
    "aten::neg.float": ("float", "float", "(-{})"),
    "aten::Float.int": ("int", "float", "float({})"),
    "aten::lt.int": ("int int", "bool", "({} < {})"),
    "aten::eq.int": ("int int", "bool", "({} == {})"),
    "aten::ge.float": ("float float", "bool", "({} >= {})"),
    "aten::lt.float_int": ("float int", "bool", "({} < float({}))"),
    "aten::__not__": ("bool", "bool", "(not {})"),
    "aten::__and__.bool": ("bool bool", "bool", "({} and {})"),
    "aten::Int.bool": ("bool", "int", "int({})"),
}


class Program:
    """A random program: `ir` is its graph's text, `python` the source of a function `f` that computes the same."""

    def __init__(self, seed: int, size: int = 12) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.ir_lines: list[str] = []
        self.python_lines: list[str] = []
        self.parameters = [("a", "int"), ("b", "int"), ("x", "float"), ("y", "float"), ("p", "bool")]
        known = list(self.parameters)
        for type_, values in (("int", INTS), ("float", FLOATS)):
            for value in self.random.sample(values, 2):
                known.append((self.constant(type_, value), type_))
        self.true = self.constant("bool", True)
        known.append((self.constant("int", self.random.choice((0, 1, 3))), "int"))
        self.statements(known, size, 2)
        results = self.random.sample(known, 6)
        shown = ", ".join(f"%{n} : {t}" for n, t in self.parameters)
        self.ir = (
            f"graph({shown}):\n" + "\n".join(self.ir_lines) + f"\n  return ({', '.join('%' + n for n, _ in results)})\n"
        )
        self.python = (
            f"def f({', '.join(n for n, _ in self.parameters)}):\n"
            + "\n".join(self.python_lines)
            + f"\n    return ({', '.join(n for n, _ in results)},)\n"
        )

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def constant(self, type_: str, value: object) -> str:
        name = self.name()
        text = {True: "1", False: "0"}[value] if isinstance(value, bool) else repr(value)
        self.ir_lines.append(f"  %{name} : {type_} = prim::Constant[value={text}]()")
        self.python_lines.append(f"    {name} = {f'float({text!r})' if type_ == 'float' else repr(value)}")
        return name

    def constant_here(self, depth: int, value: int) -> str:
        name = self.name()
        self.line(depth, f"%{name} : int = prim::Constant[value={value}]()")
        return name

    def pick(self, known: list[tuple[str, str]], type_: str) -> str:
        return self.random.choice([n for n, t in known if t == type_])

    def line(self, depth: int, ir: str, python: str | None = None) -> None:
        self.ir_lines.append("  " * (3 - depth) + ir)
        if python is not None:
            self.python_lines.append("    " * (3 - depth) + python)

    def statements(self, known: list[tuple[str, str]], size: int, depth: int) -> None:
        for _ in range(size):
            kind = self.random.random()
            if depth and kind < 0.15:
                self.branch(known, depth)
            elif depth and kind < 0.3:
                self.loop(known, depth)
            else:
                self.operation(known, depth)

    def operation(self, known: list[tuple[str, str]], depth: int) -> None:
        full, (operands, result, python) = self.random.choice(list(OPERATIONS.items()))
        chosen = [self.pick(known, t) for t in operands.split()]
        name = self.name()
        kind = full.partition(".")[0]
        if kind.endswith("shift__"):  # by fewer bits than there are: others are refused
            bits, count = self.constant_here(depth, 63), self.name()
            self.line(depth, f"%{count} : int = aten::__and__(%{chosen[1]}, %{bits})", f"{count} = {chosen[1]} & 63")
            chosen[1] = count
        self.line(
            depth + (2 - depth) * 0,
            f"%{name} : {result} = {kind}({', '.join('%' + c for c in chosen)})",
            f"{name} = {python.format(*chosen)}",
        )
        known.append((name, result))

    def branch(self, known: list[tuple[str, str]], depth: int) -> None:
        condition = self.pick(known, "bool")
        types = [self.random.choice(("int", "float")) for _ in range(self.random.randint(0, 3))]
        names = [self.name() for _ in types]
        head = ", ".join(f"%{n} : {t}" for n, t in zip(names, types, strict=True))
        self.line(depth, f"{head + ' = ' if head else ' = '}prim::If(%{condition})")
        for number, test in enumerate((f"if {condition}:", "else:")):
            self.ir_lines.append(f"block{number}():")
            self.python_lines.append("    " * (3 - depth) + test)
            inner = list(known)
            self.statements(inner, self.random.randint(0, 4), depth - 1)
            results = [self.pick(inner, t) for t in types]
            self.line(depth - 1, f"-> ({', '.join('%' + r for r in results)})")
            self.python_lines.append("    " * (4 - depth) + (_assignment(names, results) or "pass"))
        known += zip(names, types, strict=True)

    def loop(self, known: list[tuple[str, str]], depth: int) -> None:
        types = [self.random.choice(("int", "float", "bool")) for _ in range(self.random.randint(0, 4))]
        starts = [self.pick(known, t) for t in types]
        names, carried = [self.name() for _ in types], [self.name() for _ in types]
        index, rounds = self.name(), self.random.choice((0, 1, 3, 5))
        limit = self.name()
        self.line(depth, f"%{limit} : int = prim::Constant[value={rounds}]()")
        goes_on = self.random.random() < 0.3
        first = self.pick(known, "bool") if goes_on else self.true
        head = ", ".join(f"%{n} : {t}" for n, t in zip(names, types, strict=True))
        operands = ", ".join(f"%{n}" for n in (limit, first, *starts))
        self.line(depth, f"{head + ' = ' if head else ' = '}prim::Loop({operands})")
        parameters = ", ".join(f"%{n} : {t}" for n, t in ((index, "int"), *zip(carried, types, strict=True)))
        self.ir_lines.append(f"block0({parameters}):")
        inner = [*known, (index, "int"), *zip(carried, types, strict=True)]
        pad = "    " * (3 - depth)
        self.python_lines.append(pad + f"{_assignment([*carried, f'go{index}'], [*starts, first])}")
        self.python_lines.append(pad + f"for {index} in range({rounds}):")
        self.python_lines.append(pad + f"    if not go{index}: break")
        self.statements(inner, self.random.randint(0, 4), depth - 1)
        results = [self.pick(inner, t) for t in types]
        again = self.pick(inner, "bool") if goes_on else self.true
        self.line(depth - 1, f"-> ({', '.join('%' + r for r in (again, *results))})")
        self.python_lines.append(pad + f"    {_assignment([*carried, f'go{index}'], [*results, again])}")
        self.python_lines.append(pad + (_assignment(names, carried) or "pass"))
        known += zip(names, types, strict=True)

    def in_python(self):
        """The function itself."""
        scope = {"wrapped": wrapped, "divided": divided}
        exec(self.python, scope)
        return scope["f"]

    def inputs(self, seed: int) -> list[object]:
        """Hostile arguments."""
        chooser = random.Random(seed)
        return [
            chooser.choice(INTS), chooser.choice(INTS), chooser.choice(FLOATS), chooser.choice(FLOATS),
            chooser.random() < 0.5,
        ]  # fmt: skip


def _assignment(targets: list[str], values: list[str]) -> str:
    """A tuple assignment; empty without targets."""
    return f"{', '.join(targets)}, = {', '.join(values)}," if targets else ""
