"""Programs with classes that are refused: what is underlined, and what the message must contain."""

# ruff: noqa

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Dict, List, NamedTuple, Optional, Union

import flambeau
from flambeau import Tensor, nn

CASES: list[tuple[Callable[..., Any], str, str]] = []


def refused(underlined: str, message: str) -> Callable[[Any], Any]:
    """Note what is said of a function or class."""

    def note(value: Any) -> Any:
        CASES.append((value, underlined, message))
        return value

    return note


class C:
    K = 3
    table: ClassVar[List[int]] = [1]

    def __init__(self, n: int):
        self.n = n
        self.none = None

    def method(self, k: int = 1) -> int:
        return self.n + k

    @property
    def fixed(self) -> int:
        return 3

    @staticmethod
    def static(k: int) -> int:
        return k


class Bare:
    pass


class Truth:
    def __init__(self):
        self.n = 1

    def __bool__(self):
        return self.n

    def __lt__(self, other: Truth) -> int:
        return 1

    def __iter__(self):
        return iter([1])


@refused('c.n = "a', "Wrong type for attribute assignment. Expected int but got str")
def wrong_type(c: C):
    c.n = "a"


@refused("c.none = 1", "Wrong type for attribute assignment. Expected NoneType but got int")
def none_only(c: C):
    c.none = 1


@refused("c.bar = 1", "Tried to set nonexistent attribute: bar. Did you forget to initialize it in __init__()?")
def new_attribute(c: C):
    c.bar = 1


@refused("c.asdf", "object has no attribute or method 'asdf'")
def no_attribute(c: C):
    return c.asdf


@refused("c.K", "'K' is defined as a class attribute which currently is not supported. Consider converting this to an")
def class_attribute(c: C):
    return c.K


@refused("C.K", "'K' is defined as a class attribute which currently is not supported")
def class_attribute_of_class(k: int):
    return C.K


@refused("c.table", "'table' is defined as a class attribute which currently is not supported")
def class_variable(c: C):
    return c.table


@refused("Bare", "Class Bare does not have an __init__ function defined")
def no_init():
    return Bare()


@refused("C", "Expected a value of type 'int' for argument 'n' but instead found type 'str'")
def wrong_argument():
    return C("a")


@refused("C", "Argument n not provided")
def missing_argument():
    return C()


@refused("c.method", "Keyword argument z unknown")
def unknown_keyword(c: C):
    return c.method(z=1)


@refused("c.fixed = 4", "Tried to set read-only attribute: fixed. It is a property without a setter")
def no_setter(c: C):
    c.fixed = 4


@refused("c == c", "object has no attribute or method '__eq__'")
def no_equality(c: C):
    return c == c


@refused("c + 1", "object has no attribute or method '__add__'")
def no_operator(c: C):
    return c + 1


@refused("1 + c", "object has no attribute or method '__radd__'")
def no_reflected(c: C):
    return 1 + c


@refused("c += 1", "Cannot emit inplace op on")
def no_inplace(c: C):
    c += 1
    return c


@refused("c[0]", "Class does not define __delitem__")
def no_deletion(c: C):
    del c[0]


@refused("c[0]", "object has no attribute or method '__getitem__'")
def no_items(c: C):
    return c[0]


@refused("c", "object has no attribute or method '__call__'")
def no_call(c: C):
    return c(1)


@refused("for x in c:\n        pass", "object is not iterable")
def no_iteration(c: C):
    for x in c:
        pass


@refused("c", "Could not cast value of type")
def no_truth(c: C):
    if c:
        return 1
    return 2


@refused("t", "expected a bool expression for condition but found int")
def no_bool(t: Truth):
    if t:
        return 1
    return 2


@refused("cs.sort", "must define a __lt__")
def no_order(cs: List[C]):
    cs.sort()


@refused("sorted", "must define a __lt__")
def no_bool_order(cs: List[Truth]):
    return sorted(cs)


@refused("C", "python value of type 'type' cannot be used as a value")
def class_as_value():
    return [C]


