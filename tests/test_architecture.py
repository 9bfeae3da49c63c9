"""The shape of the house: imports run downhill, no cycles, files and functions stay small, nothing is left open."""

from __future__ import annotations

import ast
import fnmatch
import functools
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from flambeau.codegen import native_call
from flambeau.util import inversions, names
from flambeau.util.inversions import Inversion
from flambeau.util.native_type import is_supported
from tests.source_tree import (
    MODULES,
    NODES,
    PACKAGE,
    ROOT,
    TREES,
    ByModule,
    complexity,
    cycles,
    functions,
    imports_of,
)

FLOORS = (
    {"util"},
    {"schema", "backends", "compiler"},
    {"tensor", "ir"},
    {"cuda", "types"},
    {"ops", "analysis", "program", "amp", "cpu", "accelerator"},
    {"specialise", "batching"},
    {"autograd", "passes", "frontend", "fft", "linalg", "masked", "return_types", "signal", "special"},
    {"autodiff"},
    {"interpreter", "codegen", "nn"},
    {"executor", "fx", "optim", "distributions", "func", "multiprocessing", "te", "utils"},
    {"serialize"},
    {"jit"},
    {"library", "serialization", "testing", "tools"},
)
HEIGHT = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
LONGEST_FILE, LONGEST_FUNCTION = 500, 70
LONG_ON_PURPOSE = {
    "flambeau.interpreter.machine.run": "the loop over instructions: a call for each would take too long",
}
IMPORTS = ByModule(lambda name: imports_of(name, with_types=False))


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


by_room = pytest.mark.parametrize("room", sorted({room_of(name) for name in MODULES}))


def modules_of(room: str) -> list[str]:
    """The modules of a room; those of the package itself for ""."""
    return [name for name in MODULES if room_of(name) == room]


@pytest.mark.parametrize("here", sorted(HEIGHT))
def test_imports_run_downhill(here: str) -> None:
    for name in modules_of(here):
        for target in IMPORTS[name]:
            there = room_of(target)
            if there == "" and here in FLOORS[-1]:
                continue  # the top floor looks at the package from outside, as its users do
            assert there != "", f"{name} imports the package itself"
            assert here == there or HEIGHT[there] < HEIGHT[here], f"{name} climbs to {target}"


WITHOUT_ROOM = {
    "benchmarks": "of `benchmarks`",
    "data": "files that tests read",
    "docs": "of `docs` and `website`",
    "examples": "of `examples`",
    "ops/matrix": "every operator in every way to run it",
    "language": "the table of the language, which every room has a part in",
    "random_programs": "programs for every path at once",
}
"""Folders of tests that are not of one room, and what they are of."""


def test_tests_lie_as_the_package_does() -> None:
    for folder in (path.parent for path in (ROOT / "tests").rglob("test_*.py")):
        room = folder.relative_to(ROOT / "tests")
        if room.parts and room.parts[0] not in WITHOUT_ROOM and room.as_posix() not in WITHOUT_ROOM:
            stem = PACKAGE / room
            assert stem.is_dir() or stem.with_suffix(".py").exists(), f"tests/{room} is of no room"


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(n) for n in MODULES} - {"", "__main__"}
    assert rooms <= set(HEIGHT)


def test_the_page_shows_the_floors() -> None:
    """`docs/architecture.md` has each package beside the number of its floor."""
    page = (ROOT / "docs" / "architecture.md").read_text().split("```\n")
    (floors,) = [block for block in page if block.startswith(f"{len(FLOORS) - 1} ")]
    shown: dict[int, set[str]] = {}
    floor = len(FLOORS)
    for line in floors.splitlines():
        floor = int(line[:3]) if line[:3].strip() else floor
        shown.setdefault(floor, set()).update(re.split(r"\s+", line[3:28].strip()))
    assert shown == dict(enumerate(FLOORS))


def test_no_cycles_for_types() -> None:
    graph = {name: imports_of(name, with_types=True) - {"flambeau"} for name in MODULES if name != "flambeau"}
    knots = cycles(graph)
    assert not knots, "\n".join(", ".join(sorted(knot)) for knot in knots)


COMPLEX, COMPLEX_FUNCTIONS = 15, 1
"""What a function should not exceed, and how many do: fewer from change to change."""


