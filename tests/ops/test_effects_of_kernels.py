"""What kernels reach outside of a program's memory is what their operators declare."""

from __future__ import annotations

import builtins
import dis
import functools
import types
from collections.abc import Iterator
from typing import Any

import flambeau
from flambeau.ops.language.numpy_generators import COUNTS, FLOATS
from flambeau.schema import registry
from flambeau.schema.opdef import Effect
from flambeau.tensor import defaults, random
from flambeau.util import counters

MODULES = {
    "os", "sys", "io", "subprocess", "socket", "shutil", "pathlib", "warnings", "ctypes", "tempfile", "importlib",
    "threading", "signal", "logging", "gc", "atexit", "builtins", "pickle", "linecache", "random",
}  # fmt: skip
"""Modules through which a process is reached, or what it shares with others."""
BUILTINS = {"open", "print", "input", "exec", "eval", "compile", "__import__", "setattr", "delattr", "globals"}
HARMLESS = {
    "flambeau.ops.families.variants.fit_out": "warns, through the filters that the process has",
    "flambeau.tensor.repeated_kernels.with_native": "makes a function of the names in a schema, once for an operator",
    "flambeau.tensor.bridge._writable": "writes to memory that a capsule lends, which nobody else names",
    "flambeau.tensor.random.Generator.seed": "asks the system for a number",
    "flambeau.ops.language.world.print_values": "standard output",
    "flambeau.ops.language.world.warn": "warns, through the filters that the process has",
    "flambeau.util.user_code.warn_user": "warns, through the filters that the process has",
    "flambeau.ops.language.world.warn_of": "warns, through the filters that the process has",
}
"""Functions that kernels of other effects than `WORLD` may run, and what it is that they reach."""
DEVICE_LIBRARIES = ("flambeau.cuda.cudnn.", "flambeau.cuda.shared_libraries.")
"""Modules that call the C functions of a device's library, which read and write tensors and nothing else."""


def behind(kernel: Any) -> Iterator[types.FunctionType]:
    """The package's functions that a kernel may run, as far as names, closures and defaults lead to them."""
    seen: dict[int, Any] = {}
    waiting = [kernel]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, types.MethodType):
            waiting += [value.__func__, value.__self__]
        elif isinstance(value, functools.partial):
            waiting += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, types.FunctionType) and value.__module__.startswith("flambeau"):
            yield value
            waiting += [cell.cell_contents for cell in value.__closure__ or ()]
            waiting += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            waiting += list(globals_of(value).values())
        elif isinstance(value, list | tuple | set | frozenset) and len(value) < 100:
            waiting += list(value)
        elif hasattr(value, "__wrapped__"):
            waiting.append(value.__wrapped__)
        elif not isinstance(value, type) and type(value).__module__.startswith("flambeau"):
            waiting += [vars(type(value)).get("__call__"), *getattr(value, "__dict__", {}).values()]


def codes(function: types.FunctionType) -> Iterator[types.CodeType]:
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


@functools.cache
def names_in(function: types.FunctionType) -> frozenset[str]:
    """Global names that it looks up, and attributes of modules and the like that it asks for."""
    return frozenset(name for code in codes(function) for name in code.co_names)


@functools.cache
def globals_of(function: types.FunctionType) -> dict[str, Any]:
    """The globals that a function reads, by name."""
    steps = (step for code in codes(function) for step in dis.get_instructions(code))
    names = {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return {name: function.__globals__[name] for name in names if name in function.__globals__}


@functools.cache
def reached(function: types.FunctionType) -> frozenset[str]:
    """What a function itself reaches of the process, by what its names mean."""
    found = set()
    for name in names_in(function):
        value = globals_of(function).get(name)
        if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] in MODULES:
            found.add(value.__name__)
        elif name in BUILTINS and name not in function.__globals__ and hasattr(builtins, name):
            found.add(name)
    stores = {"STORE_GLOBAL", "DELETE_GLOBAL"}
    if any(step.opname in stores for code in codes(function) for step in dis.get_instructions(code)):
        found.add("a global name")
    return frozenset(found)


def test_c01_every_kernel_that_reaches_files_or_the_process_is_declared_so() -> None:
    wrong, declared = [], 0
    for definition in registry.all_definitions():
        if definition.family == "custom":
            continue
        for function in behind(definition.kernel):
            what = reached(function)
            name = f"{function.__module__}.{function.__qualname__}"
            if not what or name in HARMLESS or (what == {"ctypes"} and name.startswith(DEVICE_LIBRARIES)):
                continue
            if definition.effect is Effect.WORLD:
                declared += 1
            elif not (definition.effect is Effect.ORDERED and "stderr" not in names_in(function) and what == {"sys"}):
                wrong.append(f"{definition.full_name}: {name} reaches {', '.join(sorted(what))}")
    assert wrong == []
    assert declared > 3  # the search finds what there is


def test_c01_every_kernel_that_changes_what_the_process_shares_is_declared_so() -> None:
    shared = {id(random.default_generator): "the generator", id(counters._logger): "the counters"}
    setters = {flambeau.set_default_dtype, defaults.when_changed, counters.set_logger}
    wrong = []
    for definition in registry.all_definitions():
        for function in behind(definition.kernel):
            values = [function.__globals__.get(name) for name in names_in(function)]
            what = [shared[id(value)] for value in values if id(value) in shared]
            what += [value.__name__ for value in values if callable(value) and value in setters]
            if what and definition.effect not in (Effect.RANDOM, Effect.WORLD) and definition.family != "custom":
                wrong.append(f"{definition.full_name}: {function.__qualname__} has {', '.join(what)}")
    assert wrong == []


def test_c01_what_reaches_the_world_is_known_by_name() -> None:
    """Whoever declares another one looks at `docs/archives.md`, which names them."""
    names = {d.name for d in registry.all_definitions() if d.effect is Effect.WORLD and d.family != "custom"}
    assert names == {
        "aten::save", "aten::manual_seed", "prim::AddStatValue",
        "python::print_stderr", "python::write_stderr", "python::flush_stderr",
    } | {
        f"python::np_random_{name}"
        for name in (
            "counts", "double", "exponential", "float", "floats", "int", "integer", "integers", "ints", "normal",
            "permutation", "place", "places", "seed", "shuffle", "uniform",
        )
    } | {"python::np_generator"} | {
        f"python::generator_{name}"
        for name in (
            *FLOATS, *COUNTS, "floats", "integer", "integers", "ints", "permutation", "place", "places", "shuffle",
        )
    }  # fmt: skip
