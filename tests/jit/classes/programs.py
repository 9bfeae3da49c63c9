"""Programs with classes, and arguments to call them with: what they do is what CPython does with the same source."""

# ruff: noqa

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Dict, Final, List, Optional, Tuple, Union

import flambeau
from flambeau import Tensor


class Counter:
    """Counts."""

    def __init__(self, n: int, step: int = 1):
        """Starts at `n`."""
        self.n = n
        self.size = step
        self.seen: List[int] = []

    def step(self, times: int = 1) -> int:
        """A step."""
        self.n += self.size * times
        self.seen.append(self.n)
        return self.n

    def add(self, other: Counter) -> Counter:
        return Counter(self.n + other.n, step=self.size)

    def clone(self):
        made = Counter(self.n, self.size)
        made.seen = self.seen
        return made

    @property
    def double(self) -> int:
        """Twice."""
        return self.n * 2

    @double.setter
    def double(self, value: int):
        self.n = value // 2

    @property
    def last(self) -> int:
        return self.seen[-1]

    @staticmethod
    def total(a: int, b: int = 10) -> int:
        return a + b

    @classmethod
    def of(cls, text: str) -> Counter:
        return cls(int(text))

    @classmethod
    def two(cls):
        return cls.of("2"), cls(3)


def attributes(c: Counter, k: int):
    c.n = k
    c.n += 2
    c.n -= 1
    c.n *= 3
    c.size, c.n = c.n, c.size
    c.seen[0:1]
    c.seen.append(5)
    c.seen[0] += 4
    return c.n, c.size, c.seen


def methods(c: Counter, k: int):
    a = c.step()
    b = c.step(k)
    d = c.step(times=k + 1)
    return a, b, d, c.n, c.seen, c.last


def construction(k: int):
    a = Counter(k)
    b = Counter(n=k, step=3)
    a.step()
    b.step(2)
    c = a.add(b)
    return a, b, c, c.n, c.size


def aliasing(c: Counter):
    d = c
    e = c.clone()
    d.step()
    e.step()
    return d is c, e is c, e is not c, c.n, e.n, e.seen, c


def properties(c: Counter):
    before = c.double
    c.double = 50
    c.double += 10
    return before, c.n, c.double


def statics(c: Counter):
    return Counter.total(1, 2), c.total(3), Counter.total(4), Counter.of("12").n, c.of("7").step(), Counter.two()[1].n


def in_containers(k: int, c: Counter):
    cs = [Counter(i) for i in range(k)]
    cs.append(c)
    total = 0
    for x in cs:
        total += x.step()
    by_name = {"a": c, "b": cs[0]}
    by_name["a"].step(100)
    by_name["c"] = Counter(1)
    pair = (c, 5)
    pair[0].n += pair[1]
    first, second = cs[0], cs[-1]
    second.n += 1
    return total, c.n, cs, len(by_name), by_name["b"].n, first.n


def made_in_branches(k: int, c: Counter):
    if k > 3:
        d = Counter(k)
    elif k > 1:
        d = c
    else:
        d = Counter(0, 5)
    for i in range(k):
        d = d.add(c) if i % 2 == 0 else d
        d.step()
        c.n += 1
    while d.n > 20:
        d.n -= 7
        if d.n == 30:
            break
    return d.n, c.n


def attribute_in_loop(c: Counter, k: int):
    total = 0
    for i in range(k):
        total += c.n
        c.n = total + i
        before = c.n
        c.step()
        total += c.n - before
    return total, c.n


def attribute_reread(c: Counter):
    a = c.n
    c.step()
    b = c.n
    d = c.clone()
    d.n = 5
    e = c.n
    return a, b, e, d.n


def optional_object(c: Optional[Counter], k: int):
    if c is None:
        c = Counter(k)
    d: Optional[Counter] = None
    if k > 2:
        d = c
    if d is not None:
        d.step()
    return c.n, d is None, d


class Node:
    def __init__(self, value: int, next: Optional[Node] = None):
        self.value = value
        self.next: Optional[Node] = next
        self.children: List[Node] = []


