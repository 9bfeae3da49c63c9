"""Classes read by their lines are what they are read as trees; what is written in another way is left to the tree."""

from __future__ import annotations

import ast
import struct
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau.schema.types import INT, ClassType
from flambeau.serialize.archive_reader.code_texts import code_texts
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.printed_code import PrintedCode
from tests.serialize.handmade import archive, instance, load, module, tensor

DATA = Path(__file__).parent.parent / "data" / "archives"
CLASS = "class M(Module):\n  n : int\n{}\n  def f(self: M) -> int:\n    return 1\n"
BROKEN = {"forward": "1", "g": "1 1"}


def shape(definition: Any) -> Any:
    """What a class consists of, as texts."""
    attributes = [(a.name, a.type.annotation, a.is_parameter, a.is_buffer) for a in definition.attributes]
    methods = {name: str(method.schema) for name, method in definition.methods.items()}
    return attributes, repr(definition.constants), methods, definition.hooks


@pytest.mark.parametrize("path", sorted(DATA.glob("*.pt"))[::6], ids=lambda path: path.stem)
def test_lines_and_trees_say_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def classes() -> dict[str, Any]:
        monkeypatch.setenv("FLAMBEAU_CACHE", "off")
        waiting: list[Any] = [flambeau.jit.load(path).script_object.type]
        known: dict[str, Any] = {}
        while waiting:
            type_ = waiting.pop()
            if isinstance(type_, ClassType) and type_.name not in known:
                known[type_.name] = shape(type_.definition)
                parts = [
                    part for a in type_.definition.attributes for part in a.type.walk() if isinstance(part, ClassType)
                ]
                waiting += parts
        return known

    by_lines = classes()
    monkeypatch.setattr(PrintedCode, "of", classmethod(lambda cls, text, *more: None))
    assert classes() == by_lines


def test_printed_records_are_read_by_lines() -> None:
    """So that no file of PyTorch's is parsed as a whole by mistake."""
    for path in sorted(DATA.glob("*.pt"))[::9]:
        texts = code_texts(Container.open(path))
        for record, text in texts.items():
            code = PrintedCode.of(text)
            assert code is not None, record
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and [getattr(b, "id", "") for b in node.bases] in ([], ["Module"]):
                    assert code.find_class(node.name) is not None, (record, node.name)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n", "import os\n", "", "class M(Module, N):\n  n : int\n", CLASS.format("  m : int  # a word"),
        CLASS.format("  x = 1"), CLASS.format("  m : int = (1,\n    2)"), CLASS.format("  m : int; k : int"),
        CLASS.format("  def g(self: M) -> int:\n    return (1,\n  k : int\n    )"),
        CLASS.format('  """\n  k : int\n  """'),
        CLASS.format("  def g(self: M) -> int:\n    return (1  # )\n  k : int"), CLASS.format("\tk : int"),
        CLASS.format("  def f(self: M) -> int:\n    return 2"), CLASS.format("  if : int"), CLASS.format("  é : int"),
        CLASS.format("  def g(self: M) -> int:\n    return 1 + \\\n  2"), CLASS.format("  @property"),
        CLASS.format("  __parameters__ = [1]"), CLASS.format('  __parameters__ = ["n"]'), "class M:\n  pass",
    ],
)  # fmt: skip
def test_what_is_left_to_the_tree(text: str) -> None:
    code = PrintedCode.of(text)
    assert code is None or code.find_class("M") is None


def test_strings_are_not_taken_for_code() -> None:
    code = module(
        'def forward(self: __torch__.M) -> str:\n  x = "(:\\n  k : int"\n  return torch.add(x, self.s)',
        attributes="s : Final[str] = \"a = 'b' : (\"",
    )
    assert load(archive(code))() == "(:\n  k : inta = 'b' : ("


def test_equal_bodies_are_parsed_once_and_constants_stay_apart() -> None:
    lines = (
        "  k : Final[List[int]] = [{0}]\n"
        "  def forward(self: __torch__.{1}, x: int=2) -> int:\n    return torch.add(x, {0})\n"
    )
    parts = "".join(f"class {name}(Module):\n{lines.format(k, name)}" for k, name in ((1, "A"), (1, "B"), (3, "C")))
    code = module(
        "def forward(self: __torch__.M, x: int) -> int:\n"
        "  return (self.a).forward((self.b).forward((self.c).forward(x, ), ), )",
        attributes="a : __torch__.A\nb : __torch__.B\nc : __torch__.C",
    )  # fmt: skip
    loaded = load(archive(code + parts, {n: instance(f"__torch__.{n.upper()}", {}) for n in "abc"}))
    assert loaded(10) == 15
    assert [loaded.a.forward(), loaded.c.forward()] == [3, 5]
    assert loaded.a.k == [1]
    assert loaded.a.k is not loaded.b.k


def test_a_broken_body_is_refused_when_something_needs_it() -> None:
    code = module(
        "def forward(self: __torch__.M) -> int:\n  return 1", "def g(self: __torch__.M) -> int:\n  return 1 1"
    )
    loaded = load(archive(code))
    assert loaded() == 1
    with pytest.raises(flambeau.jit.ArchiveError, match="Syntax error"):
        loaded.g()


def test_classes_of_several_modules_that_are_written_alike_stay_classes_of_their_own() -> None:
    layer = (
        "class L(Module):\n  __parameters__ = [\"w\", ]\n  w : Tensor\n  n : int\n  k : Final[int] = 5\n"
        "  def forward(self: __torch__.{0}.L, x: Tensor) -> Tensor:\n"
        "    return torch.add(torch.mul(x, self.n), self.w)\n"
    )
    code = module(
        "def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
        "  return (self.a).forward((self.b).forward((self.c).forward(x, ), ), )",
        attributes="a : __torch__.a.L\nb : __torch__.b.L\nc : __torch__.c.L",
    )  # fmt: skip
    texts = {"a": layer, "b": layer, "c": layer.replace("torch.mul(x, self.n)", "torch.mul(x, 2)")}
    state = {
        name: instance(f"__torch__.{name}.L", {"w": tensor("0", 2, (1,), (1,), offset=k % 2), "n": k})
        for k, name in enumerate("abc", 3)
    }  # fmt: skip
    records: dict[str, Any] = {f"code/__torch__/{name}.py": text.format(name) for name, text in texts.items()}
    records["data/0"] = struct.pack("<2f", 0.5, 0.25)
    data = archive(code, state, **records)
    for x in (1.0, -3.0):
        expected = ((x * 2 + 0.25) * 4 + 0.5) * 3 + 0.25
        assert load(data)(flambeau.tensor([x])).item() == expected
    loaded = load(data)
    definitions = [loaded.script_object.type.definition.attribute(name).type.definition for name in "abc"]
    assert [one.name for one in definitions] == ["__torch__.a.L", "__torch__.b.L", "__torch__.c.L"]
    owners = [str(one.methods["forward"].schema.arguments[0].type) for one in definitions]
    assert owners == [one.name for one in definitions]
    definitions[0].add_attribute("more", INT)
    assert [list(one.slots) for one in definitions] == [["w", "n", "more"], ["w", "n"], ["w", "n"]]
    assert [len(one.attributes) for one in definitions] == [3, 2, 2]
    assert [one.constants for one in definitions] == [{"k": 5}] * 3
    with pytest.raises(flambeau.jit.ArchiveError, match=r"no_such \(code/__torch__/b\.py"):
        load(archive(code, state, **{**records, "code/__torch__/b.py": layer.format("b").replace("add(", "no_such(")}))