def test_complex_functions_become_fewer() -> None:
    over = [
        f"{name}.{function.name}: {ways}"
        for name in MODULES
        for function in functions(name)
        if (ways := complexity(function)) > COMPLEX
    ]
    assert len(over) <= COMPLEX_FUNCTIONS, "\n".join(over)


OLD_WORDS = re.compile(
    r"(?:^|_)(unsettled|told_later|whole_functions?|heirs?|written_out|taken_along|lifting|ticks?|turns?|facts?|held|told"
    r"|boxing|unbox\w*)(?:_|$)",
    re.IGNORECASE,
)
"""Words that only this tree used for what `docs/glossary.md` has the field's words for."""
OLD_NAMES = {"unbox": 1}
"""Identifiers that have such words all the same, each counted once a module: `unbox` is Numba's own name."""


def identifiers(name: str) -> set[str]:
    """The names that a module defines, assigns or asks for, and its own."""
    found = {name.rpartition(".")[2]}
    for node in NODES[name].of(ast.Name, ast.Attribute, ast.arg, ast.keyword, ast.FunctionDef, ast.ClassDef):
        match node:
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.arg(arg=text) | ast.keyword(arg=str(text)):
                found.add(text)
            case ast.FunctionDef(name=text) | ast.ClassDef(name=text):
                found.add(text)
    return found


def test_old_words_become_fewer() -> None:
    seen: dict[str, list[str]] = {}
    for module in MODULES:
        for text in identifiers(module):
            word = OLD_WORDS.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text))
            if word is not None:
                seen.setdefault(word[1].lower().removesuffix("s"), []).append(f"{module}: {text}")
    more = {word: names for word, names in seen.items() if len(names) > OLD_NAMES.get(word, 0)}
    assert not more, "\n".join(f"{w}: {len(n)}: {', '.join(sorted(n))}" for w, n in more.items())


VAGUE_NAMES = {"found": 0, "made": 0, "given": 2, "place": 0}
"""Names that do not say what they hold, and how many parameters and variables may be called so: `given` is a keyword of
messages about calls."""


def test_names_that_say_nothing_become_fewer() -> None:
    seen: dict[str, list[str]] = {}
    for module in MODULES:
        for node in NODES[module].of(ast.Name, ast.arg):
            match node:
                case ast.Name(id=text, ctx=ast.Store()) | ast.arg(arg=text) if text in VAGUE_NAMES:
                    seen.setdefault(text, []).append(f"{module}:{node.lineno}")
    more = {text: where for text, where in seen.items() if len(where) > VAGUE_NAMES[text]}
    assert not more, f"say what it is, as `writers`, `axis`, `address`: {more}"