def linked(k: int):
    head = Node(0)
    last = head
    for i in range(k):
        made = Node(i + 1)
        last.next = made
        last.children.append(made)
        last = made
    total = 0
    at: Optional[Node] = head
    while at is not None:
        total = total * 3 + at.value + len(at.children)
        at = at.next
    return total, last.next is None, last.value


def linked_argument(node: Node):
    found: List[int] = []
    at: Optional[Node] = node
    while at is not None:
        found.append(at.value)
        at.value += 1
        at = at.next
        if len(found) > 5:
            break
    return found


class Layer:
    def __init__(self, weight: Tensor, bias: Optional[Tensor] = None):
        self.weight = weight
        self.bias = bias
        self.calls = 0

    def __call__(self, x: Tensor) -> Tensor:
        self.calls += 1
        y = x * self.weight
        bias = self.bias
        if bias is not None:
            y = y + bias
        return y


class Stack:
    def __init__(self, first: Layer, second: Layer):
        self.first = first
        self.second = second
        self.scale = 0.5

    def run(self, x: Tensor) -> Tensor:
        x = self.first(x) * self.scale
        x = flambeau.relu(x) + 1
        return self.second(x)


def nested_objects(s: Stack, x: Tensor, k: int):
    for i in range(k):
        x = s.run(x)
        s.second.calls += 10
    s.first.weight = s.first.weight + 1
    s.scale = 2.0
    return x, s.first.calls, s.second.calls, s.run(x)


def tensors_in_place(layer: Layer, x: Tensor):
    layer.weight += x
    layer.weight.mul_(2)
    layer.weight[0] = 7.0
    w = layer.weight
    layer.weight = w + 1
    return w, layer.weight


class Helpers:
    def early(self, a: int) -> int:
        return self.late(a) + self.base

    def __init__(self, base: int):
        self.base = base
        self.twice = self.late(base)
        self.pair, self.text = (base, 2.5), "x"
        if base > 3:
            self.base = 3
        for _ in range(2):
            self.base += 1

    def late(self, a: int) -> int:
        return a * 2 + self.base


def helpers_in_init(k: int):
    h = Helpers(k)
    return h.early(3), h.base, h.twice, h.pair, h.text


class Declared:
    items: List[int]
    table: Dict[str, float]
    best: Optional[int]

    def __init__(self, k: int):
        self.items = []
        self.table = {}
        if k > 2:
            self.best = k
        else:
            self.best = None

    def put(self, k: int):
        self.items.append(k)
        self.table["k"] = k / 2
        self.best = k


def declared(k: int):
    d = Declared(k)
    before = d.best
    d.put(4)
    d.items = []
    d.put(5)
    return before, d.items, d.table, d.best


class Shape:
    def __init__(self, name: str):
        self.name = name

    def area(self) -> float:
        return 0.0

    def describe(self) -> str:
        return self.name + " " + str(int(self.area() * 10))

    @staticmethod
    def unit() -> int:
        return 10

    @property
    def kind(self) -> str:
        return "shape"


class Square(Shape):
    def __init__(self, side: float):
        super().__init__("square")
        self.side = side

    def area(self) -> float:
        return self.side * self.side + super().area()

    @property
    def kind(self) -> str:
        return "square"


class Cube(Square):
    def __init__(self, side: float):
        Square.__init__(self, side)
        self.name = "cube"

    def area(self) -> float:
        return super().area() * 6 + Shape.area(self)

    def describe(self) -> str:
        return "a " + super().describe() + self.kind


def inheritance(k: float):
    s, c = Square(k), Cube(k)
    return s.describe(), c.describe(), Shape("s").describe(), s.unit(), Cube.unit(), c.kind, c.side, isinstance(c, Cube)


def known_instances(c: Cube, s: Square):
    return isinstance(c, Shape), isinstance(c, Square), isinstance(s, Cube), isinstance(s, (Cube, Shape)), isinstance(s, int)


