"""Lists and tuples in programs: made, changed under several names, passed to functions that change them."""

from __future__ import annotations

from tests.random_programs.model import Compound, Node, Statement
from tests.random_programs.native.elements import list_index, small_int
from tests.random_programs.native.numbers import bool_expression, float_expression, int_expression
from tests.random_programs.native.scope import Scope
from tests.random_programs.native.tensors import drawn_axes, tensor_expression

ITEMS = {"ints": int_expression, "floats": float_expression, "bools": bool_expression}
TYPES = {
    "ints": "list[int]",
    "floats": "list[float]",
    "bools": "list[bool]",
    "rows": "list[list[int]]",
    "tensors": "list[Tensor]",
}


def define_list(scope: Scope) -> Node:
    """A new list, or a new name for one."""
    draw = scope.draw
    kind = draw.choice(["ints", "ints", "floats", "bools", "rows", "tensors"])
    old = scope.some(kind)
    if kind == "tensors":
        axes = drawn_axes(scope)
        if axes is None:
            return Statement("pass")
        family = draw.choice(["float", "int"])
        items = [tensor_expression(scope, axes, family, 1) for _ in range(draw.randint(1, 3))]
        new = scope.add(scope.fresh("tensors", axes=axes, family=family, is_written=False))
        return Statement(f"{new.text} = [{', '.join(items)}]")
    if kind == "rows":
        ints = scope.some("ints")
        rows = [f"[{int_expression(scope, 1)}, {int_expression(scope, 0)}]", ints.text if ints else "[n]", "[n, 2]"]
        text = draw.choice([f"[{', '.join(rows)}]", f"[[i, {int_expression(scope, 0)}] for i in range(3)]"])
    elif old is not None and scope.chance(0.6):
        text = draw.choice([
            old.text, old.text, f"{old.text}.copy()", f"list({old.text})", f"{old.text}[1:]", f"{old.text}[::-1]",
            f"{old.text}[{small_int(scope)}:{small_int(scope)}]", f"{old.text} + {old.text}", f"{old.text}[-2:]",
        ])  # fmt: skip
    elif scope.chance(0.3):
        text = f"[{ITEMS[kind](scope, 1)} for _ in range({draw.randint(0, 4)})]"
    else:
        text = f"[{', '.join(ITEMS[kind](scope, 1) for _ in range(draw.randint(1, 4)))}]"
    new = scope.fresh(kind)
    scope.add(new)
    return Statement(f"{new.text}: {TYPES[kind]} = {text}")


def change_list(scope: Scope) -> Node:
    """A list changes in place; in loops nothing that doubles it. Only a list that is returned may raise."""
    draw = scope.draw
    found = scope.some(draw.choice(["ints", "ints", "ints", "floats", "bools", "rows", "tensors"]))
    if found is None:
        return define_list(scope)
    name, kind, risky = found.text, found.kind, found.is_fixed
    if kind == "tensors":
        item = f"{tensor_expression(scope, found.axes, found.family, 1)}.clone()"
        choices = [f"{name}.append({item})"] + [f"{name}[{list_index(scope, name)}] = {item}"] * risky
        return Statement(draw.choice(choices))
    if kind == "rows":
        choices = [f"{name}.append([{int_expression(scope, 1)}])"]
        if risky:
            choices += [f"{name}[{list_index(scope, name)}][{draw.choice([0, -1])}] = {int_expression(scope, 1)}"]
            choices += [f"{name}[{list_index(scope, name)}].append({int_expression(scope, 1)})"] * 2
        return Statement(draw.choice(choices))
    value = ITEMS[kind](scope, 1)
    choices = [f"{name}.append({value})", f"{name}.insert({small_int(scope)}, {value})", f"{name}.reverse()"]
    choices += [f"{name}.extend([{value}, {value}])"]
    if not scope.loops:
        choices += [f"{name}.extend({name})", f"{name} += {name}[:2]", f"{name}.clear()"]
    if kind == "ints":
        choices += [f"{name}.sort()", f"push({name}, {value})"]
    if risky:
        i = list_index(scope, name)
        choices += [f"{name}[{i}] = {value}"] * 3 + [f"{name}.pop()", f"{name}.pop({i})", f"del {name}[{i}]"]
        if kind == "ints" and not scope.edges:
            choices += [f"{name}[{i}] += {draw.randint(-3, 3)}", f"rotate({name}, {i})"]
        if kind == "floats":
            choices += [f"{name}[{i}] -= 0.5"]
    return Statement(draw.choice(choices))


def define_tuple(scope: Scope) -> Node:
    """A tuple made, taken apart, or two names exchanged."""
    draw = scope.draw
    first, second = int_expression(scope, 1), float_expression(scope, 1)
    if scope.chance(0.4):
        new = scope.add(scope.fresh("pair"))
        return Statement(f"{new.text} = {draw.choice([f'({first}, {second})', f'halves({first})'])}")
    if scope.chance(0.5):
        kind = draw.choice(["int", "float"])
        found = [n.text for n in scope.all(kind) if not n.is_fixed]
        if len(found) > 1:
            a, b = draw.sample(found, 2)
            return Statement(f"{a}, {b} = {b}, {a}")
    a_name, b_name = scope.fresh("int"), scope.fresh("float")
    pair = scope.some("pair")
    text = draw.choice([f"{first}, {second}", f"halves({first})", pair.text if pair else f"({first}, {second})"])
    scope.add(a_name)
    scope.add(b_name)
    return Statement(f"{a_name.text}, {b_name.text} = {text}")


def pop_guarded(scope: Scope) -> Node:
    """A list loses items while it has some."""
    found = scope.some("ints")
    if found is None:
        return define_list(scope)
    keep = scope.draw.randint(0, 3)
    return Compound(
        f"{scope.draw.choice(['if', 'while'])} len({found.text}) > {keep}:", [[Statement(f"{found.text}.pop()")]]
    )
