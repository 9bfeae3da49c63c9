"""CPython with this language's numbers: ints of 64 bits that wrap, floats that never raise.

The arithmetic of a program's source is replaced by functions of this module; everything else is CPython's. They are
written apart from the operators they check, over NumPy's scalars and Python's unbounded ints.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau import Tensor

MODULUS = 1 << 64


def wrapped(value: int) -> int:
    """The 64-bit int congruent to a value."""
    value %= MODULUS
    return value - MODULUS if value >= MODULUS // 2 else value


def _is_number(*values: Any) -> bool:
    return all(isinstance(v, int | float) for v in values)


def _quiet(function: Callable[..., Any], *operands: Any) -> float:
    with np.errstate(all="ignore"):
        return float(function(*(np.float64(x) for x in operands)))


def _float_power(a: float, b: float) -> float:
    if a == 0 and b < 0:
        raise ZeroDivisionError("a negative power of zero")
    return _quiet(np.power, a, b)


def _float_remainder(a: float, b: float) -> float:
    left = _quiet(np.fmod, a, b)
    if left == 0:
        return math.copysign(0.0, b)
    return left + b if (left < 0) != (b < 0) else left


OF_INTS: dict[str, Callable[[int, int], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "FloorDiv": operator.floordiv, "Mod": operator.mod,
    "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
    "LShift": lambda a, b: a << b if b < 64 else 0, "RShift": operator.rshift,
}  # fmt: skip
OF_FLOATS: dict[str, Callable[[float, float], float]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": lambda a, b: _quiet(np.divide, a, b),
    "FloorDiv": lambda a, b: a // b if b else _quiet(np.divide, a, b), "Mod": _float_remainder, "Pow": _float_power,
}  # fmt: skip
OF_ANY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "FloorDiv": operator.floordiv, "Mod": operator.mod,
    "Div": operator.truediv, "Pow": operator.pow, "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
    "LShift": operator.lshift, "RShift": operator.rshift,
}  # fmt: skip
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv,
}  # fmt: skip
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq, "NotEq": operator.ne,
    "In": lambda a, b: a in b, "NotIn": lambda a, b: a not in b,
}  # fmt: skip


def binary(name: str, a: Any, b: Any) -> Any:
    """`a op b`."""
    if not _is_number(a, b) or (isinstance(a, bool) and isinstance(b, bool)):
        return OF_ANY[name](a, b)
    if name not in ("Div", "Pow") and isinstance(a, int) and isinstance(b, int):
        return wrapped(OF_INTS[name](a, b))
    return OF_FLOATS[name](float(a), float(b))


def augmented(name: str, a: Any, b: Any) -> Any:
    """What `a op= b` leaves in `a`: a new number, or the same object, changed."""
    return binary(name, a, b) if _is_number(a) else IN_PLACE[name](a, b)


def compare(names: tuple[str, ...], *operands: Callable[[], Any]) -> Any:
    """A chain of comparisons; an int is compared with a float as a float."""
    left, result = operands[0](), True
    for name, operand in zip(names, operands[1:], strict=True):
        right = operand()
        mixed = _is_number(left, right) and isinstance(left, float) != isinstance(right, float)
        result = COMPARED[name](*(map(float, (left, right)) if mixed else (left, right)))
        if len(names) > 1 and not result:
            return result
        left = right
    return result


def negative(a: Any) -> Any:
    """-a."""
    return wrapped(-a) if isinstance(a, int) else -a


def absolute(a: Any) -> Any:
    """abs(a)."""
    return wrapped(abs(a)) if isinstance(a, int) else abs(a)


def to_int(a: Any) -> int:
    """int(a): towards zero; what does not fit is refused."""
    a = a.item() if isinstance(a, Tensor) else a
    return _whole(a, int) if isinstance(a, float) else int(a)


def smaller(*values: Any) -> Any:
    """min: of two numbers the first unless the second is less; ints beside floats are floats."""
    if len(values) == 1:
        return min(values[0])
    a, b = map(float, values) if any(isinstance(v, float) for v in values) else values
    return b if b < a else a


def larger(*values: Any) -> Any:
    """max: of two numbers the first unless the second is greater; ints beside floats are floats."""
    if len(values) == 1:
        return max(values[0])
    a, b = map(float, values) if any(isinstance(v, float) for v in values) else values
    return b if b > a else a


def added(values: list[Any]) -> Any:
    """sum of a list."""
    total: Any = 0
    for value in values:
        total = binary("Add", total, value)
    return total


def stored(tensor: Any, value: Any) -> Any:
    """What an assignment puts into a tensor: eager ones refuse a float that is too large for them, programs convert it."""
    if not isinstance(tensor, Tensor) or not isinstance(value, float):
        return value
    dtype = tensor.numpy().dtype
    with np.errstate(all="ignore"):
        return float(np.float64(value).astype(dtype)) if dtype.kind == "f" else value


class _Math:
    """`math` without exceptions; all but the last few names go to NumPy or to `math` itself."""

    pi, inf, nan = math.pi, math.inf, math.nan
    isnan, isinf, isfinite, copysign, erf = math.isnan, math.isinf, math.isfinite, math.copysign, math.erf

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name))
        return lambda *operands: _quiet(function, *operands)

    @staticmethod
    def gcd(a: int, b: int) -> int:
        return wrapped(math.gcd(a, b))

    @staticmethod
    def floor(a: float) -> int:
        return _whole(a, math.floor)

    @staticmethod
    def ceil(a: float) -> int:
        return _whole(a, math.ceil)


def _whole(a: float, rounding: Callable[[float], int]) -> int:
    if not -(2.0**63) <= a < 2.0**63:
        raise OverflowError("does not fit into 64 bits")
    return rounding(a)


NAMES: dict[str, Any] = {
    "_binary": binary, "_augmented": augmented, "_compare": compare, "_negative": negative, "int": to_int, "abs": absolute, "min": smaller, "max": larger,
    "_stored": stored, "sum": added, "math": _Math(), "round": lambda a: _quiet(np.rint, a),
}  # fmt: skip
"""What a transformed program finds instead of Python's own."""