def union_of_classes(x: Union[Counter, Square, int], k: int):
    if isinstance(x, Counter):
        x.step()
        return float(x.n)
    elif isinstance(x, Square):
        return x.area()
    else:
        return float(x + k)


def any_object(x: Any):
    if isinstance(x, Counter):
        return x.step()
    if isinstance(x, (Square, Cube)):
        return -1
    return 0


def returns_any(k: int) -> Any:
    if k > 2:
        return Counter(k)
    return [Counter(k)]


class Stored:
    def __init__(self, x: int, t: Tuple[int, float], d: Dict[str, int], u: Union[int, str], o: Optional[Tensor]):
        self.x = x
        self.t = t
        self.d = d
        self.u = u
        self.o = o


def stored(s: Stored):
    s.t = (s.t[0] + 1, s.t[1] * 2)
    s.d["new"] = s.x
    u = s.u
    if isinstance(u, int):
        s.u = "int"
    else:
        s.u = len(u)
    o = s.o
    if o is not None:
        s.o = o + 1
    else:
        s.o = flambeau.ones(1)
    return s.t, s.d, s.u, s.o


def helper(c: Counter, k: int) -> Counter:
    c.n += k
    return c


def through_functions(c: Counter):
    d = helper(c, 5)
    helper(d, 1)
    return d is c, d.n


class Empty:
    def __init__(self):
        pass

    def answer(self) -> int:
        return 42


def without_attributes():
    return Empty().answer()


def has_and_get(c: Counter):
    a = getattr(c, "n")
    b = getattr(c, "m", 9)
    if hasattr(c, "m"):
        a = c.m
    return a, b, hasattr(c, "n"), hasattr(c, "step"), hasattr(c, "double"), hasattr(c, "nothing"), hasattr(Counter, "of")


def raised_midway(c: Counter, k: int):
    c.n = k
    assert k < 3, "too large"
    c.n = 100
    return c.n


class Matrix:
    def __init__(self, rows: List[List[float]]):
        self.rows = rows

    def row(self, i: int) -> List[float]:
        return self.rows[i]

    def scaled(self, k: float) -> Matrix:
        made: List[List[float]] = []
        for row in self.rows:
            made.append([x * k for x in row])
        return Matrix(made)

    def trace(self) -> float:
        total = 0.0
        for i in range(len(self.rows)):
            total += self.rows[i][i]
        return total


def numbers_in_objects(m: Matrix, k: float):
    m.row(0)[1] = 9.0
    s = m.scaled(k)
    s.rows[1].append(k)
    return m.trace(), s.trace(), s.rows, m.rows


def _stack() -> Stack:
    return Stack(Layer(flambeau.ones(3), flambeau.ones(3)), Layer(flambeau.ones(3) * 2))


def _loop() -> Node:
    a = Node(1)
    a.next = Node(2, a)
    return a


def _counter() -> Counter:
    c = Counter(4, 2)
    c.seen = [1, 2]
    return c


