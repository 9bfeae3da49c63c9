"""Statements in which structures lie in each other: loops in loops, left in all ways; lists in lists, in dictionaries and in
objects, changed in loops; views of views; functions that change lists or call themselves. Each gives a tensor of the axes
("b",)."""

from __future__ import annotations

from tests.random_programs.gradients.containers import Maker, Source, lines
from tests.random_programs.model import Compound, Node, Statement

PRELUDE = '''class Store:
    def __init__(self, first: Tensor):
        self.items: list[Tensor] = [first, first.sin()]
        self.rows: list[list[Tensor]] = [[first * 0.5]]

    def push(self, item: Tensor) -> int:
        self.items.append(item + self.items[0] * 0.1)
        self.rows[-1].append(item.tanh())
        return len(self.items)

    def joined(self) -> Tensor:
        made = self.items[-1] * 0.3
        for row in self.rows:
            for item in row:
                made = (made + item).sin()
        return made


def folded(items: list[Tensor], count: int) -> tuple[Tensor, int]:
    done = 0
    while len(items) > 1 and done < count:
        last = items.pop()
        items[-1] = (items[-1] * 0.7 + last).sin()
        done += 1
    return items[0] * 1.1, done


def descend(a: Tensor, n: int) -> Tensor:
    if n <= 0:
        return a * 0.5
    b = (a * 0.8 + 0.1 * n).sin()
    return descend(b, n - 1) + b * 0.2


'''


def loops(s: Source, result: str) -> list[Node]:
    """A loop in a loop, either left by a condition on elements, or the whole function."""
    i, j, c = s.name("i"), s.name("j"), s.name("u")
    step = s.chosen([
        f"{c} = ({c} * 0.8 + {s.row()} * 0.1 * {j}).sin()", f"{c} = {c} * {s.row()} + 0.05 * {i}", f"{c} = ({c} + x[{j} % x.size(0)]).tanh()",
    ])  # fmt: skip
    test = s.chosen([f"float({c}[0]) > 0.4", f"bool({c}[-1] < -0.2)", f"{j} > {i}", f"float({c}.sum()) > 0.8"])
    leave = s.chosen(["break", "continue", "break", "return total + {c}.sum() * 0.5", "return ({c} * {c}).sum() + total * 0.1"])
    outer = s.chosen(["break", "continue", "return total * 0.5 + {r}[0]"])
    body: list[Node] = [
        *lines(f"{c} = {result} * 0.9"),
        Compound(f"for {j} in range({s.chosen(['k', '3', f'{i} + 1', 'v.size(0)'])}):", [[
            *lines(step), Compound(f"if {test}:", [lines(leave.format(c=c))]), *lines(f"{c} = {c} * 0.95 + 0.02"),
        ]]),
        *lines(f"{result} = ({result} + {c}).sin()"),
        Compound(f"if float({result}[0]) > 0.7:", [lines(outer.format(r=result))]),
        *lines(f"{result} = {result} + w[{i} % w.size(0)] * 0.1"),
    ]  # fmt: skip
    return [*lines(f"{result} = {s.row()} * 0.6"), Compound(f"for {i} in range({s.chosen(['k', '2', 'x.size(0)'])}):", [body])]


def by_element(s: Source, result: str) -> list[Node]:
    """A `while` that goes on as elements say, and changes them."""
    n, m = s.name("n"), s.name("m")
    test = s.chosen([f"float({m}[0]) > 0.05", f"bool({m}[-1] < 0.9)", f"float({m}[{n} % {m}.size(0)]) < 0.5", f"bool(({m} > 0.1).any())"])
    change = s.chosen([
        f"{m}[0] = {m}[0] * 0.5 + {m}[-1] * 0.1", f"{m}[{n} % {m}.size(0)] *= 0.6", f"{m}[{n} % {m}.size(0):] += 0.2 * {s.row()}[0]",
        f"{m} = {m} * 0.6 + {s.row()} * 0.1", f"{m}.mul_(0.5).add_({s.row()}, alpha=0.1)",
    ])  # fmt: skip
    leave = Compound(f"if float({m}.sum()) > 2.0:", [lines(s.chosen(["break", f"return total + {m}.sum()"]))])
    body: list[Node] = [Statement(f"{n} += 1", is_kept=True), *lines(change), *([leave] if s.chosen(["a", "b"]) == "a" else [])]
    loop = Compound(f"while {n} < 5 and {test}:", [body], before=[Statement(f"{n} = 0", is_kept=True)])
    return [*lines(f"{m} = {s.row()} * 1.2"), loop, *lines(f"{result} = {m} * {m}.cos()")]