class Wrapping(ast.NodeTransformer):
    """Arithmetic becomes calls; statements and places stay."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Bodies, not annotations."""
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """The value, not the annotation."""
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """A number put into a tensor is converted first."""
        node.value, target = self.visit(node.value), node.targets[0]
        if isinstance(target, ast.Subscript):
            node.targets[0] = self.visit(target)
            root: ast.expr = target
            while isinstance(root, ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name):
                node.value = self._call(node, "_stored", ast.Name(root.id, ast.Load()), node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`a + b`."""
        return self._call(
            node, "_binary", ast.Constant(type(node.op).__name__), self.visit(node.left), self.visit(node.right)
        )

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """`-a`."""
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.USub):
            return self._call(node, "_negative", operand)
        return ast.copy_location(ast.UnaryOp(node.op, operand), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`a += b` of a number; of anything else it stays, since it changes the object."""
        value = self.visit(node.value)
        if not isinstance(node.target, ast.Name):
            node.value = value
            return node
        name = node.target.id
        read = ast.copy_location(ast.Name(name, ast.Load()), node)
        call = self._call(node, "_augmented", ast.Constant(type(node.op).__name__), read, value)
        return ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), node)], call), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`a < b < c`; not `is`, which is of the objects themselves."""
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            return self.generic_visit(node)
        names = ast.Tuple([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        empty = ast.arguments([], [], None, [], [], None, [])
        operands = [ast.Lambda(empty, self.visit(x)) for x in (node.left, *node.comparators)]
        return self._call(node, "_compare", names, *operands)

    def _call(self, node: ast.expr | ast.stmt, name: str, *operands: ast.expr) -> ast.expr:
        call = ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(operands), []), node)
        return ast.fix_missing_locations(call)


def transformed(source: str, filename: str) -> Any:
    """The code of a program, its numbers of 64 bits."""
    return compile(ast.fix_missing_locations(Wrapping().visit(ast.parse(source, filename))), filename, "exec")
