"""Records behave as the standard library's dataclasses: each class is made by both and compared."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from flambeau.util import record


def variants(make: Any) -> dict[str, type]:
    """The same classes, made by one of the two."""
    field = make.field

    @make.dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 0
        note: str = field(default="", compare=False, repr=False)
        KIND: ClassVar[str] = "point"

        def shifted(self) -> Any:
            return make.replace(self, x=self.x + 1)

    @make.dataclass(frozen=True, slots=True)
    class Deep(Point):
        z: tuple[int, ...] = ()

    @make.dataclass(slots=True)
    class Basket:
        items: list[int] = field(default_factory=list)
        total: int = field(init=False, default=7)

        def __post_init__(self) -> None:
            self.total += len(self.items)

    @make.dataclass(frozen=True, kw_only=True)
    class Options:
        a: int = 1
        b: dict[str, int] = field(default_factory=dict, hash=False)

    @make.dataclass(eq=False)
    class Same:
        x: int

    @make.dataclass
    class Own:
        x: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    @make.dataclass(frozen=True)
    class Empty:
        pass

    @make.dataclass(slots=True, weakref_slot=True)
    class Weak:
        x: int

    return {c.__name__: c for c in (Point, Deep, Basket, Options, Same, Own, Empty, Weak)}


OURS, THEIRS = variants(record), variants(dataclasses)
USES: dict[str, Callable[[dict[str, type]], Any]] = {
    "repr": lambda c: repr([c["Point"](1), c["Deep"](1, 2, "n", (3,)), c["Basket"]([1]), c["Options"](), c["Empty"]()]),
    "eq": lambda c: [c["Point"](1, 2) == c["Point"](1, 2, "n"), c["Point"](1) == c["Deep"](1), c["Point"](1) == 1],
    "nan": lambda c: (lambda n: c["Same"](n) == c["Same"](n))(float("nan")),
    "hash": lambda c: hash(c["Point"](3, 4)) == hash((3, 4)),
    "hash of options": lambda c: hash(c["Options"](a=2)) == hash((2,)),
    "unhashable": lambda c: hash(c["Basket"]()),
    "identity": lambda c: c["Same"](1) == c["Same"](1),
    "own methods": lambda c: (repr(c["Own"](1)), c["Own"](1) == 3, hash(c["Own"](1))),
    "keywords": lambda c: repr(c["Deep"](z=(1,), x=5)),
    "defaults are fresh": lambda c: c["Basket"]().items is c["Basket"]().items,
    "post init": lambda c: c["Basket"]([1, 2]).total,
    "twice": lambda c: c["Point"](1, x=2),
    "too few of many": lambda c: c["Deep"](y=2),
    "too few": lambda c: c["Point"](),
    "too many": lambda c: c["Empty"](1),
    "unknown": lambda c: c["Point"](1, q=2),
    "keyword only": lambda c: c["Options"](1),
    "frozen": lambda c: setattr(c["Point"](1), "x", 2),
    "frozen delete": lambda c: delattr(c["Point"](1), "x"),
    "slots": lambda c: (c["Point"].__slots__, c["Deep"].__slots__, hasattr(c["Point"](1), "__dict__")),
    "match": lambda c: [c[n].__match_args__ for n in ("Point", "Deep", "Basket", "Options")],
    "replace": lambda c: repr(c["Deep"](1, 2, "n", (3,)).shifted()),
    "copies": lambda c: [copy.copy(c["Deep"](1)) == copy.deepcopy(c["Deep"](1)), repr(copy.copy(c["Basket"]([4])))],
    "weak": lambda c: weakref.ref(c["Weak"](1))() is None,
    "class variable": lambda c: c["Point"].KIND,
    "defaults on the class": lambda c: (c["Options"].a, hasattr(c["Options"], "b"), c["Empty"]() == c["Empty"]()),
    "names": lambda c: (c["Point"].__name__, c["Deep"].__mro__[1].__name__),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_records_do_what_dataclasses_do(use: Callable[[dict[str, type]], Any]) -> None:
    def outcome(classes: dict[str, type]) -> Any:
        try:
            return use(classes)
        except (TypeError, AttributeError) as error:
            return type(error), str(error).replace("variants.<locals>.", "")

    for _ in range(record.FEW + 2):  # `__init__` is another one then
        assert outcome(OURS) == outcome(THEIRS)


@record.dataclass(frozen=True, slots=True)
class Kept:
    x: int
    y: str = "y"


def test_few_instances_compile_no_init() -> None:
    def make() -> type:
        @record.dataclass(frozen=True, slots=True)
        class Pair:
            x: int
            y: list[int] = record.field(default_factory=list)

        return Pair

    kind = make()
    first = kind.__init__
    made = [kind(x=n) for n in range(record.FEW - 1)]
    assert kind.__init__ is first
    made.append(kind(len(made)))
    assert [(one.x, one.y) for one in made] == [(n, []) for n in range(record.FEW)]
    assert kind.__init__.__code__.co_varnames == ("self", "x", "y")


def test_records_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)


def test_fields_in_order() -> None:
    assert [f.name for f in record.fields(OURS["Deep"])] == ["x", "y", "note", "z"]
    assert [f.name for f in record.fields(OURS["Deep"](1))] == ["x", "y", "note", "z"]


def test_a_mutable_default_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Shared\.x: a mutable default is shared: use default_factory"):

        @record.dataclass
        class Shared:
            x: list[int] = []  # noqa: RUF012 - the mistake


def test_annotations_must_be_text() -> None:
    with pytest.raises(TypeError, match="annotations must be text: from __future__ import annotations"):
        record.dataclass(type("Evaluated", (), {"__annotations__": {"x": int}}))
