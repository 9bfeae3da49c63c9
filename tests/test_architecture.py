"""The shape of the house: imports run downhill, no cycles, files and functions stay small, nothing is left open."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "flambeau"
FLOORS = (
    {"util", "backends"},
    {"schema"},
    {"tensor", "ir"},
    {"ops", "analysis", "program", "amp", "cpu", "cuda"},
    {"autograd", "passes", "frontend", "fft", "linalg", "special"},
    {"interpreter", "codegen", "nn"},
    {"executor", "optim", "distributed"},
    {"serialize"},
    {"jit"},
    {"testing", "tools"},
)
HEIGHT = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
LONGEST_FILE, LONGEST_FUNCTION = 500, 70
LONG_ON_PURPOSE = {
    "flambeau.interpreter.machine.run": "the loop over instructions: a call for each would take too long",
    "flambeau.codegen.llvm.entry_blocks._blocks": "the text of one LLVM function",
    "flambeau.codegen.llvm.entry_sizes._common_size": "the text of one LLVM function",
    "flambeau.codegen.llvm.entry_blocks._taken": "the text of one LLVM function",
    "flambeau.codegen.llvm.entry_forward.forward_text": "the text of one LLVM function",
    "flambeau.codegen.llvm.entry_objects._unbox_array": "the text of one LLVM function",
}
FILES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(p): p for p in FILES}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imports_of(name: str) -> set[str]:
    """The modules of the package that a module imports, those for type checkers alone excepted."""
    tree = TREES[name]
    typing_only = {
        id(inner)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for statement in block.body
        for inner in ast.walk(statement)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found.update(a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: relative import; write the full name"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in MODULES else str(node.module))
    return {m for m in found if m in MODULES and m != name}


IMPORTS = {name: imports_of(name) for name in MODULES}


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


@pytest.mark.parametrize("name", [n for n in MODULES if room_of(n) in HEIGHT])
def test_imports_run_downhill(name: str) -> None:
    here = room_of(name)
    for target in IMPORTS[name]:
        there = room_of(target)
        if there == "" and here in FLOORS[-1]:
            continue  # the top floor looks at the package from outside, as its users do
        assert there != "", f"{name} imports the package itself"
        assert here == there or HEIGHT[there] < HEIGHT[here], f"{name} climbs to {target}"


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(n) for n in MODULES} - {"", "__main__"}
    assert rooms <= set(HEIGHT)


def test_no_cycles() -> None:
    graph = {n: {t for t in targets if t != "flambeau"} for n, targets in IMPORTS.items() if n != "flambeau"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


@pytest.mark.parametrize("name", MODULES)
def test_sizes_and_docstrings(name: str) -> None:
    text = MODULES[name].read_text(encoding="utf-8")
    assert ast.get_docstring(TREES[name]), f"{name} has no docstring"
    assert text.count("\n") <= LONGEST_FILE, f"{name} is too long"
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            is_allowed = f"{name}.{node.name}" in LONG_ON_PURPOSE
            assert length <= LONGEST_FUNCTION or is_allowed, f"{name}.{node.name} is {length} lines"


@pytest.mark.parametrize("name", MODULES)
def test_nothing_is_left_open(name: str) -> None:
    text = MODULES[name].read_text(encoding="utf-8")
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text)
    for node in ast.walk(TREES[name]):
        assert not (isinstance(node, ast.ExceptHandler) and node.type is None), f"{name}:{node.lineno}: bare except"


OWN_LOCKS = {
    "threading": {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier"},
    "functools": {"cached_property"},
    "concurrent": set(), "concurrent.futures": set(), "multiprocessing.pool": set(), "queue": set(),
}  # fmt: skip
"""What would stay locked in a forked process. No names stand for all of a module."""


@pytest.mark.parametrize("name", sorted(set(MODULES) - {"flambeau.util.locks"}))
def test_c10_locks_are_those_that_a_forked_process_finds_free(name: str) -> None:
    for node in ast.walk(TREES[name]):
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
        assert not wrong, f"{name}, line {node.lineno}: {wrong}: take Lock, Lock of util.locks, util.cached"


def test_importing_the_package_brings_nothing_heavy() -> None:
    import subprocess
    import sys

    code = "import sys, flambeau; print([m for m in ('llvmlite', 'numba', 'torch', 'jax', 'cupy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"
