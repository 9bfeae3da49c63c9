"""Tensors in programs: small whole-tensor expressions, views, writes of elements, rows and slices."""

from __future__ import annotations

from tests.random_programs.model import Node, Statement
from tests.random_programs.native.elements import axis_index, element, place, small_int
from tests.random_programs.native.numbers import bool_expression, float_expression, int_expression
from tests.random_programs.native.scope import Axes, Scope

DTYPES = {"float": ("float32", "float64"), "int": ("int64", "int32", "int16", "int8", "uint8"), "bool": ("bool",)}


def number(scope: Scope, family: str, depth: int = 1, *, risky: bool = False) -> str:
    """A number to be put into a tensor of a family."""
    if family == "bool":
        return bool_expression(scope, depth, risky=risky)
    if family == "int":
        text = int_expression(scope, depth, risky=risky)
        return text if scope.edges and scope.chance(0.1) else f"({text}) % 100"
    return scope.draw.choice([float_expression, float_expression, int_expression])(scope, depth, risky=risky)


def tensor_expression(scope: Scope, axes: Axes, family: str, depth: int = 2) -> str:
    """A tensor with these axes, of any dtype of the family. Some tensor in scope has these axes."""
    draw = scope.draw
    if depth <= 0 or scope.chance(0.2):
        return _leaf(scope, axes, family)
    a = tensor_expression(scope, axes, family, depth - 1)
    b = tensor_expression(scope, axes, family, depth - 1)
    if family == "bool":
        kind = draw.choice(["float", "int"])
        x, y = (tensor_expression(scope, axes, kind, depth - 1) for _ in range(2))
        sign = draw.choice(["<", "<=", "==", "!=", ">", ">="])
        return draw.choice([f"({a} {draw.choice('&|^')} {b})", f"(~{a})", f"({x} {sign} {y})", f"({x} {sign} 1)"])
    wider = _broadcast(scope, axes, family)
    scalar = number(scope, family, 1)
    choices = [
        f"({a} {draw.choice('+-')} {b})", f"({a} {draw.choice('+-')} {scalar})", f"({scalar} - {a})", f"(-{a})",
        f"({a} * {b})" if scope.edges else f"({a} * {b}).clamp(-50, 50)", f"flambeau.maximum({a}, {b})",
        f"{a}.clamp(-3, {draw.randint(0, 9)})", f"{a}.clone()", f"({a} {draw.choice('+-')} {wider})",
        f"flambeau.where({tensor_expression(scope, axes, 'bool', depth - 1)}, {a}, {b})", f"{a}.abs()",
    ]  # fmt: skip
    if family == "int":
        choices += [f"({a} // {draw.choice([2, 3, 7])})", f"({a} % {draw.choice([2, 5])})", f"({a} & {b})"]
    else:
        choices += [f"({a} * 0.5)", f"({a} / 4)", f"{a}.floor()", f"{a}.to(flambeau.float64)"]
    return draw.choice(choices)


def _leaf(scope: Scope, axes: Axes, family: str) -> str:
    found = scope.some_tensor(axes=axes, family=family)
    if found is not None and scope.chance(0.9):
        return found.text
    other = scope.some_tensor(axes=axes)
    if other is None:
        raise ValueError(f"no tensor has the axes {axes}")
    if family == "bool":
        return f"({other.text} > 0)" if other.family != "bool" else other.text
    return f"{other.text}.to(flambeau.{scope.draw.choice(DTYPES[family])})"


def _broadcast(scope: Scope, axes: Axes, family: str) -> str:
    for cut in (1, 2):
        found = scope.some_tensor(axes=axes[cut:], family=family)
        if found is not None and len(axes) >= cut:
            return found.text
    return number(scope, family, 0)


def drawn_axes(scope: Scope) -> Axes | None:
    """The axes of some tensor."""
    found = scope.some("tensor")
    return found.axes if found else None


def define_tensor(scope: Scope) -> Node:
    """A new tensor of its own memory."""
    axes = drawn_axes(scope)
    if axes is None:
        return Statement("pass")
    family = scope.draw.choice(["float", "float", "int", "bool"])
    text = tensor_expression(scope, axes, family)
    new = scope.add(scope.fresh("tensor", axes=axes, family=family, is_written=False))
    return Statement(f"{new.text} = {text}")


def reassign_tensor(scope: Scope) -> Node:
    """A local tensor gets another value, which may be of another dtype of its family."""
    found = [t for t in scope.all("tensor") if not t.is_written and not t.is_fixed and t.family != "bool"]
    if not found:
        return define_tensor(scope)
    target = scope.draw.choice(found)
    return Statement(f"{target.text} = {tensor_expression(scope, target.axes, target.family)}")


