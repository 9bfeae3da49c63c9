"""Types that are read without a parser are those that the language's own annotations mean."""

from __future__ import annotations

import ast
import random

import pytest

from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.program.unit import CompilationUnit
from flambeau.serialize.archive_reader.code_file import CodeFile
from flambeau.serialize.archive_reader.code_names import ArchiveNames
from flambeau.serialize.archive_reader.code_parts import CodeParts
from flambeau.serialize.archive_reader.limits import LoadLimits
from flambeau.serialize.archive_reader.printed_types import plain_type
from flambeau.util.errors import CompileError

NAMES = ("Tensor", "int", "float", "bool", "str", "complex", "Device", "NoneType", "number", "Any", "List", "Point")


def parsed(text: str) -> object:
    """What the front end says; None for what it refuses."""
    file = CodeFile(f"def f() -> (\n  {text}\n  ):\n  pass\n", "code")
    node = file.definitions["f"]
    assert isinstance(node, ast.FunctionDef)
    assert node.returns is not None
    try:
        return type_of_tree(file.expression(node.returns), ArchiveNames([], CompilationUnit(), 9))
    except CompileError:
        return None


def composed(generator: random.Random, depth: int) -> str:
    kind = generator.choice(("name", "Optional", "List", "Dict", "Tuple") if depth else ("name",))
    if kind == "name":
        return generator.choice(NAMES[:7] if generator.random() < 0.95 else NAMES)
    count = {"Dict": 2, "Tuple": generator.randint(1, 3)}.get(kind, 1)
    return f"{kind}[{', '.join(composed(generator, depth - 1) for _ in range(count))}]"


def test_a_type_that_is_read_is_the_front_ends() -> None:
    generator, read = random.Random(0), 0
    for _ in range(400):
        text = composed(generator, 3)
        type_ = plain_type(text)
        if type_ is not None:
            assert type_ == parsed(text), text
            read += 1
    assert read > 200


@pytest.mark.parametrize(
    "text",
    [
        "", "[", "]", "List", "List[]", "List[int", "List[int]]", "List[int, int]", "Dict[str]", "Dict[Tensor, int]",
        "Optional[Optional[int]]", "Tuple[]", "List[,]", "List[int,int]", "List[ int]", "Tuple[()]", "int[]",
    ],
)  # fmt: skip
def test_anything_else_is_left_to_the_parser(text: str) -> None:
    assert plain_type(text) is None


def test_what_could_be_nested_beyond_the_limit_is_left_to_the_parser() -> None:
    parts = CodeParts(LoadLimits(code_nesting=12))
    assert parts.plain_type("List[Tensor]") is not None
    assert parts.plain_type("List[List[Tensor]]") is None
