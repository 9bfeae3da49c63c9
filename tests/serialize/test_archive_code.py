"""The code of archives: what it may say, what it means, and how it is refused."""

from __future__ import annotations

import enum
import io

import numpy as np
import pytest

import flambeau
from tests.serialize.handmade import archive, instance, load, module, run

X = flambeau.tensor([1.0, 2.0, 3.0])


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def test_more_than_is_printed_is_accepted() -> None:
    """Infix operators, methods, slices, comprehensions, early returns: not only what the printer makes of them."""
    loaded = run(
        "y = x.relu() * 2 + 1",
        "y[0] = 7.0",
        "total = 0",
        "for i, n in enumerate([n for n in range(k) if n % 2 == 0]):",
        "  if i > 2:",
        "    break",
        "  total += n",
        "if k < 0:",
        "  return -y",
        "return y[:2] + (total if k > 1 else -1)",
        takes="x: Tensor, k: int=5",
    )
    np.testing.assert_allclose(loaded(X).numpy(), [13.0, 11.0])
    np.testing.assert_allclose(loaded(X, 1).numpy(), [6.0, 4.0])
    np.testing.assert_allclose(loaded(X, k=-1).numpy(), [-7.0, -5.0, -7.0])


def test_words_of_printed_code() -> None:
    code = (
        module(
            "def forward(self: __torch__.M, x: Tensor,\n"
            "    o: Optional[int]=None) -> Tuple[Tensor, List[int], float, complex]:\n"
            "  a = annotate(List[int], [])\n"
            "  b = torch.append(a, 1)\n"
            "  if torch.__isnot__(o, None):\n"
            "    c = unchecked_cast(int, o)\n"
            "    d = torch.append(a, c)\n"
            "  else:\n"
            "    pass\n"
            "  e = uninitialized(Tensor)\n"
            '  f = getattr(self, "0")\n'
            "  g = torch.add(x, f, alpha=2)\n"
            "  h = __torch__.helper(g, )\n"
            "  def __forked_function():\n"
            "    return (self).work(h, )\n"
            "  i = torch.wait(fork(__forked_function))\n"
            "  return (i, a, -inf, 1.+2.j)",
            "def work(self: __torch__.M, x: Tensor) -> Tensor:\n  return torch.mul(x, CONSTANTS.c0)",
            attributes='__annotations__ = []\n__annotations__["0"] = int\nk : Final[Tuple[int, float]] = (1, inf)',
        )
        + "def helper(x: Tensor) -> Tensor:\n  return torch.neg(x)\n"
    )
    loaded = load(archive(code, {"0": 3}, constants__dot__pkl=b"\x80\x02J\x0a\0\0\0\x85."))
    tensor, numbers, low, number = loaded(X, 5)
    np.testing.assert_allclose(tensor.numpy(), [-70.0, -80.0, -90.0])
    assert (numbers, low, number) == ([1, 5], float("-inf"), 1 + 2j)
    assert loaded.k == (1, float("inf"))
    assert '_0 = getattr(self, "0")' in loaded.code
    assert "fork(__forked_function)" in loaded.code
    assert "-inf, 1.+2.j)" in loaded.code
    with pytest.raises(RuntimeError, match="It is a constant of M"):
        loaded.k = 3


def test_names_that_python_reserves() -> None:
    code = module(
        "def forward(self: __torch__.M, lambda: int) -> int:\n  from = self.async\n  return torch.add(lambda, from)",
        attributes="async : int",
    )
    loaded = load(archive(code, {"async": 4}))
    assert loaded(3) == 7
    assert getattr(loaded, "async") == 4
    assert "def forward(self,\n    lambda" in loaded.code


