"""Expressions over whole tensors: elementwise, folds, scans, lookups, sorted parts, masks."""

from __future__ import annotations

from dataclasses import replace

from tests.random_programs.tensors.layout import TABLE
from tests.random_programs.tensors.values import ONE, Axes, Scope, Value, joined

LARGEST = 50.0
EXACT = 1e5
"""Whole numbers of this size are still exact in sums of float32."""
COUNT = 33
"""Elements along one axis, at most."""
FLOATS = ("exact", "smooth")


def bounded(text: str, axes: Axes, family: str, most: float) -> Value:
    """A result, clamped where it may grow beyond what is exact."""
    if family in ("exact", "int") and most > EXACT:
        return Value(f"({text}).clamp(-{LARGEST:.0f}, {LARGEST:.0f})", axes, family, LARGEST)
    if family == "smooth":
        return Value(f"({text}).clamp(-9, 9)", axes, family)
    return Value(text, axes, family, most)


def leaf(scope: Scope, *families: str, onto: Axes | None = None) -> Value:
    """A variable, or where there is none a number as a tensor."""
    found = scope.some(*families, *(("index",) if "int" in families else ()), onto=onto)
    if found is not None:
        return found if found.family in families else replace(found, family="int")
    number = {"bool": "flag", "int": "k", "index": "k"}.get(families[0], "k * 1.0")
    return Value(f"flambeau.tensor({number})", (), families[0])


def elementwise(scope: Scope, depth: int = 2) -> Value:
    """Operators that broadcast."""
    a = expression(scope, depth - 1, "exact", "exact", "int", "smooth", "bool")
    b = expression(scope, depth - 1, a.family)
    axes = joined(a.axes, b.axes)
    if axes is None:
        b = leaf(scope, a.family, onto=a.axes)
        axes = a.axes
    draw, x, y, both = scope.draw, a.text, b.text, a.most + b.most
    if a.family == "bool":
        return Value(draw.choice([f"({x} & {y})", f"({x} | {y})", f"({x} ^ {y})"]), axes, "bool")
    if a.family == "smooth":
        return bounded(draw.choice([f"({x} + {y})", f"({x} - {y})", f"({x} * {y})"]), axes, "smooth", both)
    number = draw.choice(["2", "-1", "k", "3"])
    wider = draw.choice([f"({x} + {y})", f"({x} - {y})", f"flambeau.maximum({x}, {y})", f"({number} - {x} + {y})"])
    if scope.chance(0.3):
        return bounded(f"({x} * {y})", axes, a.family, a.most * b.most)
    if scope.chance(0.2):
        condition = leaf(scope, "bool", onto=axes)
        return bounded(f"flambeau.where({condition.text}, {x}, {y})", axes, a.family, both)
    if scope.chance(0.2):
        sign = draw.choice(["<", "<=", "==", "!=", ">"])
        return Value(f"({x} {sign} {y})", axes, "bool")
    return bounded(wider, axes, a.family, both + 4)


def one_operand(scope: Scope, depth: int = 2) -> Value:
    """Functions of one tensor."""
    a = expression(scope, depth - 1, "exact", "exact", "int", "bool")
    x, axes, draw = a.text, a.axes, scope.draw
    if a.family == "bool":
        return draw.choice([Value(f"(~{x})", axes, "bool"), Value(f"{x}.long()", axes, "int", 1)])
    if a.family == "int":
        number = draw.choice(["2", "3", "7"])
        texts = [f"({x} // {number})", f"({x} % {number})", f"(-{x})", f"{x}.abs()", f"({x} & 3)", f"({x} + k)"]
        return Value(draw.choice(texts), axes, "int", a.most + 7)
    if scope.chance(0.35):
        small = f"{x}.clamp(-3, 3)"
        texts = [f"{small}.exp()", f"{small}.sigmoid()", f"{small}.tanh()", f"({x} / ({x}.abs() + 1))", f"({x}.abs() + 1).log()"]
        return Value(draw.choice(texts), axes, "smooth")
    texts = [f"{x}.abs()", f"(-{x})", f"{x}.relu()", f"{x}.clamp(-3, 9)", f"({x} * 2)", f"({x} + k)", f"({x} - 1)", f"{x}.sign()"]
    return draw.choice([bounded(draw.choice(texts), axes, "exact", 2 * a.most + 4), Value(f"{x}.long()", axes, "int", a.most)])


def _along(scope: Scope, a: Value) -> tuple[int, str]:
    dim = scope.draw.randrange(len(a.axes))
    return dim, str(dim if scope.chance(0.7) else dim - len(a.axes))


def without(axes: Axes, dim: int, *, keep: bool) -> Axes:
    """The axes of a fold along one dimension."""
    return (*axes[:dim], *((ONE,) if keep else ()), *axes[dim + 1 :])


