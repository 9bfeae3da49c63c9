"""Classes, dataclasses, interfaces, named tuples and enums."""

from __future__ import annotations

from tests.language.rows import Row, accepted, refused

TITLE = "Classes"
ORDER = 60

COUNTER = """
    class C:
        def __init__(self, n: int):
            self.n = n

        def step(self, by: int = 1) -> int:
            self.n += by
            return self.n
    """

ITERATOR = """
    class It:
        def __init__(self, n: int):
            self.n = n
            self.i = 0

        def __iter__(self):
            return self

        def __next__(self) -> int:
            if self.i >= self.n:
                raise StopIteration
            self.i += 1
            return self.i
    """

ROWS: list[Row] = [
    accepted(
        "objects made in a program",
        COUNTER
        + """
    def f(k: int):
        c = C(k)
        c.step()
        c.n *= 2
        return c.step(by=3), c.n
    """,
        "f(1)",
    ),
    accepted(
        "objects that Python passes in are changed, not copied",
        COUNTER
        + """
    def f(c: C):
        return c.step()

    def twice(g):
        c = C(1)
        return g(c), g(c), c.n
    """,
        "twice(f)",
        torch=False,
    ),
    accepted(
        "lists in attributes are shared too",
        """
        class C:
            def __init__(self, items: List[int]):
                self.items = items

        def f(c: C):
            c.items.append(7)
            return c.items

        def shared(g):
            mine = [1]
            return g(C(mine)) is mine, mine
        """,
        "shared(f)",
        torch=False,
    ),
    accepted(
        "identity",
        COUNTER
        + """
    def f(k: int):
        a = C(k)
        b = a
        b.n = 7
        return a is b, a is not C(k), a.n
    """,
        "f(1)",
    ),
    accepted(
        "attributes with declared types",
        """
        class C:
            def __init__(self):
                self.items: List[int] = []
                self.best: Optional[float] = None
                self.pair = (1, 'a')

        def f(k: int):
            c = C()
            c.items.append(k)
            c.best = k / 2
            return c.items, c.best, c.pair[1]
        """,
        "f(3)",
        torch=False,
    ),
    accepted(
        "annotations in the class body",
        """
        class C:
            items: List[int]
            best: Optional[int]

            def __init__(self, k: int):
                self.items = []
                if k > 2:
                    self.best = k
                else:
                    self.best = None

        def f(k: int):
            c = C(k)
            c.items.append(k)
            return c.items, c.best
        """,
        "f(1)",
        "f(3)",
        torch=False,
    ),
    accepted(
        "properties, static and class methods",
        """
        class C:
            def __init__(self, n: int):
                self.n = n

            @property
            def double(self) -> int:
                return 2 * self.n

            @double.setter
            def double(self, value: int):
                self.n = value // 2

            @staticmethod
            def add(a: int, b: int) -> int:
                return a + b

            @classmethod
            def make(cls, k: int):
                return cls(k + 1)

        def f(k: int):
            c = C.make(k)
            before = c.double
            c.double = 20
            return before, c.n, C.add(1, 2), c.add(3, 4)
        """,
        "f(1)",
        torch=False,
    ),
    accepted(
        "operators",
        """
        class V:
            def __init__(self, x: float):
                self.x = x

            def __add__(self, other: 'V') -> 'V':
                return V(self.x + other.x)

            def __mul__(self, k: float) -> 'V':
                return V(self.x * k)

            def __neg__(self) -> 'V':
                return V(-self.x)

            def __eq__(self, other: 'V') -> bool:
                return self.x == other.x

            def __lt__(self, other: 'V') -> bool:
                return self.x < other.x

            def __len__(self) -> int:
                return 3

            def __getitem__(self, i: int) -> float:
                return self.x * i

            def __setitem__(self, i: int, value: float):
                self.x = i + value

            def __contains__(self, k: float) -> bool:
                return k == self.x

            def __call__(self, k: float) -> float:
                return self.x + k

            def __bool__(self) -> bool:
                return self.x > 0

            def __str__(self) -> str:
                return 'V!'

        def f(x: float):
            a, b = V(x), V(1.0)
            c = -(a + b * 2.0)
            d = (c == a, a < b, len(a), a[2], 1.0 in b, a(1.0), bool(c), str(a))
            a[1] = 0.5
            return c.x, d, a.x
        """,
        "f(2.0)",
    ),
    accepted(
        "reflected operators, truth by length, objects in texts",
        """
        class V:
            def __init__(self, x: int):
                self.x = x

            def __radd__(self, k: int) -> int:
                return k + self.x

            def __rsub__(self, k: int) -> int:
                return k - self.x

            def __gt__(self, k: int) -> bool:
                return self.x > k

            def __len__(self) -> int:
                return self.x

            def __repr__(self) -> str:
                return 'V(' + str(self.x) + ')'

        def f(k: int):
            v = V(k)
            return 5 + v, 5 - v, 1 < v, 1 if v else 0, f'{v}'
        """,
        "f(0)",
        "f(3)",
        torch=False,
    ),
    accepted(
        "objects are sorted by __lt__",
        """
        class V:
            def __init__(self, x: int):
                self.x = x

            def __lt__(self, other: 'V') -> bool:
                return self.x < other.x

        def f(k: int):
            vs = [V(3), V(k), V(2)]
            vs.sort()
            return [v.x for v in vs], [v.x for v in sorted([V(9), V(k)])]
        """,
        "f(1)",
    ),
    accepted(
        "inheritance: what is inherited is compiled for the class",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a

            def value(self) -> int:
                return self.a

            def shown(self) -> str:
                return 'value ' + str(self.value())

        class Derived(Base):
            def __init__(self, a: int):
                super().__init__(a + 1)
                self.b = 10

            def value(self) -> int:
                return super().value() + self.b

        def f(k: int):
            d = Derived(k)
            return d.shown(), Base(k).shown(), isinstance(d, Base)
        """,
        "f(1)",
        torch=False,
    ),
    accepted(
        "objects of subclasses where the base is declared: the object says which method runs",
        """
        class Shape:
            def __init__(self, name: str):
                self.name = name

            def area(self) -> float:
                return 0.0

            def shown(self) -> str:
                return self.name + str(self.area())

        class Square(Shape):
            def __init__(self, a: float):
                super().__init__('square')
                self.a = a

            def area(self) -> float:
                return self.a * self.a

        class Disc(Shape):
            def area(self) -> float:
                return 3.0

        def f(k: float):
            shapes: List[Shape] = [Square(k), Disc('disc'), Shape('none')]
            sides = 0.0
            for shape in shapes:
                if isinstance(shape, Square):
                    sides += shape.a
            return [shape.area() for shape in shapes], shapes[0].shown(), sides
        """,
        "f(2.5)",
        torch=False,
    ),
    accepted(
        "setattr",
        COUNTER
        + """
    def f(k: int):
        c = C(k)
        setattr(c, 'n', c.n + 5)
        return c.n, getattr(c, 'n'), getattr(c, 'm', 7)
    """,
        "f(1)",
        torch=False,
    ),
    accepted(
        "contexts",
        """
        class Log:
            def __init__(self):
                self.lines: List[str] = []

            def __enter__(self) -> int:
                self.lines.append('in')
                return len(self.lines)

            def __exit__(self, type: Any, value: Any, tb: Any):
                self.lines.append('out')

        def f(k: int):
            log = Log()
            for i in range(k):
                with log as n:
                    if i == 1:
                        continue
                    log.lines.append(str(n))
            return log.lines
        """,
        "f(2)",
    ),
    accepted(
        "objects that refer to their own class",
        """
        class Node:
            def __init__(self, value: int):
                self.value = value
                self.next: Optional[Node] = None

        def f(k: int):
            head = Node(0)
            last = head
            for i in range(k):
                made = Node(i + 1)
                last.next = made
                last = made
            total = 0
            at: Optional[Node] = head
            while at is not None:
                total = total * 10 + at.value
                at = at.next
            return total
        """,
        "f(4)",
        torch=False,
    ),
    accepted(
        "isinstance and hasattr",
        COUNTER
        + """
    def f(k: int):
        x: Union[C, int] = C(k)
        if isinstance(x, C):
            return x.n, hasattr(x, 'n'), hasattr(x, 'm'), getattr(x, 'n')
        return 0, False, False, 0
    """,
        "f(4)",
    ),
    accepted(
        "an interface",
        """
        @jit.interface
        class Shape:
            def area(self) -> float:
                pass

        class Square:
            def __init__(self, a: float):
                self.a = a

            def area(self) -> float:
                return self.a * self.a

        class Circle:
            def __init__(self, r: float):
                self.r = r

            def area(self) -> float:
                return 3.0 * self.r * self.r

        def f(k: float):
            shapes: List[Shape] = [Square(k), Circle(k)]
            total = 0.0
            for shape in shapes:
                total += shape.area()
            return total
        """,
        "f(2.0)",
        torch=False,
    ),
    accepted(
        "a dataclass",
        """
        from dataclasses import dataclass, field

        @dataclass(order=True)
        class P:
            x: int
            y: float = 0.5
            tags: List[str] = field(default_factory=list, compare=False)

            def norm(self) -> float:
                return self.x * self.x + self.y * self.y

        def f(k: int):
            p, q = P(k), P(2, y=1.5)
            p.tags.append('a')
            return p.norm(), p == P(k), p < q, p.tags, q.tags
        """,
        "f(1)",
        torch=False,
    ),
    accepted(
        "a dataclass with __post_init__",
        """
        from dataclasses import InitVar, dataclass, field

        @dataclass
        class P:
            x: int
            scale: InitVar[int] = 2
            scaled: int = field(init=False)

            def __post_init__(self, scale: int):
                self.scaled = self.x * scale

        def f(k: int):
            return P(k).scaled, P(k, 5).scaled
        """,
        "f(3)",
        torch=False,
    ),
    accepted(
        "named tuples",
        """
        class P(NamedTuple):
            x: int
            y: float = 2.5

        def f(p: P):
            a, b = p
            q = P(y=1.0, x=4)
            return q, P(7), a + q.x, p[1], q.y == b
        """,
        "f(P(1))",
    ),
    accepted(
        "collections.namedtuple: fields are tensors",
        """
        from collections import namedtuple

        P = namedtuple('P', ['x', 'y'])

        def f(x: Tensor):
            p = P(x, x + 1)
            return p.y, p
        """,
        "f(flambeau.ones(1))",
    ),
    accepted(
        "enums",
        """
        from enum import Enum

        class Color(Enum):
            RED = 1
            GREEN = 2

        def f(c: Color):
            names: List[str] = []
            for m in Color:
                names.append(m.name)
            return c == Color.RED, c != Color.GREEN, c.name, c.value + 1, names, Color.GREEN
        """,
        "f(Color.RED)",
    ),
    accepted(
        "enums by value and by name",
        """
        from enum import Enum

        class Color(Enum):
            RED = 1
            GREEN = 2

        def f(n: int, name: str):
            found: List[str] = []
            try:
                found.append(Color(n).name)
                found.append(Color[name].name)
            except ValueError as e:
                found.append(str(e))
            except KeyError:
                found.append("no name")
            return found, Color(1) is Color.RED
        """,
        "f(2, 'RED')",
        "f(5, 'RED')",
        "f(1, 'BLUE')",
        torch=False,
    ),
    accepted(
        "named tuples whose fields say no types",
        """
        from collections import namedtuple

        Point = namedtuple("Point", "x y")

        def f(n: int):
            p = Point(n, 2.5)
            return p.x + p.y, p[0], len(p), p._replace(x=3).x
        """,
        "f(3)",
        torch=False,
    ),
    accepted(
        "static and class methods of named tuples and enums",
        """
        from enum import Enum

        class P(NamedTuple):
            a: int

            @staticmethod
            def twice(n: int) -> int:
                return n * 2

            @classmethod
            def make(cls, n: int) -> 'P':
                return cls(n + 1)

        class Color(Enum):
            RED = 1
            GREEN = 2

            @staticmethod
            def pick(n: int) -> 'Color':
                return Color.RED if n > 1 else Color.GREEN

        def f(n: int):
            p = P.make(n)
            return P.twice(n), p.a, p.twice(4), p.make(7), Color.pick(n).value
        """,
        "f(1)",
        "f(2)",
        torch=False,
    ),
    refused(
        "a method that a class of named tuples does not have",
        """
        class P(NamedTuple):
            a: int

        def f(n: int):
            return P.twice(n)
        """,
        "P' has no attribute 'twice'",
    ),
    accepted(
        "equality and order of dataclasses that inherit",
        """
        from dataclasses import dataclass

        @dataclass(order=True)
        class A:
            a: int

            def same(self, other: 'A') -> bool:
                return self == other

        @dataclass
        class B(A):
            b: int = 2

        def f(n: int):
            mixed = A(n).same(B(n)), B(n).same(A(n)), B(n) == A(n), A(n) != B(n)
            return mixed, B(n).same(B(n)), B(1, 5) < B(1, 7), [x.a for x in sorted([B(n), B(1), B(2)])]
        """,
        "f(3)",
        torch=False,
    ),
    accepted(
        "enums compared by identity",
        """
        from enum import Enum

        class Color(Enum):
            RED = 1
            GREEN = 2

        def f(c: Color):
            return c is Color.RED, c is not Color.RED
        """,
        "f(Color.RED)",
        "f(Color.GREEN)",
        torch=False,
    ),
    refused(
        "a type that changes",
        COUNTER
        + """
    def f(c: C):
        c.n = 'a'
    """,
        "Wrong type for attribute assignment. Expected int but got str",
    ),
    refused(
        "a new attribute outside __init__",
        COUNTER
        + """
    def f(c: C):
        c.m = 1
    """,
        "Tried to set nonexistent attribute: m. Did you forget to initialize it in __init__()?",
    ),
    refused(
        "an attribute that is not there",
        COUNTER
        + """
    def f(c: C):
        return c.m
    """,
        "object has no attribute or method 'm'",
        "c.m",
    ),
    refused(
        "a first assignment inside of control flow",
        """
        class C:
            def __init__(self, k: int):
                if k > 2:
                    self.a = k

        def f(k: int):
            return C(k)
        """,
        "assignment cannot be in a control-flow block",
        "self.a = k",
    ),
    refused(
        "attributes of the class",
        """
        class C:
            K = 3

            def __init__(self):
                self.n = 1

        def f():
            return C().K
        """,
        "'K' is defined as a class attribute which currently is not supported",
    ),
    refused(
        "a class without __init__",
        """
        class C:
            pass

        def f():
            return C()
        """,
        "does not have an __init__ function defined",
    ),
    refused(
        "mutable defaults",
        """
        class C:
            def __init__(self):
                self.n = 1

            def use(self, x: List[int] = []) -> int:
                return len(x)

        def f(c: C):
            return c.use()
        """,
        "Mutable default parameters are not supported because Python binds them to the function",
    ),
    refused(
        "equality that nobody wrote",
        COUNTER
        + """
    def f(c: C):
        return c == c
    """,
        "has no attribute or method '__eq__'",
    ),
    accepted(
        "iteration over an object: __iter__ gives a list, or yields",
        """
        class Bag:
            def __init__(self, items: List[int]):
                self.items = items

            def __iter__(self):
                return iter(self.items)

        class Doubled:
            def __init__(self, bag: Bag):
                self.bag = bag

            def __iter__(self):
                for x in self.bag:
                    if x > 0:
                        yield 2 * x

        def f(items: List[int], k: int):
            bag = Bag(items)
            a, b, c = Doubled(bag)
            t = 0
            for i, x in enumerate(bag):
                if x == k:
                    break
                t = 10 * t + i * x
            return t, [x + 1 for x in Doubled(bag)], sum(bag), max(bag), sorted(bag), list(bag), k in bag, a + b - c
        """,
        "f([3, 1, -2, 4], 4)",
        "f([1, 1, 1], 2)",
        torch=False,
    ),
    accepted(
        "an iterator of one's own, item by item",
        ITERATOR
        + """
    def f(n: int):
        total = 0
        it = It(n)
        for i in it:
            if i == 2:
                continue
            if i == 5:
                break
            for j in It(i):
                total += j
        else:
            total += 1000
        return total, it.i, 2 in it, it.i
    """,
        "f(3)",
        "f(9)",
        "f(0)",
        torch=False,
    ),
    accepted(
        "iterators where anything is gone over",
        ITERATOR
        + """
    class Items:
        def __init__(self, n: int):
            self.n = n

        def __iter__(self):
            return It(self.n)

    def f(n: int):
        a, b = Items(2)
        it = iter(Items(n))
        pairs = [(i, v) for i, v in enumerate(Items(n))]
        ends = next(It(n)), next(iter(Items(9))), 3 in Items(n)
        return [x * x for x in Items(n)], sum(It(n)), list(it), (a, b), pairs, ends
    """,
        "f(3)",
        "f(1)",
        torch=False,
    ),
    accepted(
        "returning out of a loop over an iterator, and errors that end it",
        ITERATOR
        + """
    class Bad:
        def __init__(self, n: int):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self) -> int:
            self.n -= 1
            if self.n < 0:
                raise ValueError("too far")
            return self.n

    def f(n: int):
        for i in It(n):
            if i == 3:
                return i * 100
        try:
            for i in Bad(n):
                n += i
        except ValueError as error:
            return -n
        return n
    """,
        "f(5)",
        "f(2)",
        torch=False,
    ),
    accepted(
        "objects with __getitem__ alone, until IndexError",
        """
        class Squares:
            def __init__(self, n: int):
                self.n = n

            def __getitem__(self, i: int) -> int:
                if i >= self.n:
                    raise IndexError("no more")
                return i * i

        class Words:
            def __init__(self, words: List[str]):
                self.words = words

            def __getitem__(self, i: int):
                return self.words[i]

        def f(n: int):
            text = ""
            for w in Words(["a", "b", "c"]):
                text += w
            a, b, c = Squares(3)
            return text, 4 in Squares(n), 5 in Squares(n), [x for x in Squares(n) if x > 0], (a, b, c), max(Squares(3))
        """,
        "f(3)",
        "f(1)",
        torch=False,
    ),
    refused(
        "__iter__ that gives an object without __next__",
        """
        class C:
            def __init__(self):
                self.n = 1

            def __iter__(self):
                return self

        def f():
            for x in C():
                pass
        """,
        "which has no __next__: return self, a list, or yield",
        torch=False,
    ),
    refused(
        "iteration over an object without __iter__",
        COUNTER
        + """
    def f(c: C):
        for x in c:
            pass
    """,
        "object is not iterable",
    ),
    accepted(
        "methods that call themselves and each other, where they declare what they return",
        """
        class Tree:
            def __init__(self, value: int, depth: int = 0):
                self.value = value
                self.left: Optional['Tree'] = None
                self.right: Optional['Tree'] = None
                if depth > 0:
                    self.left = Tree(value - 10, depth - 1)

            def insert(self, value: int) -> None:
                if value < self.value:
                    left = self.left
                    if left is None:
                        self.left = Tree(value)
                    else:
                        left.insert(value)
                elif self.right is not None:
                    self.right.insert(value)
                else:
                    self.right = Tree(value)

            @property
            def total(self) -> int:
                t = self.value
                for kid in (self.left, self.right):
                    if kid is not None:
                        t += kid.total
                return t

            def even(self, n: int) -> bool:
                return n == 0 or self.odd(n - 1)

            def odd(self, n: int) -> bool:
                return n != 0 and self.even(n - 1)

            @staticmethod
            def fib(n: int) -> int:
                return n if n < 2 else Tree.fib(n - 1) + Tree.fib(n - 2)

            @classmethod
            def deep(cls, n: int) -> int:
                return 0 if n == 0 else 1 + cls.deep(n - 1)

        def f(values: List[int], n: int):
            tree = Tree(values[0], 2)
            for v in values:
                tree.insert(v)
            return tree.total, tree.even(n), tree.odd(n), Tree.fib(n), tree.deep(n)
        """,
        "f([5, 2, 9, 3], 6)",
        "f([5], 3)",
        torch=False,
    ),
    refused(
        "a method that calls itself and does not say what it returns",
        """
        class C:
            def __init__(self):
                self.n = 1

            def down(self, k: int):
                return self.down(k - 1) if k > 0 else abs(k)

        def f(k: int):
            return C().down(k)
        """,
        "function 'C.down' is called recursively. Recursive calls are not supported",
        "self.down",
    ),
    refused(
        "sorting without order",
        COUNTER
        + """
    def f(cs: List[C]):
        cs.sort()
    """,
        "must define a __lt__",
        torch=False,
    ),
    refused(
        "a subclass that is defined when its base was compiled already",
        COUNTER
        + """
    def g(c: C):
        return c.n

    flambeau.script(g)

    class D(C):
        pass

    def f(c: C):
        return c.n
    """,
        "an instance of 'D', a subclass of 'C', which was compiled when it had no subclasses",
        calls=("f(D(1))",),
        torch=False,
    ),
    refused(
        "an object that lost an attribute",
        COUNTER
        + """
    def broken():
        c = C(1)
        del c.n
        return c

    def f(c: C):
        return c.n
    """,
        "missing attribute n",
        calls=("f(broken())",),
        torch=False,
    ),
    refused(
        "a class that does not have an interface's method",
        """
        @jit.interface
        class Shape:
            def area(self) -> float:
                pass

        class Line:
            def __init__(self):
                self.n = 1

        def f():
            shape: Shape = Line()
            return shape
        """,
        "Variable 'shape' is annotated with type",
        torch=False,
    ),
    refused(
        "a member that an enum does not have",
        """
        from enum import Enum

        class Color(Enum):
            RED = 1

        def f():
            return Color.PURPLE
        """,
        "has no attribute 'PURPLE'",
        "Color.PURPLE",
    ),
    refused(
        "enums of several kinds of values",
        """
        from enum import Enum

        class Mixed(Enum):
            A = 1
            B = 'b'

        def f(x: Mixed):
            return x
        """,
        "Could not unify type list",
    ),
    refused(
        "a named tuple of wrong values",
        """
        class P(NamedTuple):
            x: int

        def f():
            return P('a')
        """,
        "Expected a value of type 'int' for argument 'x' but instead found type 'str'",
    ),
    accepted(
        "classes in classes",
        """
        import enum

        class Graph:
            class Kind(enum.Enum):
                LEAF = 1
                INNER = 2

            class Pair(NamedTuple):
                a: int
                b: float

            class Node:
                class Mark:
                    def __init__(self, text: str):
                        self.text = text

                def __init__(self, v: int, owner: "Graph"):
                    self.v = v
                    self.kind = Graph.Kind.LEAF
                    self.mark = Graph.Node.Mark("m" * v)
                    self.out: List["Graph.Node"] = []

            def __init__(self):
                self.nodes: List[Graph.Node] = []

            def add(self, v: int) -> "Graph.Node":
                made = self.Node(v, self)
                if v > 3:
                    made.kind = self.Kind.INNER
                self.nodes.append(made)
                return made

            @classmethod
            def of(cls, n: int) -> "Graph":
                g = cls()
                for i in range(n):
                    g.add(i * 3).out.append(cls.Node(i, g))
                return g

        def f(n: int):
            g = Graph.of(n)
            last: Graph.Node = g.nodes[-1]
            pair = Graph.Pair(n, 0.5)
            kind = last.kind == Graph.Kind.INNER
            return [a.v for a in g.nodes], kind, last.out[0].mark.text, pair.b, isinstance(last, Graph.Node), Graph.Kind.LEAF.value
        """,
        "f(3)",
        "f(1)",
        torch=False,
    ),
    accepted(
        "classes that a function defines, in functions inside it",
        """
        def make():
            class Point:
                class Unit:
                    def __init__(self, name: str):
                        self.name = name

                def __init__(self, n: int):
                    self.n = n

            def outer(n: int):
                def inner(m: int):
                    return Point(m + 1).n, Point.Unit("cm").name

                return inner(n)

            return outer

        made = make()

        def f(n: int):
            return made(n)
        """,
        "f(3)",
        torch=False,
    ),
    refused(
        "a class in the body of a program",
        """
        def f(n: int):
            class P:
                def __init__(self, n: int):
                    self.n = n
            return P(n).n
        """,
        "class definitions aren't supported; define the class outside of the function",
    ),
    accepted(
        "format, repr, str and hash of objects, alone and in containers",
        """
        class S:
            def __init__(self, n: int):
                self.n = n

            def __str__(self) -> str:
                return "S" + str(self.n)

            def __repr__(self) -> str:
                return "R" + str(self.n)

            def __format__(self, spec: str) -> str:
                return "F" + spec + str(self.n)

            def __hash__(self) -> int:
                return self.n * 7

        def f(n: int):
            s = S(n)
            texts = f"{s} {s:>5} {s!r} {s!s}", "{0} {0:x} {1!r}".format(s, s), "{}".format(s), "%s" % s, format(s), format(s, "q")
            return texts, str(s), repr(s), str([s]), f"{[s]}", str((s, 1)), str({1: s}), hash(s)
        """,
        "f(3)",
        torch=False,
    ),
    refused(
        "hash of an object without __hash__",
        COUNTER
        + """
    def f(n: int):
        return hash(C(n))
    """,
        "has no __hash__ of its own. Write one, of what makes two objects equal",
        "hash",
        torch=False,
    ),
    accepted(
        "issubclass",
        """
        class A:
            def __init__(self):
                self.n = 1

        class B(A):
            def more(self) -> int:
                return self.n + 1

        def f(n: int):
            b = B()
            if issubclass(A, B):
                return A().more()
            nested = issubclass(B, (str, (int, A)))
            return n if issubclass(type(b), A) and nested and issubclass(bool, int) and issubclass(KeyError, Exception) else -1
        """,
        "f(3)",
        torch=False,
    ),
    refused(
        "issubclass of a value",
        """
        def f(n: int):
            return issubclass(n, int)
        """,
        "issubclass() takes classes that are known while the program is compiled, and this is a value of type 'int'",
        "n",
    ),
]
