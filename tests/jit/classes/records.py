"""Programs with dataclasses, named tuples and enums; what they do is what CPython does with the same source."""

# ruff: noqa

from __future__ import annotations

import enum
from collections import namedtuple
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, Dict, List, NamedTuple, Optional, Tuple, Union

import flambeau
from flambeau import Tensor


@dataclass(order=True)
class Point:
    x: int
    y: float = 2.0
    name: str = "p"

    def norm(self) -> float:
        return self.x * self.x + self.y * self.y

    def moved(self, dx: int = 1) -> Point:
        return Point(self.x + dx, self.y, name=self.name + "'")


def points(p: Point):
    q = Point(3)
    r = Point(y=1.5, x=1, name="r")
    q.x += 1
    return q.norm(), r.moved(), p.moved(2).moved().name, p == q, p != r, p == Point(1, 2.0), q


def ordered(p: Point):
    q = Point(p.x, p.y + 1)
    return p < q, p <= q, p > q, p >= q, p < p, p <= p, Point(0) < p, sorted([Point(3), Point(1), Point(2, 0.5)])


@dataclass
class Holder:
    items: List[int] = field(default_factory=list)
    table: Dict[str, float] = field(default_factory=dict)
    point: Point = field(default_factory=lambda: Point(1))
    count: int = 0
    limit: ClassVar[int] = 3


def make_point() -> Point:
    return Point(7, 0.5)


@dataclass
class Made:
    point: Point = field(default_factory=make_point)
    other: Counter = field(default_factory=lambda: Counter())
    items: List[int] = field(default_factory=list, compare=False)
    hidden: float = field(default=1.5, repr=False)
    total: int = field(init=False, default=4)
    rest: List[str] = field(init=False, default_factory=list)


class Counter:
    def __init__(self):
        self.n = 0


def factories(k: int):
    a = Made(other=Counter())
    b = Made(Point(1), Counter(), [k])
    a.items.append(k)
    a.rest.append("x")
    a.point.x += 1
    c = Made(items=[9], other=Counter())
    return a.items, b.items, c.items, a.rest, b.rest, a.total, a.point, make_point(), c.hidden


@dataclass
class Later:
    n: int
    scale: InitVar[int]
    text: Optional[str] = None
    doubled: int = field(init=False)

    def __post_init__(self, scale: int):
        self.doubled = self.n * scale
        if self.text is None:
            self.text = "none"


def post_init(k: int):
    a = Later(k, 3)
    b = Later(k, scale=2, text="given")
    return a.doubled, a.text, b.doubled, b.text, a == b, a == Later(k, 3), Later(k, 3, "none") == a


@dataclass
class Maybe:
    a: Optional[int] = None
    b: Optional[str] = None


def optional_fields(m: Maybe):
    return m == Maybe(), m == Maybe(3), m == Maybe(3, "x"), m != Maybe(3, "y"), Maybe() == Maybe()


@dataclass(kw_only=True)
class Keyword:
    a: int
    b: float = 1.0


@dataclass(frozen=True)
class Frozen:
    a: int
    b: Tuple[int, float] = (1, 2.0)

    def total(self) -> float:
        return self.a + self.b[1]


@dataclass(slots=True)
class Slotted:
    a: int
    b: Optional[Tensor] = None


def other_kinds(f: Frozen, s: Slotted):
    k = Keyword(b=2.5, a=1)
    g = Frozen(f.a + 1)
    s.a += g.a
    s.b = flambeau.ones(2)
    t = Slotted(3)
    return k.a, k.b, g.total(), g == f, s, t.b is None, Frozen(1) == Frozen(1)


@dataclass
class OwnEqual:
    a: int
    b: int

    def __eq__(self, other: OwnEqual) -> bool:
        return self.a == other.a


def own_equal(a: OwnEqual):
    return a == OwnEqual(1, 5), a != OwnEqual(2, 2), a == OwnEqual(2, 2)


@dataclass
class Base:
    a: int
    b: int = 2


@dataclass
class Derived(Base):
    c: float = 0.5

    def sum(self) -> float:
        return self.a + self.b + self.c


def derived_records(d: Derived):
    e = Derived(1, c=4.0)
    return d.sum(), e.sum(), e, d == e


@dataclass
class OwnInit:
    a: int

    def __init__(self, a: int, b: int):
        self.a = a * b


def own_init(k: int):
    return OwnInit(k, 3).a, OwnInit(k, 2) == OwnInit(2, k)


class Pair(NamedTuple):
    first: int
    second: float = 1.5
    third: Optional[str] = None
    more: Tuple[int, int] = (1, 2)


class Tree(NamedTuple):
    value: int
    pairs: List[Pair]


Plain = namedtuple("Plain", ["x", "y"])
WithDefault = namedtuple("WithDefault", ["x", "n"], defaults=[3])
Functional = NamedTuple("Functional", [("a", int), ("b", List[float])])


def tuples(p: Pair, t: Tensor):
    q = Pair(4)
    r = Pair(first=1, third="t")
    a, b, c, d = p
    plain = Plain(t, t + 1)
    f = Functional(3, [1.0])
    f.b.append(2.0)
    return q, r, a + b, c is None, p.first, p[1], p[0:2], q.more[1], plain.y, plain, f, Functional(b=[0.5], a=1), len(q)


def tuples_in_containers(ps: List[Pair], t: Tree):
    total = 0.0
    for p in ps:
        total += p.second
    by_name = {"a": ps[0], "b": Pair(8)}
    last: Optional[Pair] = None
    for q in t.pairs:
        last = q
    made = Tree(5, [Pair(1), ps[0]])
    return total, by_name, last, made, by_name["b"].first, getattr(t, "value"), getattr(t, "none", 3)


