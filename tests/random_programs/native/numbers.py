"""Expressions that are numbers. `risky` ones may raise, and stand only where their value is sure to be used.

Small programs mean the same in plain CPython: products are reduced, divisors are constants, floats have no special
values. Programs at the edges overflow, divide by zero and shift too far.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.random_programs.native.elements import element, list_index, small_int
from tests.random_programs.native.scope import Scope

INT_EDGES = (
    "9223372036854775807", "(-9223372036854775807 - 1)", "-9223372036854775807", "4611686018427387904", "2147483648",
    "-2147483649", "4294967296", "-1", "0", "63", "64", "255", "65536",
)  # fmt: skip
FLOAT_EDGES = (
    "float('nan')", "float('inf')", "-float('inf')", "0.0", "-0.0", "1e308", "5e-324", "-1.5", "9007199254740993.0",
    "9.3e18", "-9.3e18", "0.1", "math.pi",
)  # fmt: skip
SMOOTH = (
    "exp",
    "log",
    "sin",
    "cos",
    "tanh",
    "atan",
    "log1p",
    "expm1",
    "sinh",
    "erf",
    "log10",
    "asin",
    "acos",
    "tan",
    "cosh",
)
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")


def int_expression(scope: Scope, depth: int = 2, *, risky: bool = False) -> str:
    """An int."""
    draw = scope.draw
    if depth <= 0 or scope.chance(0.2):
        return _int_leaf(scope)

    def part() -> str:
        return int_expression(scope, depth - 1, risky=risky)

    makers: list[Callable[[], str | None]] = [
        lambda: f"({part()} {draw.choice('+-')} {part()})",
        lambda: _product(scope, part(), part()),
        lambda: f"({part()} {draw.choice(['//', '%'])} {_divisor(scope, part, risky)})",
        lambda: f"({part()} {draw.choice('&|^')} {part()})",
        lambda: _shifted(scope, part),
        lambda: f"(-{part()})",
        lambda: draw.choice([f"abs({part()})", f"min({part()}, {part()})", f"max({part()}, {part()})"]),
        lambda: f"({part()} if {bool_expression(scope, depth - 1)} else {part()})",
        lambda: f"int({bool_expression(scope, depth - 1)})",
        lambda: _int_of_float(scope, depth, risky),
        lambda: _int_element(scope, risky),
        lambda: _int_element(scope, risky),
        lambda: _int_of_tensor(scope, risky),
        lambda: _int_of_list(scope, risky),
        lambda: f"math.gcd({part()}, {part()})",
        lambda: _int_call(scope, depth),
    ]
    return draw.choice(makers)() or _int_leaf(scope)


def _int_leaf(scope: Scope) -> str:
    draw = scope.draw
    if scope.edges and scope.chance(0.15):
        return draw.choice(INT_EDGES)
    found = [n.text for n in scope.all("int")]
    return draw.choice(found) if found and scope.chance(0.75) else str(draw.randint(-9, 9))


def _product(scope: Scope, a: str, b: str) -> str:
    return f"({a} * {b})" if scope.edges else f"({a} * {b} % {scope.draw.choice([97, 1009])})"


def _divisor(scope: Scope, part: Callable[[], str], risky: bool) -> str:
    return part() if risky and scope.chance(0.5) else str(scope.draw.choice([-7, -3, -2, -1, 1, 2, 3, 5, 8]))


def _shifted(scope: Scope, part: Callable[[], str]) -> str:
    sign = scope.draw.choice(["<<", ">>"])
    if scope.edges:
        return f"({part()} {sign} ({part()} % 70))"
    return f"(({part()} {sign} {scope.draw.randint(0, 5)}) % 997)"


def _int_of_float(scope: Scope, depth: int, risky: bool) -> str:
    inner = float_expression(scope, depth - 1, risky=risky)
    if scope.edges and not risky:
        return f"int(max(min({inner}, 9e18), -9e18))"
    if scope.edges:
        return scope.draw.choice([f"int({inner})", f"math.floor({inner})", f"math.ceil({inner})"])
    return scope.draw.choice([f"int({inner} % 50.0)", f"math.floor({inner} % 16.0)", f"math.ceil({inner} % 9.5)"])


def _int_element(scope: Scope, risky: bool) -> str | None:
    found = element(scope, risky=risky, families=("int", "bool", "float") if scope.edges and risky else ("int", "bool"))
    return f"int({found[0]})" if found else None


def _int_of_tensor(scope: Scope, risky: bool) -> str | None:
    t = scope.some("tensor")
    if t is None:
        return None
    choices = [f"{t.text}.numel()", f"{t.text}.dim()", f"int(({t.text} {scope.draw.choice(COMPARISONS)} 1).sum())"]
    choices += [f"{t.text}.shape[{k}]" for k in range(len(t.axes))] + [f"len({t.text})"] * bool(t.axes)
    if t.family != "float":
        choices += [f"int({t.text}.sum())"]
    if risky:
        choices += [f"int({t.text}.argmax())"] if t.family != "bool" else []
        choices += [f"int({t.text}.amax())"] if t.family == "int" else []
    return scope.draw.choice(choices)


def _int_of_list(scope: Scope, risky: bool) -> str | None:
    found = scope.some(scope.draw.choice(["ints", "ints", "rows", "bools", "floats", "tensors", "pair"]))
    if found is None:
        return None
    name = found.text
    if found.kind == "pair":
        return f"{name}[0]"
    choices = [f"len({name})"]
    if found.kind == "ints":
        choices += [f"sum({name})", f"{name}.count({small_int(scope)})"]
        if risky:
            choices += [f"{name}[{list_index(scope, name)}]"] * 3
            choices += [f"max({name})", f"min({name})", f"{name}.index({small_int(scope)})"]
    if found.kind == "rows" and risky:
        row = f"{name}[{list_index(scope, name)}]"
        choices += [f"{row}[{list_index(scope, row)}]", f"len({row})"]
    return scope.draw.choice(choices)


def _int_call(scope: Scope, depth: int) -> str:
    a = int_expression(scope, depth - 1)
    if scope.edges or scope.chance(0.5):
        return f"between({a}, {int_expression(scope, 0)}, {int_expression(scope, 0)})"
    return f"digits({a}, {scope.draw.randint(2, 9)})"


def float_expression(scope: Scope, depth: int = 2, *, risky: bool = False) -> str:
    """A float that every path computes to the last bit."""
    draw = scope.draw
    if depth <= 0 or scope.chance(0.2):
        return _float_leaf(scope)

    def part() -> str:
        return float_expression(scope, depth - 1, risky=risky)

    def whole() -> str:
        return int_expression(scope, depth - 1, risky=risky)

    makers: list[Callable[[], str | None]] = [
        lambda: f"({part()} {draw.choice('+-')} {draw.choice([part, part, whole])()})",
        lambda: f"({part()} * {part()})" if scope.edges else f"({part()} * {part()} % 16.0)",
        lambda: (
            f"({part()} / {draw.choice([part, whole])()})"
            if scope.edges
            else f"({part()} / {draw.choice([2.0, -4.0, 3, 7.5])})"
        ),
        lambda: f"(-{part()})",
        lambda: f"abs({part()})",
        lambda: f"({part()} if {bool_expression(scope, depth - 1)} else {part()})",
        lambda: f"float({whole()})",
        lambda: f"math.sqrt(abs({part()}))",
        lambda: _float_element(scope, risky),
        lambda: _float_element(scope, risky),
        lambda: _float_element(scope, risky),
        lambda: _float_of_tensor(scope, risky),
        lambda: _float_of_list(scope, risky),
        lambda: f"weigh({part()}, {int_expression(scope, depth - 1)})",
        lambda: _float_at_edges(scope, part, whole) if scope.edges else f"math.copysign({part()}, {part()})",
    ]
    return draw.choice(makers)() or _float_leaf(scope)


def _float_leaf(scope: Scope) -> str:
    draw = scope.draw
    if scope.edges and scope.chance(0.15):
        return draw.choice(FLOAT_EDGES)
    found = [n.text for n in scope.all("float")]
    return draw.choice(found) if found and scope.chance(0.75) else str(draw.choice([0.5, -1.25, 2.0, 3.75, 10.0]))


def _float_at_edges(scope: Scope, part: Callable[[], str], whole: Callable[[], str]) -> str:
    a, b = part(), scope.draw.choice([part, whole])()
    return scope.draw.choice([
        f"({a} // {b})", f"({a} % {b})", f"min({a}, {b})", f"max({a}, {b})", _with_sign_of(scope, a), f"({whole()} / {whole()})",
        f"float(round({a}))", f"math.fabs({a})", f"math.fmod({a}, {part()})", f"(({a}) ** 2)",
    ])  # fmt: skip


def _with_sign_of(scope: Scope, a: str) -> str:
    """A float with another's sign; the sign of a nan is nobody's promise."""
    b = _float_leaf(scope)
    return f"(math.copysign({a}, {b}) if {b} == {b} else 0.25)"


def _float_element(scope: Scope, risky: bool) -> str | None:
    found = element(scope, risky=risky, families=("float", "float", "int", "bool"))
    return f"float({found[0]})" if found else None


def _float_of_tensor(scope: Scope, risky: bool) -> str | None:
    t = scope.some_tensor(family="float")
    if t is None:
        return None
    choices = [f"float({t.text}.clamp(-64, 64).round().sum())"]
    if risky:
        choices += [f"float({t.text}.{scope.draw.choice(['amax', 'amin'])}())"]
        choices += [f"float({t.text})"]
    return scope.draw.choice(choices)


def _float_of_list(scope: Scope, risky: bool) -> str | None:
    found = scope.some(scope.draw.choice(["floats", "floats", "pair"]))
    if found is None:
        return None
    if found.kind == "pair":
        return f"{found.text}[1]"
    return f"{found.text}[{list_index(scope, found.text)}]" if risky else None


def smooth_expression(scope: Scope, *, bounded: bool) -> str:
    """A float that paths compute with functions of their own: alike within a tolerance, so never compared."""
    draw = scope.draw
    inner = float_expression(scope, 1)
    if bounded:
        return f"math.{draw.choice(['sin', 'cos', 'tanh', 'atan', 'erf'])}({inner if not scope.edges else f'({inner}) % 100.0'})"
    if not scope.edges:
        return f"math.{draw.choice(['exp', 'sin', 'cos', 'tanh', 'atan', 'expm1', 'erf'])}({inner} % 8.0)"
    if scope.chance(0.3):
        return f"((1.0 + abs({inner})) ** {draw.choice(['0.5', '-2', '3', inner, int_expression(scope, 0)])})"
    name = draw.choice(SMOOTH)
    return f"math.{name}({f'({inner}) % 100.0' if name in ('sin', 'cos', 'tan') else inner})"


def bool_expression(scope: Scope, depth: int = 2, *, risky: bool = False) -> str:
    """A condition."""
    draw = scope.draw
    if depth <= 0 or scope.chance(0.15):
        found = scope.some("bool")
        if found is not None and scope.chance(0.5):
            return found.text
        return f"({int_expression(scope, 0)} {draw.choice(COMPARISONS)} {int_expression(scope, 0)})"
    sign = draw.choice(COMPARISONS)

    def part() -> str:  # never risky: what `or True` follows is left out, and its error with it
        return bool_expression(scope, depth - 1)

    makers: list[Callable[[], str | None]] = [
        lambda: (
            f"({int_expression(scope, depth - 1, risky=risky)} {sign} {int_expression(scope, depth - 1, risky=risky)})"
        ),
        lambda: (
            f"({float_expression(scope, depth - 1, risky=risky)} {sign} {float_expression(scope, depth - 1, risky=risky)})"
        ),
        lambda: f"({part()} and {part()})",
        lambda: f"({part()} or {part()})",
        lambda: f"(not {part()})",
        lambda: (
            f"({int_expression(scope, 0)} {sign} {int_expression(scope, 0)} {draw.choice(COMPARISONS)} {int_expression(scope, 1)})"
        ),
        lambda: f"({float_expression(scope, 0)} {sign} {int_expression(scope, 0)})",
        lambda: f"({part()} {draw.choice(['==', '!='])} {part()})",
        lambda: _bool_of_elements(scope, risky),
        lambda: _bool_of_elements(scope, risky),
        lambda: _bool_of_tensor(scope),
        lambda: _bool_of_list(scope, risky),
        lambda: f"math.{draw.choice(['isnan', 'isinf', 'isfinite'])}({float_expression(scope, depth - 1)})",
    ]
    return draw.choice(makers)() or f"({int_expression(scope, 0)} {sign} {int_expression(scope, 0)})"


def _bool_of_elements(scope: Scope, risky: bool) -> str | None:
    first = element(scope, risky=risky, families=("float", "int"))
    second = element(scope, risky=risky, families=("float", "int"))
    if first is None or second is None:
        return None
    sign = scope.draw.choice(COMPARISONS)
    other = scope.draw.choice([second[0], second[0], str(scope.draw.randint(-2, 2)), _float_leaf(scope)])
    return f"bool({first[0]} {sign} {other})"


def _bool_of_tensor(scope: Scope) -> str | None:
    t = scope.some("tensor")
    if t is None:
        return None
    compared = f"({t.text} {scope.draw.choice(COMPARISONS)} {scope.draw.randint(-2, 2)})"
    return f"bool({compared if t.family != 'bool' else t.text}.{scope.draw.choice(['any', 'all'])}())"


def _bool_of_list(scope: Scope, risky: bool) -> str | None:
    found = scope.some(scope.draw.choice(["ints", "bools"]))
    if found is None:
        return None
    name, i = found.text, small_int(scope)
    if found.kind == "bools":
        return f"{name}[{list_index(scope, name)}]" if risky else f"(len({name}) > 0 and {name}[0])"
    return scope.draw.choice([
        f"({i} in {name})", f"(0 <= {i} and {i} < len({name}) and {name}[{i}] > {small_int(scope)})",
        f"(len({name}) == 0 or {name}[-1] < {small_int(scope)})", f"({name} == [1, 2])",
    ])  # fmt: skip