@refused("C.method", "'method' is a method of C: its first argument must be a C")
def unbound():
    return C.method(3)


@refused("{c: 1", "Cannot create dict for key type")
def object_as_key(c: C):
    return {c: 1}


@refused("c", "With item expression must return an object")
def with_number(c: int):
    with c:
        pass


@refused("c", "does not define __enter__ and __exit__ methods")
def with_object(c: C):
    with c:
        pass


@refused("c.n.x", "object has no attribute or method 'x'")
def attribute_of_number(c: C):
    return c.n.x


@refused("c.method.x", "attribute lookup is not defined on method")
def attribute_of_method(c: C):
    return c.method.x


@refused("c.method", "method cannot be used as a value")
def method_as_value(c: C):
    return c.method


class InFlow:
    def __init__(self, k: int):
        if k > 2:
            self.a = k


refused("self.a = k", "assignment cannot be in a control-flow block")(InFlow)


class InLoop:
    def __init__(self, k: int):
        for i in range(k):
            self.a = i


refused("self.a = i", "assignment cannot be in a control-flow block")(InLoop)


class ReadEarly:
    def __init__(self, k: int):
        self.b = self.a
        self.a = k


refused("self.a", "object has no attribute or method 'a'")(ReadEarly)


class Annotated:
    def __init__(self, k: int):
        self.a = k

    def change(self):
        self.a: int = 3


refused("self.a", "annotations on instance attributes must be declared in __init__")(Annotated)


class Mismatched:
    def __init__(self, k: int):
        self.a: List[str] = k


refused("self.a", "Wrong type for attribute assignment. Expected List[str] but got int")(Mismatched)


class Mutable:
    def __init__(self):
        self.a = 1

    def use(self, xs: List[int] = []) -> int:
        return len(xs)


refused("xs: List[int]", "Mutable default parameters are not supported because Python binds them to the function")(Mutable)


class WrongDefault:
    def __init__(self, a: int = "x"):
        self.a = a


refused('a: int', 'Expected a default value of type int on parameter "a"')(WrongDefault)


class Recursive:
    def __init__(self):
        self.a = 1

    def one(self, k: int):
        return self.two(k)

    def two(self, k: int):
        return self.one(k)


refused("", "called recursively. Recursive calls are not supported")(Recursive)


class OwnType:
    def __init__(self, k: int):
        self.next = OwnType(k - 1)


refused("", "called recursively")(OwnType)


class FromDict(dict):
    def __init__(self):
        self.a = 1


refused("class FromDict", "Class 'FromDict' does not support inheritance from dict")(FromDict)


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    def __init__(self):
        self.a = 1


refused("class WithMeta", "Class 'WithMeta' has the metaclass Meta")(WithMeta)


class OwnSetattr:
    def __init__(self):
        self.a = 1

    def __setattr__(self, name, value):
        pass


refused("class OwnSetattr", "Class 'OwnSetattr' defines __setattr__, which programs would not call")(OwnSetattr)


class BadBody:
    def __init__(self):
        self.a = 1

    def use(self, x: Tensor):
        return x.nothing()


refused("x.nothing", "'Tensor' object has no attribute or method 'nothing'")(BadBody)


class NoSelf:
    def __init__(self):
        self.a = 1

    def use():
        return 1


refused("def", "methods must have a self argument")(NoSelf)


class Starred:
    def __init__(self):
        self.a = 1

    def use(self, *args):
        return 1


refused("*args", "Compiled functions can't take variable number of arguments")(Starred)


class Base:
    def __init__(self, a: int):
        self.a = a

    def one(self) -> int:
        return 1


class BadSuper(Base):
    def __init__(self):
        super().__init__("a")


refused("super().__init__", "Expected a value of type 'int' for argument 'a' but instead found type 'str'")(BadSuper)


class NoSuperMethod(Base):
    def two(self) -> int:
        return super().two()


refused("super().two", "'super' object has no attribute or method 'two'")(NoSuperMethod)