def define_zero_dimensional(scope: Scope) -> Node:
    """An element kept as a tensor without axes."""
    found = element(scope, risky=False, families=("float", "int"))
    if found is None or not found[1].axes:
        return define_tensor(scope)
    text, tensor = found
    by = number(scope, tensor.family, 0)
    new = scope.add(scope.fresh("tensor", family=tensor.family, is_written=False))
    return Statement(
        f"{new.text} = {scope.draw.choice([f'{text} + {by}', f'{text} * 2', f'-{text}', f'{text}.clone()'])}"
    )


def define_view(scope: Scope) -> Node:
    """A name for part of a tensor: writes go through it."""
    draw = scope.draw
    found = [t for t in scope.all("tensor") if t.axes]
    if not found:
        return Statement("pass")
    t = draw.choice(found)
    first = axis_index(scope, t, 0, risky=False)
    i, j = small_int(scope), small_int(scope)
    options: list[tuple[str, Axes]] = [
        (draw.choice(["[1:]", "[:-1]", "[::2]", f"[{i}:]", f"[{i}:{j}]", "[:2]"]), (scope.axis(), *t.axes[1:])),
        ("[:]", t.axes), (".unsqueeze(0)[0]", t.axes), (".detach()", t.axes),
    ]  # fmt: skip
    if first is not None:
        options += [(f"[{first}]", t.axes[1:])] * 3 + [(f".select(0, {first})", t.axes[1:])]
    if len(t.axes) == 2:
        options += [(".t()", t.axes[::-1])] * 2
    if len(t.axes) > 1:
        options += [("[:, 1:]", (t.axes[0], scope.axis(), *t.axes[2:]))]
        second = axis_index(scope, t, 1, risky=False)
        if second is not None:
            options += [(f"[:, {second}]", (t.axes[0], *t.axes[2:]))] * 2
    text, axes = draw.choice(options)
    new = scope.add(scope.fresh("tensor", axes=axes, family=t.family, is_written=t.is_written, is_fixed=True))
    return Statement(f"{new.text} = {t.text}{text}")


def write_element(scope: Scope, *, risky: bool) -> Node:
    """`a[i, j] = x` or `a[i, j] += x`."""
    draw = scope.draw
    found = element(scope, risky=risky, families=("float", "float", "int", "bool"), written=True)
    if found is None or not found[1].axes:
        return write_part(scope)
    text, tensor = found
    family = tensor.family
    value = number(scope, family, 2, risky=risky)
    if family == "bool":
        return Statement(f"{text} = {value}")
    other = element(scope, risky=False, families=(family,))
    if other is not None and scope.chance(0.3):
        value = draw.choice([other[0], f"{other[0]} + {number(scope, family, 0)}", f"{other[0]} * 2"])
    elif family == "int" and scope.edges and scope.chance(0.1):
        value = float_expression(scope, 1)
        return Statement(f"{text} = {value}")
    sign = draw.choice(["=", "=", "=", "+=", "+=", "-="] + (["*="] if scope.edges else []))
    return Statement(f"{text} {sign} {value}")


def write_part(scope: Scope) -> Node:
    """A write of a whole tensor, a row or a slice, in place."""
    draw = scope.draw
    t = scope.some_tensor(written=True)
    if t is None:
        return Statement("pass")
    by = number(scope, t.family, 1)
    source = f"{tensor_expression(scope, t.axes, t.family, 1)}.clone()"
    if t.family == "bool":
        return Statement(
            draw.choice([f"{t.text}.fill_({by})", f"{t.text}.logical_not_()", f"{t.text}.copy_({source})"])
        )
    choices = [
        f"{t.text}.add_({by})", f"{t.text}.sub_({source})", f"{t.text}.fill_({by})", f"{t.text}.zero_()", f"{t.text}.neg_()",
        f"{t.text}.clamp_(-8, 8)", f"{t.text}.copy_({source})", f"{t.text}.masked_fill_({t.text} > 1, {by})",
        f"{t.text}.mul_({2 if scope.edges or t.family == 'int' else 0.5})",
    ]  # fmt: skip
    if t.axes:
        choices += [f"{t.text}[{part}] = {by}" for part in ("1:", "::2", ":-1")] + [f"{t.text}[1:] += {by}"]
        row = place(scope, t, risky=False, rank=1)
        if row is not None and len(t.axes) > 1:
            mine = tensor_expression(scope, t.axes[1:], t.family, 1) if scope.some_tensor(axes=t.axes[1:]) else by
            choices += [
                f"{row} = {by}",
                f"{row} += {by}",
                f"{row} = {mine if mine == by else mine + '.clone()'}",
                f"{row}.mul_(2)",
            ]
    return Statement(draw.choice(choices))