def views(s: Source, result: str) -> list[Node]:
    """Writes through views of views, in a loop or a branch, that other views see."""
    m, u, z, i = s.name("m"), s.name("u"), s.name("u"), s.name("i")
    first = s.chosen([".t()", "[1:]", ".unsqueeze(0)", "[:, 1:]", ".reshape(-1, x.size(1))"])
    second = s.chosen(["[0]", "[-1:]", "[..., 0]", ".unsqueeze(1)", "[..., ::2]"])
    write = s.chosen([f"{z}.mul_(0.7)", f"{z}.sin_()", f"{z} += w[0]", f"{z}.copy_({z}.clone() * 0.5 + 0.1)", f"{u}.mul_(1.1)", f"{m}.tanh_()"])
    header = s.chosen([f"for {i} in range(k):", f"if {s.decision()}:", "if k >= 0:"])
    if first == "[1:]":
        second = s.chosen(["[..., 0]", "[..., ::2]", ".t()"])
    if (first, second) == ("[:, 1:]", "[..., 0]"):  # of one column nothing is left
        second = "[..., ::2]"
    before = s.chosen([f"{m} = x * 0.8", f"{m} = (x + {s.row()}).clone()"])
    seen = s.chosen([f"total = total + ({u} * {u}).sum()", f"total = total + ({z}.sin()).sum()"])
    return [
        *lines(before, f"{u} = {m}{first}", f"{z} = {u}{second}"), Compound(header, [lines(write)]),
        *lines(seen, f"{result} = {m}.sum(0).tanh()"),
    ]  # fmt: skip


def slices(s: Source, result: str) -> list[Node]:
    """Slices that a loop writes."""
    m, i = s.name("m"), s.name("i")
    write = s.chosen([
        f"{m}[{i}:] *= 0.9", f"{m}[{i}] = {m}[{i}] * {s.row()}", f"{m}[:, {i} % v.size(0)] = w * 0.5", f"{m}[:{i} + 1] += {s.row()} * 0.1",
        f"{m}[{i}].mul_({m}[{i} - 1] * 1)", f"{m}[{i}, -1] = {m}[{i}, 0].sin()", f"{m}[{i}:{i} + 1, 1:] = {m}[{i}:{i} + 1, :-1] * 0.6",
        f"{m}[{i}] += {m}.sum(0).tanh()", f"{m}.select(0, {i}).copy_({s.row()})", f"{m}[{i}, {i} % v.size(0)] *= w[{i}]",
    ])  # fmt: skip
    return [
        *lines(f"{m} = x * 1.1"), Compound(f"for {i} in range({s.chosen(['x.size(0)', 'min(k, x.size(0))'])}):", [lines(write)]),
        *lines(f"{result} = {m}.mean(0).sin()"),
    ]  # fmt: skip