def test_no_cycles() -> None:
    graph = {n: {t for t in targets if t != "flambeau"} for n, targets in IMPORTS.items() if n != "flambeau"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


@by_room
def test_sizes_and_docstrings(room: str) -> None:
    for name in modules_of(room):
        text = MODULES[name].read_text(encoding="utf-8")
        assert ast.get_docstring(TREES[name]), f"{name} has no docstring"
        assert text.count("\n") <= LONGEST_FILE, f"{name} is too long"
        for node in NODES[name].of(ast.FunctionDef, ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            is_allowed = f"{name}.{node.name}" in LONG_ON_PURPOSE
            assert length <= LONGEST_FUNCTION or is_allowed, f"{name}.{node.name} is {length} lines"


def test_maps_of_folders_name_files_that_are_there() -> None:
    """Docstrings of large folders say where to look: each name in backticks behind that is a file or a folder."""
    count, missing = 0, []
    for init in PACKAGE.rglob("__init__.py"):
        _, is_map, text = (ast.get_docstring(ast.parse(init.read_text())) or "").partition("Where to look")
        for name in re.findall(r"`([a-z_][a-z0-9_*]*|\*[a-z_]+)`", text) if is_map else ():
            count += 1
            if not fnmatch.filter([path.stem for path in init.parent.iterdir()], name):
                missing.append(f"{init.parent.relative_to(PACKAGE)}: {name}")
    assert missing == []
    assert count > 400


@by_room
def test_nothing_is_left_open(room: str) -> None:
    for name in modules_of(room):
        left_open = re.search(r"\b(TODO|FIXME|XXX|HACK)\b", MODULES[name].read_text(encoding="utf-8"))
        assert not left_open, f"{name}: {left_open}"
        for node in NODES[name].of(ast.ExceptHandler):
            assert node.type is not None, f"{name}:{node.lineno}: bare except"


OWN_LOCKS = {
    "threading": {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier"},
    "functools": {"cached_property"},
    "concurrent": set(), "concurrent.futures": set(), "multiprocessing.pool": set(), "queue": set(),
}  # fmt: skip
"""What would stay locked in a forked process. No names stand for all of a module."""


@by_room
def test_c10_locks_are_those_that_a_forked_process_finds_free(room: str) -> None:
    kinds = ast.ImportFrom, ast.Attribute, ast.Import
    for name, node in [(module, node) for module in modules_of(room) for node in NODES[module].of(*kinds)]:
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module in OWN_LOCKS:
                used = {alias.name for alias in names}
            case ast.Attribute(value=ast.Name(id=str(module)), attr=used_name) if OWN_LOCKS.get(module):
                used = {used_name}
            case ast.Import(names=names) if any(OWN_LOCKS.get(alias.name) == set() for alias in names):
                module, used = next(alias.name for alias in names if alias.name in OWN_LOCKS), set()
            case _:
                continue
        wrong = used & OWN_LOCKS[module] if OWN_LOCKS[module] else used | {module}
        where = f"{name}, line {node.lineno}"
        is_allowed = name == "flambeau.util.locks"
        assert is_allowed or not wrong, f"{where}: {wrong}: take Lock, Lock of util.locks, util.cached"


@functools.cache
def classes() -> set[str]:
    """The qualified names of all classes of the package."""
    return {f"{name}.{n.name}" for name, nodes in NODES.items() for n in nodes.of(ast.ClassDef)}


def imported_classes(name: str) -> set[str]:
    """The names under which a module has classes of others of the package."""
    return {
        alias.asname or alias.name
        for node in NODES[name].of(ast.ImportFrom)
        for alias in node.names
        if f"{node.module}.{alias.name}" in classes()
    }


def assigned_attributes(module: str) -> Iterator[tuple[ast.expr, str]]:
    """The names whose attributes a module assigns to or deletes: `C` of `C.f = g` and of `setattr(C, "f", g)`."""
    for node in NODES[module].of(ast.Attribute, ast.Call):
        match node:
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield node, name
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[ast.Name(id=name), *_]):
                yield node, name


@by_room
def test_nobody_assigns_to_classes_of_other_modules(room: str) -> None:
    for name in modules_of(room):
        others = imported_classes(name)
        for node, assigned in assigned_attributes(name):
            assert assigned not in others, f"{name}:{node.lineno}: {assigned} is of another module: `util.inversions`"


def test_the_root_of_qualified_names_is_spelled_in_one_place() -> None:
    docstrings = {id(node.value) for nodes in NODES.values() for node in nodes.of(ast.Expr)}
    spelled = {
        name
        for name, nodes in NODES.items()
        for node in nodes.of(ast.Constant)
        if names.ROOT in str(node.value) and id(node) not in docstrings
    }
    assert spelled == {"flambeau.util.names"}, "take what `util.names` has"


def test_inversions_are_declared_in_one_place_and_provided_once() -> None:
    """By name: where each is provided."""
    providers: dict[str, list[str]] = {name: [] for name, value in vars(inversions).items() if type(value) is Inversion}
    for module, nodes in NODES.items():
        for node in nodes.of(ast.Attribute, ast.Call):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr="provide") if name in providers:
                    providers[name].append(module)
                case ast.Call(func=ast.Name(id="Inversion") | ast.Subscript(value=ast.Name(id="Inversion"))):
                    assert module == inversions.__name__, f"{module}:{node.lineno}: declare it in {inversions.__name__}"
    assert {name for name, where in providers.items() if len(where) != 1} == set(), providers
    for name, [where] in providers.items():
        purpose = getattr(inversions, name).purpose
        assert where.removeprefix("flambeau.") in purpose, f"{name} is of {where}"


def test_importing_the_package_brings_nothing_heavy() -> None:
    import subprocess
    import sys

    code = "import sys, flambeau; print([m for m in ('llvmlite', 'numba', 'torch', 'jax', 'cupy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_native_code_knows_where_tensors_have_their_fields() -> None:
    """Without that every call of native code goes through Python: `tensor_objects` names each slot of a tensor."""
    assert native_call.object_layouts() is not None or not is_supported()