def as_plain_tuple(p: Pair) -> Tuple[int, float, Optional[str], Tuple[int, int]]:
    return p


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1


class Name(enum.Enum):
    A = "a"
    B = "b"


class Ratio(enum.Enum):
    HALF = 0.5
    QUARTER = 0.25


class Level(int, enum.Enum):
    LOW = 1
    HIGH = 2


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


Alias = Color
FAVOURITE = Color.GREEN


def enums(c: Color, n: Name):
    same = c is Color.RED
    other = c is not Color.GREEN
    return (
        same, other, c == Color.RED, c != Color.GREEN, Color.RED is Color.CRIMSON, c.name, c.value + 1, n.value + "x",
        Name.A.name, Ratio.HALF.value * 2, Color.GREEN, Alias.RED, FAVOURITE, FAVOURITE is Alias.GREEN, Color.CRIMSON.name,
    )  # fmt: skip


def enum_flow(cs: List[Color], k: int):
    total = 0
    found: List[Color] = []
    names: List[str] = []
    for c in cs:
        if c == Color.RED:
            total += 1
        elif c is Color.GREEN:
            total += 10
        found.append(Color.GREEN if c is Color.RED else Color.RED)
    for m in Color:
        names.append(m.name)
        total += m.value
    best: Optional[Color] = None
    if k > 2:
        best = Color.GREEN
    table = {"a": Color.RED}
    return total, found, names, best, best is None, table["a"], [Color.RED, Color.GREEN], (Color.RED, 1)


def enum_in_union(c: Union[Color, int, Name]):
    if isinstance(c, Color):
        return c.value
    elif isinstance(c, Name):
        return -len(c.value)
    else:
        return c


def enum_levels(a: Level, b: Number):
    return a.value, b.value, a == Level.HIGH, b is Number.TWO, a, b, a.name


def enum_any(c: Any):
    if isinstance(c, Color):
        return c.name
    return "other"


def enum_default(c: Color = Color.GREEN, p: Pair = Pair(3)):
    return c, c.value, p.first


class Painted:
    def __init__(self, color: Color, pair: Pair):
        self.color = color
        self.pair = pair
        self.names = [Name.A]

    def repaint(self, color: Color) -> bool:
        before = self.color
        self.color = color
        self.pair = Pair(self.pair.first + 1)
        self.names.append(Name.B)
        return before is color


def painted(p: Painted):
    a = p.repaint(Color.RED)
    b = p.repaint(Color.RED)
    return a, b, p.color, p.pair.first, p.names, Painted(Color.GREEN, Pair(0)).color.name


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"

    def opposite(self) -> Mood:
        return Mood.BAD if self is Mood.GOOD else Mood.GOOD

    @property
    def sign(self) -> int:
        return 1 if self == Mood.GOOD else -1

    def shown(self, times: int = 2) -> str:
        text = ""
        for _ in range(times):
            text += self.value
        return text


class Span(NamedTuple):
    start: int
    stop: int = 10

    def size(self, scale: int = 1) -> int:
        return (self.stop - self.start) * scale

    @property
    def middle(self) -> float:
        return (self.start + self.stop) / 2

    def shifted(self, by: int) -> Span:
        return Span(self.start + by, stop=self.stop + by)


def own_methods(m: Mood, s: Span):
    t = s.shifted(3)
    return m.opposite(), m.sign, m.shown(), m.shown(times=1), len(Mood), s.size(), t.size(2), t.middle, t, Span(1).size()


@dataclass(frozen=True)
class Normal:
    x: float
    y: float
    length: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "length", self.x * self.x + self.y * self.y)


def frozen_post_init(k: float):
    return Normal(k, 2.0).length, Normal(k, 2.0)


CASES: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (points, lambda: (Point(1, 2.0),)),
    (ordered, lambda: (Point(1, 2.0),)),
    (factories, lambda: (5,)),
    (post_init, lambda: (5,)),
    (optional_fields, lambda: (Maybe(3),)),
    (optional_fields, lambda: (Maybe(3, "x"),)),
    (optional_fields, lambda: (Maybe(),)),
    (other_kinds, lambda: (Frozen(1), Slotted(2))),
    (own_equal, lambda: (OwnEqual(1, 1),)),
    (derived_records, lambda: (Derived(1, 2, 3.5),)),
    (own_init, lambda: (4,)),
    (tuples, lambda: (Pair(1, 2.5), flambeau.ones(2))),
    (tuples_in_containers, lambda: ([Pair(1), Pair(2)], Tree(1, [Pair(7)]))),
    (as_plain_tuple, lambda: (Pair(1),)),
    (enums, lambda: (Color.RED, Name.B)),
    (enums, lambda: (Color.GREEN, Name.A)),
    (enum_flow, lambda: ([Color.RED, Color.GREEN, Color.RED], 3)),
    (enum_flow, lambda: ([], 1)),
    (enum_in_union, lambda: (Color.GREEN,)),
    (enum_in_union, lambda: (Name.A,)),
    (enum_in_union, lambda: (9,)),
    (enum_levels, lambda: (Level.HIGH, Number.TWO)),
    (enum_any, lambda: (Color.RED,)),
    (enum_any, lambda: (3,)),
    (enum_default, lambda: ()),
    (own_methods, lambda: (Mood.GOOD, Span(2, 5))),
    (own_methods, lambda: (Mood.BAD, Span(2))),
    (frozen_post_init, lambda: (1.5,)),
    (painted, lambda: (Painted(Color.GREEN, Pair(1)),)),
]