def stack(s: Source, result: str) -> list[Node]:
    """A list that grows in one loop, and that another takes apart."""
    parts, i, a = s.name("parts"), s.name("i"), s.name("u")
    item = s.chosen([f"({parts}[-1] * {s.row()}).sin()", f"{s.row()} * {i}", f"{parts}[0] + 0.1 * {i}", "v * 0.5"])
    take = s.chosen([f"{parts}.pop()", f"{parts}.pop(0)", f"{parts}.pop()"])
    use = s.chosen([f"{parts}[-1] = ({parts}[-1] + {a}).sin()", f"{parts}[0] = {parts}[0] * 0.5 + {a}", f"{parts}.append({a}.sin()); {parts}.pop(0)"])
    test = s.chosen([f"len({parts}) > 1", f"len({parts}) > 1 and float({parts}[0].sum()) < 1.5"])
    n = s.name("n")
    body: list[Node] = [Statement(f"{n} += 1", is_kept=True), *lines(f"{a} = {take}", *use.split("; "))]
    return [
        *lines(f"{parts} = [{s.row()}, {s.row()} * 0.5]"), Compound(f"for {i} in range(k + 1):", [lines(f"{parts}.append({item})")]),
        Compound(f"while {n} < 6 and {test}:", [body], before=[Statement(f"{n} = 0", is_kept=True)]),
        *lines(f"{result} = {parts}[0] - {parts}[-1] * 0.3"),
    ]  # fmt: skip


def table(s: Source, result: str) -> list[Node]:
    """Lists in a list, which loops grow, change and take apart."""
    rows, i, j, row = s.name("rows"), s.name("i"), s.name("j"), s.name("row")
    change = s.chosen([
        f"{rows}.append([{s.row()} * {i}, {rows}[-1][0].sin()])", f"{rows}[{i} % 2].append({rows}[0][-1] * 0.5 + {s.row()})",
        f"{rows}[{i} % 2][0] = ({rows}[1][0] + {s.row()}).sin()", f"{rows}[-1][-1] = {rows}[0][0] * {rows}[-1][-1]",
        f"{rows}.append([{rows}[-1][-1] * 0.5]); {rows}.pop(0)", f"{rows}.append({rows}[0] + [{s.row()}])",
        f"{rows}[0] = [{rows}[0][0].cos(), {s.row()}]", f"{rows}[0] = {rows}[1] + {rows}[0]", f"{row} = {rows}[{i} % 2]; {row}.append({s.row()}.sin())",
        f"{row} = {rows}[0]; {row}[0] = {row}[-1] * 0.5", f"{rows}[1].insert(0, {rows}[1].pop() * 1.1)",
    ])  # fmt: skip
    inner = Compound(f"for {j} in range(len({row})):", [lines(f"{result} = ({result} + {row}[{j}] * 0.5).sin()")])
    return [
        *lines(f"{rows} = [[{s.row()}, {s.row()} * 0.5], [{s.row()}.sin()]]"),
        Compound(f"for {i} in range(k):", [lines(*change.split("; "))]), *lines(f"{result} = {rows}[-1][0] * 0.4"),
        Compound(f"for {row} in {rows}:", [[inner]]),
    ]  # fmt: skip


def grid(s: Source, result: str) -> list[Node]:
    """A table that two loops fill from what is in it, as dynamic programming does."""
    t, row, i, j = s.name("rows"), s.name("row"), s.name("i"), s.name("j")
    fill = Compound(f"for {j} in range(1, 3):", [lines(f"{row}.append(({row}[{j} - 1] * 0.5 + {t}[{i}][{j}] * {s.row()}).sin())")])
    return [
        *lines(f"{t} = [[{s.row()}, {s.row()}.cos(), v * 0.3]]"),
        Compound(f"for {i} in range(k):", [[*lines(f"{row} = [{t}[{i}][0] * 0.9]"), fill, *lines(f"{t}.append({row})")]]),
        *lines(f"{result} = {t}[-1][-1] + {t}[0][0] * 0.2"),
    ]  # fmt: skip