def test_classes_enums_named_tuples_interfaces() -> None:
    code = (
        module(
            "def forward(self: __torch__.M, n: int) -> __torch__.Point:\n"
            "  a = (self.box).grow(n, )\n"
            "  return __torch__.Point((a).size, (self).color_value())",
            "def color_value(self: __torch__.M) -> int:\n  return (self.color).value",
            "def made(self: __torch__.M) -> __torch__.Box:\n"
            "  b = __torch__.Box.__new__(__torch__.Box)\n  _0 = (b).__init__(5, )\n  return b",
            "def take(self: __torch__.M, b: __torch__.Box) -> int:\n  return b.size",
            attributes="box : __torch__.Box\ncolor : __torch__.tests.serialize.test_archive_code.Color\n"
            "shape : __torch__.Sized\npoint : __torch__.Point\n"
            "kinds : List[__torch__.tests.serialize.test_archive_code.Color]",
        )
        + "class Box:\n  size : int\n  friend : Optional[__torch__.Box]\n"
        "  def __init__(self: __torch__.Box, n: int) -> NoneType:\n    self.size = n\n    self.friend = None\n"
        "    return None\n"
        "  def grow(self: __torch__.Box, n: int) -> __torch__.Box:\n    self.size = torch.add(self.size, n)\n"
        "    return self\n"
        "  def __len__(self: __torch__.Box) -> int:\n    return self.size\n"
        "class Point(NamedTuple):\n  x : int\n  y : int\n"
        "class Sized(Interface):\n  def grow(self, n: int) -> __torch__.Box:\n    pass\n"
    )  # fmt: skip
    box = instance("__torch__.Box", {"size": 2, "friend": None})
    red = b"c__torch__.tests.serialize.test_archive_code\nColor\nJ\1\0\0\0R"
    state = {"box": box, "color": red, "shape": box, "point": (1, 2), "kinds": [red, red]}
    record = "code__slash____torch____slash__tests__slash__serialize__slash__test_archive_code__dot__py"
    enums = {record: "class Color(Enum):\n  RED = 1\n  BLUE = 2\n"}
    loaded = load(archive(code, state, **enums))
    point = loaded(3)
    assert (point.x, point.y) == (5, 1)
    assert (loaded.point.x, loaded.point.y) == (1, 2)
    assert loaded.color is Color.RED  # the class of the running program, found without importing anything
    assert loaded.kinds == [Color.RED, Color.RED]
    made = loaded.made()
    assert (made.size, len(made), made.friend) == (5, 5, None)
    assert made.grow(2) == made
    assert (made.size, loaded.take(made)) == (7, 7)
    made.size = 9
    assert loaded.take(made) == 9
    assert repr(made) == "<object of __torch__.Box>"
    assert "grow" in dir(made)
    assert {made: 1}[made] == 1
    for wrong, text in (("other", "'Box' object has no attribute 'other'"), ("size", "Wrong type for attribute")):
        with pytest.raises((AttributeError, RuntimeError), match=text):
            setattr(made, wrong, "x")
    with pytest.raises(AttributeError, match="'Box' object has no attribute 'missing'"):
        made.missing  # noqa: B018


def test_an_enum_of_the_archive_alone() -> None:
    code = (
        module(
            "def forward(self: __torch__.M) -> __torch__.Kind:\n  return self.kind", attributes="kind : __torch__.Kind"
        )
        + 'class Kind(Enum):\n  A = "a"\n  B = "b"\n'
    )
    loaded = load(archive(code, {"kind": b"c__torch__\nKind\nX\1\0\0\0bR"}))
    assert (loaded().name, loaded().value, type(loaded()).__name__) == ("B", "b", "Kind")