@refused("super", "super() takes no arguments and stands in methods")
def super_in_function():
    return super().x()


@flambeau.jit.ignore
class Ignored:
    def __init__(self):
        self.a = 1


@refused("Ignored", "Cannot instantiate class 'Ignored' in a script function")
def ignored_class():
    return Ignored()


@refused("Ignored", "Unknown type name 'Ignored'")
def ignored_annotation(x: Ignored):
    return 1


@dataclass(frozen=True)
class Frozen:
    a: int


@refused("f.a = 3", "cannot assign to field 'a': class 'Frozen' is frozen")
def frozen(f: Frozen):
    f.a = 3


@dataclass
class NoFieldType:
    a: Any
    b: object


refused("b: object", "field 'b' of dataclass NoFieldType has a type that programs do not have")(NoFieldType)


@dataclass
class WithSet:
    a: int
    b: Optional[List[int]] = None


@refused("a < a", "object has no attribute or method '__lt__'")
def unordered_records(a: WithSet):
    return a < a


@refused("WithSet", "Argument a not provided")
def missing_field():
    return WithSet()


@refused("WithSet", "Keyword argument z unknown")
def unknown_field():
    return WithSet(1, z=3)


@refused("WithSet", "Expected a value of type 'int' for argument 'a' but instead found type 'str'")
def wrong_field():
    return WithSet("a")


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Mixed(enum.Enum):
    A = 1
    B = "b"


class Tensors(enum.Enum):
    A = flambeau.ones(1)


class Lists(enum.Enum):
    A = [1]


@refused("Color.PURPLE", "has no attribute 'PURPLE'")
def no_member():
    return Color.PURPLE


@refused("Mixed", "Could not unify type list")
def mixed_enum(x: Mixed):
    return x


@refused("Tensors.A", "Cannot create Enum with value type 'Tensor'")
def tensor_enum():
    return Tensors.A


CASES[-1] = (CASES[-1][0], "Tensors", CASES[-1][2])


@refused("Lists", "Cannot create Enum with value type 'list'")
def list_enum(x: Lists):
    return 1


@refused("Color", "enum class cannot be used as a value")
def enum_as_value():
    return [Color]


@refused("c.zzz", "object has no attribute or method 'zzz'")
def enum_attribute(c: Color):
    return c.zzz


class Pair(NamedTuple):
    a: int
    b: float = 1.0


class TensorDefault(NamedTuple):
    a: Tensor = flambeau.ones(1)


class Unknown(NamedTuple):
    a: NotThere


@refused("Pair", "Expected a value of type 'int' for argument 'a' but instead found type 'str'")
def wrong_tuple_field():
    return Pair("a")


@refused("Pair", "Argument a not provided")
def missing_tuple_field():
    return Pair(b=1.0)


@refused("p.c", "object has no attribute or method 'c'")
def no_tuple_field(p: Pair):
    return p.c


@refused("p._remade", "object has no attribute or method '_replace'")
def no_tuple_method(p: Pair):
    return p._remade(a=1)


@refused("p.a = 1", "Tried to set an attribute: a on a non-class")
def tuple_assignment(p: Pair):
    p.a = 1


@refused("TensorDefault", "Tensors are not supported as default NamedTuple fields")
def tensor_default(t: TensorDefault):
    return t.a


@refused("Unknown", "Unknown type annotation: 'ForwardRef('NotThere')' in NamedTuple field a of Unknown")
def forward_reference(t: Unknown):
    return t.a


class SelfMade(NamedTuple):
    a: Optional[SelfMade]


@refused("SelfMade", "NamedTuple SelfMade contains itself")
def self_made(s: SelfMade):
    return 1


class Two:
    class Pair(NamedTuple):
        a: int
        c: int


Two.Pair.__qualname__ = "Pair"


@refused("Two.Pair", "Can't redefine NamedTuple: __torch__.tests.jit.classes.refusals.Pair")
def redefined(p: Pair, q: Two.Pair):
    return p.a