def grouped(s: Source, result: str) -> list[Node]:
    """Lists by key, and pairs in a list."""
    d, i, key, p = s.name("d"), s.name("i"), s.name("key"), s.name("p")
    change = s.chosen([
        f'{d}["a" if {i} % 2 == 0 else "b"].append({d}["a"][-1].sin() + {s.row()})', f'{d}["b"][0] = {d}["b"][0] * {s.row()}',
        f'{d}["c" if {i} > 0 else "a"] = [{d}["b"][-1] * 0.5]', f'{d}["a"] = {d}["a"] + {d}["b"]',
    ])  # fmt: skip
    over = s.chosen([f"for {key} in {d}:", f"for {key} in list({d}.keys()):"])
    return [
        *lines(f'{d} = {{"a": [{s.row()}], "b": [{s.row()} * 0.5, {s.row()}.sin()]}}'), Compound(f"for {i} in range(k):", [lines(change)]),
        *lines(f'{result} = {d}["a"][0] * 0.3'),
        Compound(over, [[Compound(f"for {p} in {d}[{key}]:", [lines(f"{result} = ({result} * 0.5 + {p}).tanh()")])]]),
    ]  # fmt: skip


def pairs(s: Source, result: str) -> list[Node]:
    """Tuples in a list that grows."""
    parts, i, a, b = s.name("parts"), s.name("i"), s.name("u"), s.name("u")
    change = s.chosen([
        f"{parts}.append(({parts}[-1][1].sin(), {s.row()} * {i}))", f"{parts}[0] = ({parts}[0][1] * 0.5, {parts}[0][0] + {s.row()})",
    ])  # fmt: skip
    return [
        *lines(f"{parts} = [({s.row()}, {s.row()}.cos())]"), Compound(f"for {i} in range(k):", [lines(change)]),
        *lines(f"{result} = {s.row()} * 0.2"),
        Compound(f"for {a}, {b} in {parts}:", [lines(f"{result} = ({result} + {a} * {b}).sin()")]),
    ]


def stored(s: Source, result: str) -> list[Node]:
    """An object whose lists methods and loops change."""
    store, i = s.name("store"), s.name("i")
    change = s.chosen([
        f"{store}.push({s.row()})", f"{store}.items[0] = {store}.items[-1] * {s.row()}", f"{store}.rows.append([{store}.items[0].sin()])",
        f"{store}.rows[0][0] = {store}.rows[0][0] * 0.5 + {s.row()}", f"{store}.items.append({store}.joined())",
    ])  # fmt: skip
    return [
        *lines(f"{store} = Store({s.row()})"), Compound(f"for {i} in range(k):", [lines(change)]),
        *lines(f"{result} = {store}.joined() + {store}.items[0]"),
    ]


def objects(s: Source, result: str) -> list[Node]:
    """Objects in a list."""
    states, i, state = s.name("states"), s.name("i"), s.name("state")
    change = s.chosen([f"{states}[{i} % 2].step({s.row()}, 0.3)", f"{states}.append(State({states}[0].place.sin(), {s.row()}))",
                       f"{states}[0].place = {states}[1].place * 0.5 + {s.row()}"])
    return [
        *lines(f"{states} = [State({s.row()}, {s.row()}), State({s.row()} * 0.5, v)]"), Compound(f"for {i} in range(k):", [lines(change)]),
        *lines(f"{result} = {s.row()} * 0.1"),
        Compound(f"for {state} in {states}:", [lines(f"{result} = {result} + ({state}.place * {state}.speed).tanh()")]),
    ]  # fmt: skip


def by_function(s: Source, result: str) -> list[Node]:
    """What functions give that change the list they are given, or call themselves."""
    parts, n, i = s.name("parts"), s.name("n"), s.name("i")
    if s.chosen(["list", "recursion"]) == "recursion":
        return lines(f"{result} = descend({s.row()}, k) * 0.7")
    fill = s.chosen([f"{parts} = [{s.row()} * {i} for {i} in range(abs(k) + 1)]", f"{parts} = [{s.row()}, {s.row()}.sin(), v]"])
    return lines(fill, f"{result}, {n} = folded({parts}, k)", f"{result} = {result} + {parts}[0] * 0.5 * {n}")


