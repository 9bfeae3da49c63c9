"""Loops over single elements of whole tensors, which are places in others: `g[ids[i], j] = v`, histograms, walks.

Where a place is out of range for some sizes, that is the program's outcome for them.
"""

from __future__ import annotations

from tests.random_programs.model import Compound, Node, Statement
from tests.random_programs.tensors.values import Scope, Value


def _number(scope: Scope, row: str, column: str) -> str:
    """What is put in one place: numbers of every kind, elements among them."""
    return scope.draw.choice([
        "k", "2.0", row, f"x[{row} % x.size(0), 0]", f"g0[{row} % g0.size(0), {column}]", f"float(g0[{row}, {column}])",
        f"int(p0[{row}]) + 1", f"p0[{row}] * 2", f"v[{column}]", f"max(p0[{row}], {row})", f"min(int(p0[{row}]), k)",
    ])  # fmt: skip


def element_loop(scope: Scope) -> tuple[list[Node], list[Value]]:
    """A loop over places, and the variables that it makes.

    In the texts, `p0` are places of one axis, `g0` is a table of two axes that the loop writes to, `s0` a sum.
    """
    draw, i, j = scope.draw, scope.name("i"), scope.name("j")
    source = next((v for v in scope.values if v.text == draw.choice(["w", "w", "x"])), scope.values[0])
    row = draw.choice([f"p0[{i}]", f"p0[{i}]", f"p0[{i}] % g0.size(0)", f"-1 - p0[{i}]", f"p0[p0[{i}] % p0.size(0)]", f"int(p0[{i}])"])
    at, number = f"{row}, {j}", _number(scope, i, j)
    one = [
        f"g0[{at}] = {number}", f"g0[{at}] += {number}", f"g0[{row}][{j}] = {number}", f"s0 = s0 + g0[{at}]",
        f"s0 = s0 + g0[{at}] * v[{j}]", f"g0[{at}], g0[0, {j}] = g0[0, {j}], g0[{at}]", f"g0[{at}] *= -1",
        f"s0 = s0 + max(g0[{at}], {number})" if "p0" not in number else f"s0 = s0 - g0[{at}]",
    ]  # fmt: skip
    whole = [
        f"g0[{row}] += {draw.choice(['1', 'v.sum()', i])}", f"g0[{row}, {i}:] = k", f"s0 = s0 + g0[{row}].sum()",
        f"g0[{row}, p0[{i}] % g0.size(1)] = {_number(scope, i, '0')}", f"s0 = s0 + g0[p0[{i}]:].sum()",
        f"g0[:p0[{i}]] *= -1", f"s0 = s0 + g0[:p0[{i}], 0].sum()", f"g0[{row}] = g0[{i} % g0.size(0)] + 1",
        f"s0 = s0 + w[p0[{i}]].sum() - p0[:{i}].sum()", f"g0[{row}, {i} % g0.size(1)] -= 1",
    ]  # fmt: skip
    bodies: list[list[Node]]
    if scope.chance(0.6):
        inner: list[Node] = [Statement(draw.choice(one)) for _ in range(draw.randint(1, 2))]
        header = draw.choice([f"for {j} in range(g0.size(1)):", f"for {j} in range(min(g0.size(1), {i})):"])
        bodies = [[Compound(header, [inner])]]
        if scope.chance(0.3):
            bodies[0].append(Statement(draw.choice(whole)))
    else:
        bodies = [[Statement(draw.choice(whole)) for _ in range(draw.randint(1, 2))]]
    if scope.chance(0.2):
        bodies = [[Compound(f"if p0[{i}] {draw.choice(['>', '<', '!='])} {draw.choice(['2', i])}:", bodies)]]
    bodies[0].append(Statement("g0.clamp_(-50, 50)" if "g0[" in str(bodies) else "s0 = s0.clamp(-5000, 5000)"))
    names = {"p0": scope.name("p"), "g0": scope.name("g"), "s0": scope.name("s")}
    nodes: list[Node] = [
        Statement("p0 = ids.reshape(-1)"), Statement(f"g0 = {source.text}.clone()"), Statement("s0 = x.sum() * 0"),
        Compound(f"for {i} in range(p0.size(0)):", bodies), Statement("s0 = s0.clamp(-5000, 5000)"),
    ]  # fmt: skip
    made = [Value(names["g0"], source.axes, "exact", 50), Value(names["s0"], (), "exact", 5000, is_place=False)]
    return [renamed(node, names) for node in nodes], made


def renamed(node: Node, names: dict[str, str]) -> Node:
    """The node with other names for variables."""

    def other(text: str) -> str:
        for name, new in names.items():
            text = text.replace(name, new)
        return text

    if isinstance(node, Statement):
        return Statement(other(node.text), node.is_kept)
    bodies = [[renamed(inner, names) for inner in body] for body in node.bodies]
    return Compound(other(node.header), bodies, [other(j) for j in node.joints])