Arguments = Callable[[], tuple[Any, ...]]
CASES: list[tuple[Callable[..., Any], Arguments]] = [
    (attributes, lambda: (_counter(), 7)),
    (methods, lambda: (_counter(), 3)),
    (construction, lambda: (3,)),
    (aliasing, lambda: (_counter(),)),
    (properties, lambda: (_counter(),)),
    (statics, lambda: (_counter(),)),
    (in_containers, lambda: (3, _counter())),
    (made_in_branches, lambda: (1, _counter())),
    (made_in_branches, lambda: (2, _counter())),
    (made_in_branches, lambda: (9, _counter())),
    (attribute_in_loop, lambda: (_counter(), 6)),
    (attribute_reread, lambda: (_counter(),)),
    (optional_object, lambda: (None, 1)),
    (optional_object, lambda: (_counter(), 5)),
    (linked, lambda: (5,)),
    (linked_argument, lambda: (Node(1, Node(2, Node(3))),)),
    (linked_argument, lambda: (_loop(),)),
    (nested_objects, lambda: (_stack(), flambeau.arange(3.0), 3)),
    (tensors_in_place, lambda: (Layer(flambeau.ones(3)), flambeau.arange(3.0))),
    (helpers_in_init, lambda: (2,)),
    (helpers_in_init, lambda: (7,)),
    (declared, lambda: (1,)),
    (declared, lambda: (3,)),
    (inheritance, lambda: (1.5,)),
    (known_instances, lambda: (Cube(1.0), Square(2.0))),
    (union_of_classes, lambda: (_counter(), 1)),
    (union_of_classes, lambda: (Square(3.0), 1)),
    (union_of_classes, lambda: (4, 1)),
    (any_object, lambda: (_counter(),)),
    (any_object, lambda: (Cube(1.0),)),
    (any_object, lambda: (3,)),
    (returns_any, lambda: (3,)),
    (returns_any, lambda: (1,)),
    (stored, lambda: (Stored(1, (2, 0.5), {"a": 1}, 5, None),)),
    (stored, lambda: (Stored(1, (2, 0.5), {}, "abc", flambeau.ones(2)),)),
    (through_functions, lambda: (_counter(),)),
    (without_attributes, lambda: ()),
    (has_and_get, lambda: (_counter(),)),
    (raised_midway, lambda: (_counter(), 1)),
    (numbers_in_objects, lambda: (Matrix([[1.0, 2.0], [3.0, 4.0]]), 0.5)),
]


class Context:
    def __init__(self, log: List[str]):
        self.log = log

    def __enter__(self) -> int:
        self.log.append("in")
        return len(self.log)

    def __exit__(self, type: Any, value: Any, tb: Any):
        self.log.append("out")


def contexts(c: Context, k: int):
    for i in range(k):
        with c as n, Context(c.log) as m:
            c.log.append(str(n + m))
            if i == 1:
                continue
            if i == 3:
                break
            with c:
                if i == 2 and k == 3:
                    return i
        c.log.append("after")
    return -1


CASES += [(contexts, lambda k=k: (Context([]), k)) for k in range(6)]  # type: ignore[misc]


class Private:
    __slots__ = ("_Private__hidden", "shown")

    def __init__(self, k: int):
        self.__hidden = k
        self.shown = self.__doubled()

    def __doubled(self) -> int:
        return self.__hidden * 2

    def again(self) -> Private:
        made = type(self)(self.__hidden + 1)
        made.__hidden += 10
        return self.__class__(made.__doubled())


def private_names(p: Private):
    q = p.again()
    q.shown += 1
    return q, q.shown, p.shown


class Abstract(abc.ABC):
    LIMIT: Final[int] = 5
    RATE: Final = 0.5

    def __init__(self, k: int):
        self.k = k

    @abc.abstractmethod
    def value(self) -> int:
        pass

    def limited(self) -> int:
        return min(self.value(), self.LIMIT)

    @classmethod
    def make(cls, k: int):
        return cls(k)


class Concrete(Abstract):
    def value(self) -> int:
        return self.k * 2

    def rated(self) -> float:
        return self.value() * self.RATE


def abstract_classes(k: int):
    c = Concrete.make(k)
    return c.limited(), c.rated(), Concrete.LIMIT, c


@dataclass
class Shown:
    a: int
    b: str = "x"


def generated_text(s: Shown):
    return str(s), f"{s}!", "{}".format(Shown(2))


class Left:
    def __init__(self, a: int):
        self.a = a

    def who(self) -> str:
        return "left"


class Right:
    def who(self) -> str:
        return "right"

    def other(self) -> str:
        return self.who() + "!"


class Both(Left, Right):
    def __init__(self, a: int, b: int):
        super().__init__(a)
        self.b = b

    def who(self) -> str:
        return super().who() + Right.who(self)


def several_bases(b: Both):
    return b.who(), b.other(), b.a + b.b, Both(1, 2)


CASES += [
    (private_names, lambda: (Private(3),)),
    (abstract_classes, lambda: (2,)),
    (abstract_classes, lambda: (9,)),
    (generated_text, lambda: (Shown(1),)),
    (several_bases, lambda: (Both(3, 4),)),
]