def chosen_optional(s: Source, result: str) -> list[Node]:
    """Optional tensors in a list, and one that goes away again."""
    slots, i, one, last = s.name("slots"), s.name("i"), s.name("one"), s.name("last")
    change = s.chosen([f"{slots}[{i} % 3] = {s.row()} * {i}", f"{slots}.append({s.row()}.sin() if {i} % 2 == 0 else None)"])
    return [
        *lines(f"{slots}: list[Optional[Tensor]] = [None, {s.row()}, None]", f"{last}: Optional[Tensor] = {s.row()}"),
        Compound(f"for {i} in range(k):", [[*lines(change), Compound(f"if {s.decision()}:", [lines(f"{last} = None")])]]),
        *lines(f"{result} = {s.row()} * 0.3"),
        Compound(f"for {one} in {slots}:", [[Compound(f"if {one} is not None:", [lines(f"{result} = ({result} + {one}).sin()")])]]),
        Compound(f"if {last} is not None:", [lines(f"{result} = {result} * {last}")]),
    ]  # fmt: skip


def written_items(s: Source, result: str) -> list[Node]:
    """Items of a list, or a variable that is one of them, written in place."""
    parts, i, m = s.name("parts"), s.name("i"), s.name("m")
    write = s.chosen([
        f"{parts}[{i} % 2].mul_(0.8)", f"{m}.add_({parts}[1])", f"{parts}[0][0] = {parts}[1][-1].sin()", f"{parts}[1] += {m}",
        f"{parts}[{i} % 2][0] *= 0.5", f"{parts}[-1].copy_({parts}[0] * 0.9)",
    ])  # fmt: skip
    return [
        *lines(f"{m} = {s.row()} * 1.2", f"{parts} = [{m}, {s.row()}.sin()]"), Compound(f"for {i} in range(k):", [lines(write)]),
        *lines(f"{result} = {parts}[0] * {parts}[1] + {m}"),
    ]  # fmt: skip


def chosen_elements(s: Source, result: str) -> list[Node]:
    """Greatest, least and middle elements, and choices between tensors."""
    i, a = s.name("i"), s.name("u")
    texts = s.chosen([
        f"{result} = flambeau.where({s.row()} > {s.row()}.mean(), {s.row()} * 2, {s.row()}.sin())",
        f"{result} = flambeau.maximum({s.row()}, {s.row()} * 0.9 + 0.013).clamp(max=0.8)",
        f"{result} = {s.row()}.clamp(min={s.row()} * 0.5 - 0.2)", f"{a}, {i} = x.min(0); {result} = {a}.tanh()",
        f"{result} = {s.row()} * {s.row()}.max() - {s.row()}.min() * 0.2", f"{result} = flambeau.fmin({s.row()}, {s.row()}.cos())",
        f"{result} = {s.row()}.cummax(0)[0] * 0.5", f"{a}, {i} = x.median(0); {result} = {a} * {s.row()}",
        f"{result} = {s.row()} if float({s.row()}[0]) > float({s.row()}[-1]) else {s.row()} * 0.5",
        f"{result} = x[x.argmax(0), flambeau.arange(x.size(1))] * 0.5", f"{result} = flambeau.nn.functional.hardtanh({s.row()}.nan_to_num(), -0.6, 0.7)",
        f"{result} = ({s.row()} * 3).remainder(1.7)", f"{result} = flambeau.hypot({s.row()}, {s.row()} + 2.1)",
        f"{result} = flambeau.atan2({s.row()}, {s.row()} + 3)", f"{result} = ({s.row()} * {s.row()} + 0.3) ** ({s.row()} * 0.5 + 1.1)",
    ])  # fmt: skip
    return lines(*texts.split("; "))


NESTED: tuple[Maker, ...] = (
    loops, loops, by_element, by_element, views, views, slices, slices, stack, stack, table, table, grid, grouped, pairs, stored,
    objects, by_function, by_function, chosen_optional, written_items, written_items, chosen_elements, chosen_elements,
)  # fmt: skip