def test_two_archives_with_equal_names_live_in_one_module() -> None:
    def of(body: str) -> object:
        return load(archive(module(f"def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return {body}")))

    class Both(flambeau.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = of("torch.add(x, 1)"), of("torch.mul(x, 3)")

        def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
            return self.a(x) - self.b(x)

    scripted = flambeau.script(Both())
    expected = [-1.0, -3.0, -5.0]
    np.testing.assert_allclose(scripted(X).numpy(), expected)
    file = io.BytesIO()
    flambeau.jit.save(scripted, file)
    again = load(file.getvalue())
    np.testing.assert_allclose(again(X).numpy(), expected)
    assert "___torch_mangle_" in str(again._c._type().ours.definition.attribute("b").type)


def test_operators_mean_what_they_meant_in_the_version() -> None:
    code = module("def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return torch.div(x, 2)")
    whole = flambeau.tensor([-3, 3])
    for version, expected in ((3, [-1, 1]), (4, [-1.5, 1.5])):
        loaded = load(archive(code, version=f"{version}\n"))
        assert loaded(whole).tolist() == expected
        assert loaded(flambeau.tensor([3.0])).tolist() == [1.5]
    in_place = module("def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return torch.div_(x, 2)")
    assert load(archive(in_place))(flambeau.tensor([-3, 3])).tolist() == [-1, 1]
    full = module("def forward(self: __torch__.M) -> Tensor:\n  return torch.full([1], 2)")
    assert load(archive(full, version="4\n"))().dtype is flambeau.float32
    assert load(archive(full, version="5\n"))().dtype is flambeau.int64
    space = module(
        "def forward(self: __torch__.M) -> Tuple[int, int]:\n"
        "  return (torch.numel(torch.linspace(0, 1, None)), torch.numel(torch.logspace(0, 1, None)))"
    )
    assert load(archive(space, version="7\n"))() == (100, 100)


REFUSED = {
    "expected a class or a function, got If": "if True:\n  pass\n",
    "expected Module, NamedTuple, Enum, Interface or no base, got Exception": "class M(Exception):\n  pass\n",
    "a class has one base or none": "class M(Module, Enum):\n  pass\n",
    "expected an attribute or a method in a class": "class M(Module):\n  print(1)\n",
    "there is no method for the hook 'h'": 'class M(Module):\n  __forward_hooks__ = ["h", ]\n',
    "Unknown type name 'Wrong'": "class M(Module):\n  a : Wrong\n",
    "expected a literal": "class M(Module):\n  a : Final[int] = print(1)\n",
    "is there already": "class M(Module):\n  a : int\n  a : int\n",
    "does not say what it takes and returns": "class M(Module):\n  def f(self, *x: int) -> int:\n    return 1\n",
    "expected a field with its type and no default": "class M(NamedTuple):\n  a : int = 1\n",
    "expected methods in an interface": "class M(Interface):\n  a : int\n",
    "expected a member and its value": "class M(Enum):\n  a : int\n",
    "there is no class __torch__.M: the archive has no code for it": "class N(Module):\n  pass\n",
    "Syntax error": "class M(Module)\n",
    "levels of nested code": f"class M(Module):\n  a : Final[int] = {'-' * 30000}1\n",
    "does not have: aten::launch (code/__torch__.py, line 3); my::op (code/__torch__.py, line 3)": (
        "class M(Module):\n  def f(self) -> int:\n    return torch.launch(ops.my.op(1, 'torch.not_named('))\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_code_that_is_refused(text: str) -> None:
    with pytest.raises(flambeau.jit.ArchiveError) as caught:
        load(archive(REFUSED[text], instance("__torch__.M", {})))
    assert text in str(caught.value)
    assert "not_named" not in str(caught.value)


def test_bodies_are_refused_when_they_are_reached_with_their_place() -> None:
    loaded = run("return torch.relu(x, x, 3)")
    for _ in range(2):
        with pytest.raises(flambeau.jit.CompileError) as caught:
            loaded(X)
        assert 'File "code/__torch__.py", line 6' in str(caught.value)
        assert str(caught.value).startswith("<stream>: ")
    code = (
        module(
            "def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return __torch__.a(x, )",
        )
        + "def a(x: Tensor) -> Tensor:\n  return __torch__.b(x, )\n"
        + "def b(x: Tensor) -> Tensor:\n  return torch.relu(1.5)\n"
    )
    with pytest.raises(flambeau.jit.CompileError) as caught:
        load(archive(code))(X)
    assert "'__torch__.b' is being compiled since it was called from '__torch__.a'" in str(caught.value)
    assert "'__torch__.a' is being compiled since it was called from '__torch__.M.forward'" in str(caught.value)
    for body in ("open('x')", "__import__('os')", "eval('1')", "__torch__._unit", "x.__class__", "print.__self__"):
        with pytest.raises(flambeau.jit.CompileError):
            run(f"return {body}")(X)
