"""Modules and functions for the tests of archives: whatever a program may keep or say, each once."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor, jit, nn


class Color(Enum):
    RED = 1
    GREEN = 2


class Mode(Enum):
    SUM = "sum"
    MEAN = "mean"


class Point(NamedTuple):
    x: Tensor
    n: int


class Named(NamedTuple):
    """In signatures alone."""

    values: list[int]
    color: Color


class Counter:
    def __init__(self, start: int) -> None:
        self.count = start
        self.seen: dict[str, list[int]] = {}

    def step(self, by: int = 1) -> int:
        self.count += by
        return self.count

    def note(self, name: str) -> int:
        if name not in self.seen:
            self.seen[name] = []
        self.seen[name].append(self.count)
        return len(self.seen[name])

    @staticmethod
    def double(n: int) -> int:
        return 2 * n

    def __add__(self, other: Counter) -> Counter:
        return Counter(self.count + other.count)


@jit.interface
class Steps:
    def step(self, by: int = 1) -> int:
        pass


@jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


@jit.unused
def not_compiled(x: Tensor) -> Tensor:
    yield x


@jit.ignore(drop=True)
def dropped(x: Tensor) -> Tensor:
    return x + len({1, 2})


def helper(x: Tensor, k: int = 2) -> Tensor:
    return x * k


def mangled_one() -> Callable[[Tensor], Tensor]:
    def shared(x: Tensor) -> Tensor:
        return x + 1.0

    return shared


def mangled_two() -> Callable[[Tensor], Tensor]:
    def shared(x: Tensor) -> Tensor:
        return x * 2.0

    return shared


first_shared, second_shared = mangled_one(), mangled_two()


class Attributes(nn.Module):
    maybe: int | None
    maybe_tensor: Tensor | None
    either: int | str
    anything: Any
    pairs: dict[str, tuple[int, float]]
    optional_tensors: list[Tensor | None]
    by_number: dict[int, str]
    empty: list[str]
    nested: list[dict[str, list[int]]]

    def __init__(self) -> None:
        super().__init__()
        self.whole, self.large, self.small = 3, 2**40, -(2**63)
        self.real, self.high, self.odd = 0.1, float("inf"), float("nan")
        self.number, self.flag, self.text = 1 - 2j, True, 'quote " back \\ new\n ünï'
        self.place = flambeau.device("cpu")
        self.maybe, self.maybe_tensor, self.either, self.anything = None, flambeau.ones(2), "a", [1, 2]
        self.pairs = {"a": (1, 0.5)}
        self.optional_tensors = [None, flambeau.ones(1)]
        self.by_number = {3: "c", -1: "d"}
        self.empty = []
        self.nested = [{"a": [1], "b": []}]
        self.ints, self.floats, self.bools = [1, 2], [0.5], [True, False]
        self.tensors = [flambeau.zeros(2), flambeau.ones(1)]
        self.mixed = (1, "a", None, (2.5, [3]))
        self.color, self.mode = Color.GREEN, Mode.MEAN
        self.colors = [Color.RED, Color.GREEN]
        self.point = Point(flambeau.ones(1), 4)

    def forward(self, n: int) -> tuple[int, float, str, Tensor, int]:
        self.whole += n
        maybe = self.maybe
        if maybe is None:
            self.maybe = n
        total = self.large + self.whole + (maybe if maybe is not None else 0)
        value = self.real + self.floats[0] + self.pairs["a"][1]
        if self.color == Color.GREEN and self.mode == Mode.MEAN:
            value += 1.0
        extra = self.optional_tensors[1]
        assert extra is not None
        x = self.tensors[1] + extra + self.point.x * self.point.n
        return total, value, self.text + self.by_number[3], x, len(self.nested[0]["a"]) + self.color.value


class Tensors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        base = flambeau.arange(12).to(flambeau.float32).reshape(3, 4)
        self.weight = nn.Parameter(base)
        self.fixed = nn.Parameter(base[1], requires_grad=False)
        self.register_buffer("turned", base.t())
        self.register_buffer("spread", flambeau.ones(1).expand(3))
        self.register_buffer("flags", flambeau.tensor([True, False]))
        self.register_buffer("halves", flambeau.ones(2).to(flambeau.float16))
        self.register_buffer("brain", flambeau.ones(2).to(flambeau.bfloat16))
        self.register_buffer("doubles", flambeau.ones(2).to(flambeau.float64))
        self.register_buffer("small", flambeau.tensor([1, -2], dtype=flambeau.int8))
        self.register_buffer("byte", flambeau.tensor([1, 255], dtype=flambeau.uint8))
        self.register_buffer("number", flambeau.tensor([1 + 2j]))
        self.register_buffer("scalar", flambeau.tensor(3))
        self.register_buffer("nothing", flambeau.zeros(0, 3))
        self.register_buffer("passing", flambeau.ones(2), persistent=False)
        self.register_buffer("absent", None)
        self.bias = nn.Parameter(flambeau.ones(4))
        self.tied = self.bias

    def forward(self, x: Tensor) -> Tensor:
        y = x @ self.turned + self.weight[:, :3] + self.fixed[:3] + self.spread + self.bias[:3] * self.tied[:3]
        y = y + self.halves.sum() + self.brain.sum() + self.doubles.sum() + self.small.sum() + self.byte.sum()
        return y + self.number.real + self.scalar + self.nothing.sum() + self.passing.sum() + self.flags.sum()


class Tree(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Linear(3, 3)
        self.list = nn.ModuleList([nn.Linear(3, 3), nn.Tanh(), self.shared])
        self.table = nn.ModuleDict({"a": nn.Linear(3, 3, bias=False), "lambda": nn.ReLU(), "1st": nn.Identity()})
        self.seq = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU()))
        self.nothing = nn.Module()
        self.none = None
        self.weights = nn.ParameterList([nn.Parameter(flambeau.ones(3)), nn.Parameter(flambeau.zeros(3))])
        self.frozen = nn.Dropout(0.5).eval()

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.list:
            x = layer(x)
        for name, layer in self.table.items():
            x = layer(x) * len(name)
        for w in self.weights:
            x = x + w
        return self.frozen(self.seq(x) + self.shared(x))


class Methods(nn.Module):
    scale: jit.Final[float]
    sizes: jit.Final[list[int]]
    label: jit.Final[str]

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.sizes, self.label = 0.5, [1, 2], "größe"
        self.n = 1

    def forward(self, x: Tensor, k: int = 3, *, name: str = "a", ratio: float | None = None) -> Tensor:
        r = self.scale if ratio is None else ratio
        return helper(x, k) * r + len(name) + self.twice + sum(self.sizes) + len(self.label)

    @jit.export
    def add(self, x: Tensor, go: bool = False) -> Tensor:
        if go:
            x = not_compiled(x)
            x = dropped(x)
        return first_shared(x) + second_shared(x)

    @jit.export
    def unpacked(self, p: Named) -> list[int]:
        return p.values

    @jit.export
    def __len__(self) -> int:
        return 7

    @property
    def twice(self) -> int:
        return self.n * 2


class Objects(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counter = Counter(3)
        self.counters = [Counter(1), Counter(2)]

    def forward(self, n: int) -> tuple[int, int, int, int]:
        steps: Steps = self.counter
        other = Counter(n) + self.counters[1]
        return steps.step(2), other.step() + self.counter.note("a"), Counter.double(n), Color.RED.value


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + x


class Interfaces(nn.Module):
    layer: Layer

    def __init__(self) -> None:
        super().__init__()
        self.layer = Double()

    def forward(self, x: Tensor) -> Tensor:
        return self.layer.forward(x)


def before(self: Any, input: tuple[Tensor]) -> tuple[Tensor]:
    return (input[0] + 1,)


def after(self: Any, input: tuple[Tensor], output: Tensor) -> Tensor:
    return output - input[0] * 3


class Hooked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Double()
        self.inner.register_forward_pre_hook(before)
        self.inner.register_forward_hook(after)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def hooked() -> nn.Module:
    made = Hooked()
    made.register_forward_hook(after)
    return made


class OwnState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.ones(2))
        self.packed = [1, 2, 3]

    @jit.export
    def __getstate__(self) -> tuple[Tensor, int, bool]:
        return self.weight * 10, len(self.packed), self.training

    @jit.export
    def __setstate__(self, state: tuple[Tensor, int, bool]) -> None:
        self.weight = state[0]
        self.packed = [state[1]]
        self.training = state[2]

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight + self.packed[0]


class OnlyMethods(nn.Module):
    @jit.export
    def size(self, x: Tensor) -> list[int]:
        return x.shape


class Flow(nn.Module):
    def forward(self, x: Tensor, n: int) -> tuple[Tensor, list[int], dict[str, Tensor], str]:
        found: list[int] = []
        table: dict[str, Tensor] = {}
        text = ""
        for i in range(0, n, 2):
            if i == 6:
                break
            if i == 2:
                continue
            found.append(i)
            table[f"k{i}"] = x + i
        while len(found) < 5:
            found.append(-1)
        with flambeau.no_grad():
            x = x * 2
        future = jit.fork(helper, x, 5)
        later = jit._awaitable(helper, x, 7)
        a = jit.wait(future) + jit._awaitable_wait(later)
        if n > 100:
            raise ValueError("too large")
        x[0] = 5.0
        x[x > 4] = -1.0
        first = found[0]
        y = flambeau.cat([x, x], dim=0).sum(dim=0, keepdim=True)
        z = [v * 2 for v in found if v > 0]
        best: Tensor | None = None
        for v in z:
            if best is None or best.sum() < v:
                best = x * v
        assert best is not None, "nothing was found"
        text = "a" if x.dtype == flambeau.float32 else "b"
        return a + best + y + first, found[1:3], table, text.upper() + "%d" % n + "é"  # noqa: UP031  (as programs write it)


class LongLines(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14 + 15 + 16 + 17 + 18 + 19 + 20 + 21
        names = ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]
        return flambeau.conv1d(y.reshape(1, 1, -1), flambeau.ones(1, 1, 1)).reshape(-1) + len(names[0])


class Random(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        g = flambeau.Generator()
        return x + flambeau.rand(2, generator=g).shape[0]


class Versions(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        full = flambeau.full((2,), 1.5)
        steps = flambeau.linspace(0.0, 1.0, 2) + flambeau.logspace(0.0, 1.0, 2)
        return flambeau.nn.functional.gelu(x) / 2 + full + steps


class Keys(nn.Module):
    """Names that are words of Python, or no names at all."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.ModuleDict({"class": nn.Tanh(), "if": nn.ReLU(), "é": nn.Identity(), "a b": nn.Sigmoid()})

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.table.values():
            x = layer(x)
        return x


