"""Objects of subclasses where the base is declared, as Python runs the same programs."""

from __future__ import annotations

import pytest

import flambeau
from tests.language.rows import Row, accepted, load, refused
from tests.language.test_rows import outcome

ROWS: list[Row] = [
    accepted(
        "methods, properties, operators, isinstance, containers",
        """
        class Animal:
            def __init__(self, name: str):
                self.name = name
                self.age = 0
            def sound(self) -> str:
                return '...'
            def describe(self, times: int = 2) -> str:
                return self.name + ':' + self.sound() * times
            @property
            def legs(self) -> int:
                return 4
            def __eq__(self, o: 'Animal') -> bool:
                return self.name == o.name
            def __str__(self) -> str:
                return 'A' + self.name
            def __len__(self) -> int:
                return 1
            def __add__(self, o: 'Animal') -> str:
                return self.sound() + o.sound()
            def __call__(self, x: int) -> int:
                return x
            def grow(self, n: int):
                self.age += n
            def copy(self) -> 'Animal':
                return Animal(self.name)
            @staticmethod
            def kind() -> int:
                return 3
        class Dog(Animal):
            def sound(self) -> str:
                return 'wau'
            def copy(self) -> 'Dog':
                return Dog(self.name)
        class Bird(Animal):
            def __init__(self, name: str, wings: float):
                super().__init__(name)
                self.wings = wings
            @property
            def legs(self) -> int:
                return 2
            def sound(self) -> str:
                return 'piep' + super().sound()
            def grow(self, n: int):
                super().grow(2 * n)
            def __len__(self) -> int:
                return 5
            def __call__(self, x: int, y: int = 4) -> int:
                return x + y
            def __str__(self) -> str:
                return 'B'
        class Owl(Bird):
            def sound(self) -> str:
                return 'hu'
        def pick(k: int) -> Animal:
            if k == 0:
                return Animal('a')
            elif k == 1:
                return Dog('d')
            return Owl('o', 2.0) if k == 2 else Bird('b', 1.0)
        def f(k: int):
            zoo: List[Animal] = [Dog('x'), Owl('y', 1.0)]
            zoo.append(Bird('z', 3.0))
            zoo += [pick(k)]
            a = pick(k)
            b: Animal = Dog('q')
            d: Dict[str, Animal] = {'a': a}
            d['b'] = Dog('w')
            o: Optional[Animal] = None
            if k > 1:
                o = Bird('opt', 2.0)
            t: Tuple[Animal, int] = (Owl('t', 1.0), 3)
            for z in zoo:
                z.grow(k)
            r = [z.describe() for z in zoo]
            n = 0
            w = 0.0
            for z in zoo:
                n += z.legs * 10 + len(z) + z(3) + z.age
                if isinstance(z, Bird):
                    w += z.wings
                if isinstance(z, (Dog, Owl)):
                    n += 1000
            texts = [str(a), a + b, d['a'].sound(), d['b'].describe(1), t[0].sound(), a.copy().sound(), f'{b}']
            opt = o.sound() if o is not None else 'none'
            return r, n, w, a == b, texts, opt, a.kind(), [str(x.copy()) for x in zoo], a is pick(k), a in zoo
        def g(s, x):
            return s(x)
        """,
        "f(0)",
        "f(1)",
        "f(2)",
        "f(3)",
    ),
    accepted(
        "passed in by Python, also in containers and attributes",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
            def v(self) -> int:
                return self.a
        class D(Base):
            def v(self) -> int:
                return -self.a
        class H:
            def __init__(self, b: Base):
                self.b = b
        def f(xs: List[Base], d: Dict[str, Base], t: Tuple[Base, Base], o: Optional[Base], h: H):
            xs[0].a += 1
            r = [x.v() for x in xs]
            return r, d['a'].v(), t[0].v() + t[1].v(), o.v() if o is not None else 0, h.b.v()
        """,
        "f([Base(1), D(2)], {'a': D(5)}, (Base(1), D(7)), None, H(D(3)))",
        "f([D(1), D(2)], {'a': Base(5)}, (Base(1), D(7)), D(4), H(Base(3)))",
    ),
    accepted(
        "the same object comes back",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
        class D(Base):
            pass
        def f(x: Base) -> Base:
            return x
        def h(g, x):
            return g(x) is x
        """,
        "h(f, D(3))",
    ),
    accepted(
        "type(self) and static methods",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
            def again(self) -> 'Base':
                return type(self)(self.a + 1)
            def v(self) -> int:
                return self.s()
            @staticmethod
            def s() -> int:
                return 1
        class D(Base):
            def s2(self) -> int:
                return 4
        def f(k: int):
            x: Base = D(k)
            y = x.again()
            return isinstance(y, D), y.a, x.v()
        """,
        "f(3)",
    ),
    accepted(
        "branches with several classes",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
            def v(self) -> int:
                return self.a
        class D(Base):
            def v(self) -> int:
                return -self.a
        class E(Base):
            pass
        def f(k: int):
            x: Base = D(k) if k > 2 else E(k)
            if k > 1:
                y: Base = D(k)
            else:
                y = E(k)
            z = Base(k)
            if k > 3:
                z = D(k)
            return x.v(), y.v(), z.v()
        """,
        "f(1)",
        "f(2)",
        "f(5)",
    ),
    accepted(
        "an attribute of a module, frozen too",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
            def v(self) -> int:
                return self.a
        class D(Base):
            def v(self) -> int:
                return -self.a
        class M(flambeau.nn.Module):
            b: Base
            def __init__(self, b):
                super().__init__()
                self.b = b
            def forward(self, x):
                return x + self.b.v()
        m = flambeau.script(M(D(4)))
        assert m(flambeau.zeros(1)).item() == -4
        z = flambeau.jit.freeze(flambeau.script(M(D(4)).eval()))
        assert z(flambeau.zeros(1)).item() == -4
        def f(k: int):
            return k
        """,
        "f(1)",
    ),
    accepted(
        "inherited methods call those of the object",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
            def v(self) -> int:
                return self.a
            def twice(self) -> int:
                return 2 * self.v()
            def run(self) -> int:
                return helper(self)
        class D(Base):
            def v(self) -> int:
                return -self.a
        def helper(b: Base) -> int:
            return b.v() + b.twice()
        def f(k: int):
            d = D(k)
            b = Base(k)
            return d.run(), b.run(), helper(d), Base.twice(d), Base.v(d)
        """,
        "f(5)",
    ),
    accepted(
        "dataclasses",
        """
        from dataclasses import dataclass
        @dataclass
        class P:
            x: int
            def area(self) -> int:
                return self.x
        @dataclass
        class Q(P):
            y: int = 3
            def area(self) -> int:
                return self.x * self.y
        def f(k: int):
            ps: List[P] = [P(k), Q(k), Q(k, 7)]
            return sum([p.area() for p in ps]), ps[1] == ps[1], P(1) == P(1), Q(1) == Q(1, 3)
        """,
        "f(4)",
    ),
    accepted(
        "an interface of base and subclass",
        """
        @jit.interface
        class HasV:
            def v(self) -> int:
                pass
        class Base:
            def __init__(self, a: int):
                self.a = a
            def v(self) -> int:
                return self.a
        class D(Base):
            def v(self) -> int:
                return -self.a
        def f(k: int):
            xs: List[HasV] = [Base(k), D(k)]
            return [x.v() for x in xs]
        """,
        "f(4)",
    ),
    accepted(
        "tasks and contexts",
        """
        class Ctx:
            def __init__(self):
                self.log: List[str] = []
            def __enter__(self) -> int:
                self.log.append('in')
                return 1
            def __exit__(self, a: Any, b: Any, c: Any):
                self.log.append('out')
            def m(self) -> int:
                return 1
        class Ctx2(Ctx):
            def __enter__(self) -> int:
                self.log.append('in2')
                return 2
            def m(self) -> int:
                return 2
        def use(c: Ctx):
            with c as k:
                c.log.append(str(k))
            return jit.wait(jit.fork(c.m))
        def f(k: int):
            a, b = Ctx(), Ctx2()
            return use(a), use(b), a.log, b.log
        """,
        "f(1)",
    ),
    refused(
        "another name of a parameter",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
            def v(self, x: int) -> int:
                return self.a
        class D(Base):
            def v(self, y: int) -> int:
                return -self.a
        def f(k: int):
            x: Base = D(k)
            return x.v(1)
        """,
        "its argument 'y' is",
    ),
    refused(
        "another default",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
            def v(self, x: int = 1) -> int:
                return x
        class D(Base):
            def v(self, x: int = 2) -> int:
                return x
        def f(x: Base):
            return x.v()
        """,
        "is another one", calls=('f(D(3))',),
    ),
    refused(
        "another result",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
            def v(self):
                return self.a
        class D(Base):
            def v(self):
                return str(self.a)
        def use(x: Base) -> int:
            return x.v()
        def f(k: int):
            return use(D(k))
        """,
        "returns str, which is no int",
    ),
    refused(
        "no super().__init__",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
        class D(Base):
            def __init__(self, a: int):
                self.b = a
        def use(x: Base) -> int:
            return x.a
        def f(k: int):
            return use(D(k))
        """,
        "call super().__init__",
    ),
    refused(
        "another type of an attribute",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
        class D(Base):
            def __init__(self, a: int):
                self.a = 1.5
        def use(x: Base) -> int:
            return x.a
        def f(k: int):
            return use(D(k))
        """,
        "has type float, that of Base has type int",
    ),
    refused(
        "a static method that is overridden",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
            @staticmethod
            def s() -> int:
                return 1
        class D(Base):
            @staticmethod
            def s() -> int:
                return 2
        def f(x: Base):
            return x.s()
        """,
        "has another one than",
    ),
    refused(
        "type() of what may be of a subclass",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
        class D(Base):
            pass
        def f(x: Base):
            return type(x)(3)
        """,
        "type() of an object that may be of a subclass",
    ),
    refused(
        "a subclass that Python defines later",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
        def f(x: Base):
            return x.a
        f = flambeau.script(f)
        class D(Base):
            pass
        f(D(1))
        """,
        "was compiled when it had no subclasses",
    ),
    refused(
        "a subclass that a program meets later",
        """
        class Base:
            def __init__(self, a: int):
                self.a = a
        def g(x: Base) -> int:
            return x.a
        flambeau.script(g)
        class D(Base):
            pass
        def f(k: int):
            return g(D(k))
        """,
        "was compiled when it had no subclasses",
    ),
]


def marked(rows: list[Row]) -> list[object]:
    return [pytest.param(row, id=row.construct) for row in rows]


@pytest.mark.parametrize("row", marked([r for r in ROWS if not r.error]))
def test_accepted(row: Row) -> None:
    namespace = load(row.source)
    expected = tuple(outcome(call, namespace) for call in row.calls)
    for backend in row.backends:
        namespace = load(row.source)
        namespace["f"] = flambeau.script(namespace["f"], backend=backend, verify=True)
        assert tuple(outcome(call, namespace) for call in row.calls) == expected, backend


@pytest.mark.parametrize("row", marked([r for r in ROWS if r.error]))
def test_refused(row: Row) -> None:
    def run() -> None:
        namespace = load(row.source)
        namespace["f"] = flambeau.script(namespace["f"])
        for call in row.calls:
            eval(call, namespace)

    with pytest.raises(RuntimeError) as caught:
        run()
    assert row.error in str(caught.value)