def fold(scope: Scope, depth: int = 2) -> Value:
    """Sums, extremes, means and their like, along one dimension or all; some refuse to fold nothing."""
    a = expression(scope, depth - 1, "exact", "exact", "int", "smooth", "bool")
    draw, x = scope.draw, a.text
    if not a.axes or scope.chance(0.2):
        if a.family == "bool":
            return Value(f"{x}.{draw.choice(['any', 'all'])}()", (), "bool")
        if a.family == "smooth":
            return bounded(f"{x}.{draw.choice(['sum', 'mean'])}()", (), "smooth", 0)
        risky = [f"{x}.{name}()" for name in ("max", "min", "amax")] if scope.chance(0.2) else []
        return bounded(draw.choice([f"{x}.sum()", *risky]), (), a.family, a.most * COUNT**2)
    dim, at = _along(scope, a)
    keep = scope.chance(0.5)
    axes, more = without(a.axes, dim, keep=keep), ", keepdim=True" if keep else ""
    if a.family == "bool":
        return Value(f"{x}.{draw.choice(['any', 'all'])}({at}{more})", axes, "bool")
    if a.family == "smooth":
        return bounded(f"{x}.{draw.choice(['sum', 'mean'])}({at}{more})", axes, "smooth", 0)
    if scope.chance(0.3):
        name = draw.choice(["amax", "amin", "max", "min", "argmax", "argmin", "median", "max at"])
        if name in ("argmax", "argmin", "max at"):
            text = f"{x}.max({at}{more})[1]" if name == "max at" else f"{x}.{name}({at}{more})"
            return Value(text, axes, "int", COUNT)
        return Value(f"{x}.{name}({at}{more})" + ("" if name.startswith("am") else "[0]"), axes, a.family, a.most)
    if a.family == "exact" and scope.chance(0.25):
        name = draw.choice(["mean", "var", "std", "logsumexp"])
        unbiased = ", unbiased=False" if name in ("var", "std") else ""
        return bounded(f"{x}.clamp(-9, 9).{name}({at}{unbiased}{more})", axes, "smooth", 0)
    return bounded(f"{x}.sum({at}{more})", axes, a.family, a.most * COUNT)


def scan(scope: Scope, depth: int = 2) -> Value:
    """What keeps the sizes: running sums and extremes, sorted rows, softmax."""
    a = expression(scope, depth - 1, "exact", "int")
    if not a.axes:
        return a
    _, at = _along(scope, a)
    if a.family == "exact" and scope.chance(0.3):
        name = scope.draw.choice(["softmax", "log_softmax"])
        return bounded(f"{a.text}.clamp(-9, 9).{name}({at})", a.axes, "smooth", 0)
    name = scope.draw.choice(["cumsum", "cumsum", "cumsum", "cummax", "sort", "flip"])
    if name == "cumsum":
        return bounded(f"{a.text}.cumsum({at})", a.axes, a.family, a.most * COUNT)
    text = f"{a.text}.flip([{at}])" if name == "flip" else f"{a.text}.{name}({at})[0]"
    return Value(text, a.axes, a.family, a.most)


def index(scope: Scope, depth: int = 2) -> Value:
    """Places in the table, computed in one way or another."""
    if scope.chance(0.3):
        return leaf(scope, "index")
    a = expression(scope, depth, "int")
    return Value(f"{a.text} % {TABLE}", a.axes, "index") if a.family == "int" else a


def lookup(scope: Scope, depth: int = 2) -> Value:
    """Rows or elements at computed places."""
    i = index(scope, depth - 1)
    table = leaf(scope, "exact") if scope.chance(0.1) else next(v for v in scope.values if v.text == "w")
    at = f"({i.text})"
    if table.text == "w" and scope.chance(0.8):
        return Value(f"flambeau.embedding(w, {at})", (*i.axes, table.axes[1]), "exact")
    if table.text == "w" and len(i.axes) == 1:
        return Value(f"w.index_select(0, {at})", (*i.axes, table.axes[1]), "exact")
    if table.text == "w" and i.axes:  # without axes it is a view of a row in eager tensors, and a copy elsewhere
        return Value(f"w[{at}]", (*i.axes, table.axes[1]), "exact")
    axes = joined(table.axes, i.axes)
    return i if axes is None else Value(f"({table.text} + {at})", axes, "exact", 2 * LARGEST)


def moved(scope: Scope, depth: int = 2) -> Value:
    """Views and products."""
    a = expression(scope, depth - 1, "exact", "int")
    x, axes = a.text, a.axes
    choices = [Value(f"{x}.unsqueeze(0)", (ONE, *axes), a.family, a.most)]
    if axes:
        choices += [Value(f"{x}[None]", (ONE, *axes), a.family, a.most), Value(f"{x}[..., None]", (*axes, ONE), a.family, a.most)]
    if len(axes) == 2:
        choices += [Value(f"{x}.t()", axes[::-1], a.family, a.most)] * 2
        if a.family == "exact":
            product = f"({x}.clamp(-9, 9) @ {x}.t().clamp(-9, 9))"
            choices += [bounded(product, (axes[0], axes[0]), "exact", 81 * COUNT)]
            if axes[1] == "b":
                choices += [bounded(f"({x} @ v)", (axes[0],), "exact", a.most * 8 * COUNT)]
    chosen = scope.draw.choice(choices)
    return chosen if len(chosen.axes) <= 4 else a


def condition(scope: Scope, depth: int = 1) -> str:
    """A bool tensor without axes."""
    a = expression(scope, depth, "exact", "int", "bool")
    if a.family == "bool":
        return a.text if not a.axes else f"{a.text}.{scope.draw.choice(['any', 'all'])}()"
    return f"({a.text}.sum() {scope.draw.choice(['<', '>', '=='])} {scope.draw.choice(['0', 'k', '1'])})"


MAKERS = ((4, elementwise), (3, one_operand), (3, fold), (1.5, scan), (1.2, lookup), (1, moved))


def expression(scope: Scope, depth: int, *families: str) -> Value:
    """A value of one of the families; a variable where nothing else turns out to be one."""
    wanted = scope.draw.choice(families)
    for _ in range(4):
        if depth <= 0 or scope.chance(0.25):
            break
        made = scope.draw.choices([m for _, m in MAKERS], [w for w, _ in MAKERS])[0](scope, depth)
        if made.family == wanted:
            return replace(made, is_place=False)
    return leaf(scope, wanted)