class Constants(nn.Module):
    color: jit.Final[Color]
    pair: jit.Final[tuple[int, str]]
    low: jit.Final[float]
    none: jit.Final[list[float]]
    place: jit.Final[flambeau.device]

    def __init__(self) -> None:
        super().__init__()
        self.color, self.pair, self.low, self.none = Color.GREEN, (1, "é"), float("-inf"), [0.5]
        self.place = flambeau.device("cpu")

    def forward(self, x: Tensor) -> Tensor:
        if self.color == Color.GREEN:
            x = x + self.pair[0] + len(self.pair[1])
        return flambeau.maximum(x, flambeau.full_like(x, self.low)) + len(self.none)


class OldStyle(jit.ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.ones(3) * 2)

    @jit.script_method
    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


def contexts(x: Tensor) -> Tensor:
    with flambeau.enable_grad():
        x = x + 1
    with flambeau.inference_mode():
        x = x * 2
    with flambeau.set_grad_enabled(False), flambeau.autocast("cpu", dtype=flambeau.bfloat16):
        x = x - 3
    return x


class Around(nn.Module):
    """A loaded module inside another."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = jit.load(io.BytesIO(flambeau.script(Tree()).save_to_buffer()))

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) + 1


def frozen() -> Any:
    return jit.freeze(flambeau.script(Tree().eval()))


def traced() -> Any:
    return flambeau.trace(Tree().eval(), flambeau.ones(2, 3))


def function(x: Tensor, k: int = 2, *, name: str = "a") -> Tensor:
    """With defaults."""
    return helper(x, k) + len(name)


@dataclass
class Record:
    size: int = 3
    rows: list[int] = field(default_factory=list)


def keywords(x: Tensor, k: int = 2, *, scale: float, n: int = 1) -> Tensor:
    record = Record(n)
    record.rows.append(k)
    return x * scale + record.size + len(record.rows)


def calls_keywords(x: Tensor) -> Tensor:
    return keywords(x, scale=0.5) + keywords(x, 3, n=4, scale=0.25)


def vector(*values: float) -> Tensor:
    return flambeau.tensor(list(values))


def unwrapped(x: Tensor | None, k: int | None) -> Tensor:
    return flambeau.jit._unwrap_optional(x) * flambeau.jit._unwrap_optional(k)


def strict(x: Tensor) -> Tensor:
    with flambeau.jit.strict_fusion():
        return x + x + x


def by_tensor(x: Tensor, i: Tensor) -> Tensor:
    y = x.clone()
    row = y[i]
    row += 1
    return helper(y[i], 2) + y


Case = tuple[Callable[[], Any], list[tuple[str, tuple[Any, ...]]]]
_X = vector(0.5, -2.0, 3.0)
CASES: dict[str, Case] = {
    "attributes": (Attributes, [("forward", (2,)), ("forward", (5,))]),
    "tensors": (Tensors, [("forward", (flambeau.ones(3, 4),))]),
    "tree": (Tree, [("forward", (flambeau.ones(2, 3),))]),
    "methods": (Methods, [("forward", (_X,)), ("forward", (_X, 4)), ("add", (_X,)), ("__len__", ())]),
    "objects": (Objects, [("forward", (3,)), ("forward", (4,))]),
    "interfaces": (Interfaces, [("forward", (_X,))]),
    "hooked": (hooked, [("__call__", (_X,)), ("forward", (_X,))]),
    "own state": (OwnState, []),
    "only methods": (OnlyMethods, [("size", (_X,))]),
    "flow": (Flow, [("forward", (_X, 9))]),
    "long lines": (LongLines, [("forward", (_X,))]),
    "random": (Random, [("forward", (_X,))]),
    "versions": (Versions, [("forward", (vector(1.0, 2.0),))]),
    "frozen": (frozen, [("forward", (flambeau.ones(2, 3),))]),
    "traced": (traced, [("forward", (flambeau.ones(2, 3),))]),
    "function": (lambda: function, [("forward", (_X,)), ("forward", (_X, 5))]),
    "keys": (Keys, [("forward", (_X,))]),
    "constants": (Constants, [("forward", (_X,))]),
    "old style": (OldStyle, [("forward", (_X,))]),
    "contexts": (lambda: contexts, [("forward", (_X,))]),
    "around": (Around, [("forward", (flambeau.ones(2, 3),))]),
    "unwrapped": (lambda: unwrapped, [("forward", (_X, 2)), ("forward", (_X, 5))]),
    "strict": (lambda: strict, [("forward", (_X,)), ("forward", (vector(1.0, 2.0),))]),
    "by tensor": (
        lambda: by_tensor,
        [("forward", (flambeau.ones(2, 3), flambeau.tensor(i))) for i in (0, 1)]
        + [("forward", (flambeau.ones(2, 3), flambeau.tensor([1, 0])))],
    ),
    "keywords": (lambda: calls_keywords, [("forward", (_X,))]),
}
"""What makes a module or function, and methods to call with arguments, in this order on one module."""


def compiled(case: str) -> Any:
    """The module or function of a case, scripted."""
    flambeau.manual_seed(0)
    return flambeau.script(CASES[case][0]())
