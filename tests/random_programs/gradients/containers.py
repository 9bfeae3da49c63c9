"""Statements with tuples, dictionaries, nested lists, optional tensors, objects and functions within functions, and numbers
in lists; each gives a tensor of the axes ("b",)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tests.random_programs.model import Compound, Node, Statement

PRELUDE = '''class State:
    def __init__(self, place: Tensor, speed: Tensor):
        self.place = place
        self.speed = speed

    def step(self, force: Tensor, share: float) -> Tensor:
        self.speed = self.speed * 0.9 + force.sin() * share
        self.place = self.place + self.speed * share
        return self.place


'''


class Source(Protocol):
    """What makes names, choices and rows for statements."""

    def name(self, letter: str = "t") -> str:
        """A name not used before."""

    def chosen(self, options: list[str]) -> str:
        """One of some texts."""

    def row(self) -> str:
        """The text of a tensor with the axes ("b",)."""

    def decision(self) -> str:
        """A condition."""


Maker = Callable[[Source, str], list[Node]]
"""Statements that give a tensor a name."""


def lines(*texts: str) -> list[Node]:
    """Statements."""
    return [Statement(text) for text in texts]


def pair(s: Source, result: str) -> list[Node]:
    """A tuple that a loop or a branch changes."""
    p, i, first, second = s.name("p"), s.name("i"), s.name("u"), s.name("u")
    change = f"{p} = ({p}[1].sin(), {p}[0] * 0.5 + {p}[1] * {s.row()})"
    header = s.chosen([f"for {i} in range(k):", f"if {s.decision()}:"])
    join = s.chosen([f"({first} * {second}).tanh()", f"{first} - {second} * 0.5"])
    return [
        *lines(f"{p} = ({s.row()}, {s.row()} * 1.5)"), Compound(header, [lines(change)]),
        *lines(f"{first}, {second} = {p}", f"{result} = {join}"),
    ]  # fmt: skip


def dictionary(s: Source, result: str) -> list[Node]:
    """Tensors by key, changed in a loop."""
    d, i, key = s.name("d"), s.name("i"), s.name("key")
    change = lines(f'{d}["a"] = ({d}["a"] + {d}["b"]).sin()', f'{d}["b"] = {d}["b"] * {s.row()}')
    total = Compound(f"for {key} in {d}:", [lines(f"{result} = {result} + {d}[{key}] * 0.5")])
    return [
        *lines(f'{d} = {{"a": {s.row()}, "b": {s.row()}}}'), Compound(f"for {i} in range(k):", [change]),
        *lines(f'{result} = {d}["a"].cos()'), *([total] if s.chosen(["all", "one"]) == "all" else []),
    ]  # fmt: skip


def rows(s: Source, result: str) -> list[Node]:
    """Lists in a list, gone through twice."""
    r, one, item, i = s.name("rows"), s.name("one"), s.name("item"), s.name("i")
    more = s.chosen([f"{r}.append([{s.row()}])", f"{r}[0].append({s.row()} * 2)", f"{r}[-1][0] = {r}[0][-1].tanh()"])
    inner = Compound(f"for {item} in {one}:", [lines(f"{result} = ({result} * 0.5 + {item}).sin()")])
    return [
        *lines(f"{r} = [[{s.row()}, {s.row()}], [{s.row()}]]"), Compound(f"for {i} in range(k):", [lines(more)]),
        *lines(f"{result} = {r}[0][0] * 0.3"), Compound(f"for {one} in {r}:", [[inner]]),
    ]  # fmt: skip


def sliced(s: Source, result: str) -> list[Node]:
    """A list of unknown length, cut, joined and used several times."""
    parts, i, p = s.name("parts"), s.name("i"), s.name("p")
    change = s.chosen([
        f"{parts} = {parts}[1:] + {parts}[:1]", f"{parts}.reverse()", f"{parts}.insert(0, {s.row()})",
        f"{parts}.extend([{parts}[0] * 0.5, {s.row()}])", f"{parts} = {parts} * 2", f"{parts}.pop(0)",
    ])  # fmt: skip
    join = s.chosen([f"flambeau.stack({parts}).sum(0)", f"flambeau.cat({parts}).reshape(-1, v.size(0)).mean(0)"])
    return [
        *lines(f"{parts} = [{s.row()}, {s.row()}.sin()]"),
        Compound(f"for {i} in range(k):", [lines(f"{parts}.append({parts}[-1] * {s.row()})")]),
        *lines(change, f"{result} = {join}.tanh()"),
        Compound(f"for {p} in {parts}:", [lines(f"{result} = {result} + {p} * {p} * 0.2")]),
    ]


def optional(s: Source, result: str) -> list[Node]:
    """A tensor that is there from the first round on that a condition holds in."""
    best, i = s.name("best"), s.name("i")
    inside = Compound(
        f"if {best} is None:", [lines(f"{best} = {s.row()} * 0.5"), lines(f"{best} = ({best} + {s.row()}).sin()")], ["else:"]
    )
    return [
        *lines(f"{best}: Optional[Tensor] = None"),
        Compound(f"for {i} in range(k):", [[Compound(f"if {s.decision()}:", [[inside]])]]),
        Compound(f"if {best} is None:", [lines(f"{result} = {s.row()}"), lines(f"{result} = {best} * 1.2")], ["else:"]),
    ]


def object_state(s: Source, result: str) -> list[Node]:
    """An object whose attributes a loop changes."""
    state, i, last = s.name("state"), s.name("i"), s.name("last")
    change = lines(f"{last} = {state}.step({s.row()}, 0.2)")
    if s.chosen(["directly", "by method"]) == "directly":
        change = lines(f"{state}.place = {state}.place * {state}.speed.cos()", f"{state}.speed = {state}.speed - {s.row()} * 0.1")
    return [
        *lines(f"{state} = State({s.row()}, {s.row()})"), Compound(f"for {i} in range(k):", [change]),
        *lines(f"{result} = {state}.place * 0.5 + {state}.speed"),
    ]  # fmt: skip


def nested_function(s: Source, result: str) -> list[Node]:
    """A function within the function, which captures tensors, called in a loop."""
    f, i = s.name("inner"), s.name("i")
    body = lines(f"return (a * {s.row()} + {s.row()}).sin()")
    return [
        Compound(f"def {f}(a: Tensor) -> Tensor:", [body]), *lines(f"{result} = {f}({s.row()})"),
        Compound(f"for {i} in range(k):", [lines(f"{result} = {f}({result}) * 0.8")]),
    ]  # fmt: skip


def several(s: Source, result: str) -> list[Node]:
    """Operators with several results."""
    a, b, c = s.name("u"), s.name("u"), s.name("u")
    texts = s.chosen([
        f"{a}, {b} = ({s.row()} * x).max(0); {result} = {a} * 0.7",
        f"{a}, {b} = x.sort(0); {result} = ({a} * flambeau.arange(x.size(0), dtype=flambeau.float64).unsqueeze(1)).sum(0).tanh()",
        f"{a}, {b} = flambeau.cat([{s.row()}, {s.row()}]).split(v.size(0)); {result} = {a} * {b}.sin()",
        f"{a}, {b}, {c} = flambeau.stack([{s.row()}, {s.row()}, v]).unbind(0); {result} = {a} * {c} + {b}",
        f"{a}, {b} = flambeau.stack([{s.row()}, {s.row()}]).chunk(2); {result} = ({a} - {b}).squeeze(0).sin()",
        f"{a}, {b} = flambeau.topk({s.row()}, 1); {result} = {a} * {s.row()}",
        f"{a}, {b} = flambeau.var_mean(x, 0, correction=0); {result} = {a} * 0.5 + {b}",
        f"{a}, {b} = flambeau.frexp({s.row()} + 3); {result} = {a} * 0.1",
    ])  # fmt: skip
    return lines(*texts.split("; "))


def indexed(s: Source, result: str) -> list[Node]:
    """What is gathered, scattered, padded and solved."""
    index = "flambeau.arange(v.size(0)).flip(0)"
    return lines(f"{result} = " + s.chosen([
        f"{s.row()}[{index}].sin()", f"{s.row()}.gather(0, {index}) * {s.row()}", f"flambeau.zeros_like(v).index_add(0, {index}, {s.row()})",
        f"{s.row()}.scatter(0, {index}[:1], {s.row()} * 2)", f"flambeau.nn.functional.pad({s.row()}, [1, 0])[:-1].tanh()",
        f"flambeau.linalg.solve(x.t() @ x + 3 * flambeau.eye(v.size(0), dtype=flambeau.float64), {s.row()})",
        f"{s.row()}.narrow(0, -1, 1) * {s.row()}", f"flambeau.logaddexp({s.row()}, {s.row()})", f"flambeau.cumprod({s.row()}, 0).tanh()",
        f"flambeau.nn.functional.logsigmoid({s.row()})", f"flambeau.maximum({s.row()}, {s.row()} * 0.9 + 0.01)",
        f"flambeau.lerp({s.row()}, {s.row()}, 0.3)", f"flambeau.complex({s.row()}, {s.row()}).abs()",
        f"(flambeau.complex({s.row()}, v) * flambeau.complex(v, {s.row()}).conj()).real.tanh()",
        "flambeau.triu(x.t() @ x).sum(0).tanh()", f"flambeau.addmv({s.row()}, x.t(), w).tanh()",
    ]))  # fmt: skip


def listed_numbers(s: Source, result: str) -> list[Node]:
    """Numbers of elements in a list, and what is made of them."""
    parts, i, p, row = s.name("parts"), s.name("i"), s.name("p"), s.row()
    make = s.chosen(["loop", "comprehension", "tolist"])
    nodes: list[Node] = {
        "loop": [
            *lines(f"{parts} = [float(w[0])]"),
            Compound(f"for {i} in range({row}.size(0)):", [lines(f"{parts}.append({parts}[-1] * 0.5 + float({row}[{i}]))")]),
        ],
        "comprehension": lines(f"{parts} = [float({row}[{i}]) * 0.5 for {i} in range({row}.size(0))]"),
        "tolist": lines(f"{parts}: list[float] = {row}.tolist()"),
    }[make]  # fmt: skip
    uses = [
        lines(f"{result} = {s.row()} * sum({parts})"), lines(f"{result} = {s.row()} * max({parts}) + min({parts})"),
        lines(f"{result} = flambeau.tensor({parts}, dtype=flambeau.float64)[-v.size(0):] * {s.row()}"),
        [*lines(f"{result} = {s.row()} * 0.2"), Compound(f"for {p} in {parts}:", [lines(f"{result} = ({result} + {p}).sin()")])],
        [
            *lines(f"{result} = {s.row()} * 0.2"),
            Compound(f"for {i} in range(len({parts})):", [lines(f"{parts}[{i}] = {parts}[{i} - 1] * {parts}[{i}]")]),
            *lines(f"{result} = {result} + {parts}[0] * {parts}[-1]"),
        ],
    ]  # fmt: skip
    return [*nodes, *uses[int(s.chosen([str(n) for n in range(len(uses))]))]]


def counted_numbers(s: Source, result: str) -> list[Node]:
    """A number that a loop over elements carries, written into a tensor."""
    c, i, row = s.name("c"), s.name("i"), s.row()
    step = s.chosen([
        f"{c} = {c} * 0.5 + float({row}[{i}]) * math.sin({c} + 0.1)", f"{c} = math.tanh({c} + {row}[{i}].item())",
        f"{c} += float({row}[{i}]) ** 2 / (1.0 + abs({c}))", f"{c} = max({c}, float({row}[{i}])) * 0.9",
    ])  # fmt: skip
    write = s.chosen([f"{result}[{i}] = {c}", f"{result}[{i}] += {c} * 0.5", f"{result}[0] *= {c}", f"{result}.add_({c})"])
    return [
        *lines(f"{c} = 0.1", f"{result} = {s.row()}.clone()"),
        Compound(f"for {i} in range({row}.size(0)):", [lines(step, write)]),
    ]


OF_TENSORS: tuple[Maker, ...] = (
    pair, dictionary, rows, sliced, optional, object_state, nested_function, several, several, indexed, indexed,
)  # fmt: skip
OF_NUMBERS: tuple[Maker, ...] = (listed_numbers, counted_numbers)
