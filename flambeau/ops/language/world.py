"""What is seen from outside: printing, warnings, exceptions, time."""

from __future__ import annotations

import builtins
import sys
import time
import warnings
from typing import Any, NoReturn

from flambeau.ops.language.declare import declare
from flambeau.ops.language.text import value_text
from flambeau.schema.device import Device
from flambeau.schema.opdef import Effect
from flambeau.tensor.grad_mode import is_grad_enabled, set_grad_enabled
from flambeau.tensor.random import Generator, manual_seed
from flambeau.util.counters import add_stat_value
from flambeau.util.errors import GuardError, ScriptError


def print_values(*values: Any) -> None:
    """One line on the current `sys.stdout`, values separated by blanks."""
    sys.stdout.write(" ".join(map(value_text, values)) + "\n")


def print_to(sep: str, end: str, stream: str, flush: bool, *values: Any) -> None:
    """Values separated by `sep` and ended by `end`, to the stream that `sys` has by that name."""
    out = getattr(sys, stream)
    if out is not None:  # as `print` does where there is no such stream
        out.write(sep.join(map(value_text, values)) + end)
        if flush:
            out.flush()


def _flush(stream: str) -> None:
    getattr(sys, stream).flush()


def raise_exception(message: str, class_name: str | None = None) -> NoReturn:
    """Raise ScriptError: qualified class name (RuntimeError where there is none) and what there is of a message.

    The guard of a trace raises GuardError.
    """
    name = class_name or "RuntimeError"
    kind = GuardError if name == GuardError.name else ScriptError
    raise kind(f"{name}: {message}" if message else name)


def warn(message: str, stacklevel: int) -> None:
    """A UserWarning from Python's own machinery."""
    warnings.warn(message, stacklevel=stacklevel)


def warn_of(message: str, category: str, stacklevel: int) -> None:
    """A warning of a class of Python's own, by its qualified name; a UserWarning for classes of others."""
    found = getattr(builtins, category.rpartition(".")[2], None)
    known = isinstance(found, type) and issubclass(found, Warning)
    warnings.warn(message, found if known else UserWarning, stacklevel=stacklevel)


def _generator(device: Device | None = None, seed: int | None = None) -> Generator:
    made = Generator() if device is None else Generator(device)
    return made if seed is None else made.manual_seed(seed)


declare("aten::retains_grad(Tensor self) -> bool", lambda tensor: bool(getattr(tensor, "retains_grad", False)))
declare("aten::is_grad_enabled() -> bool", is_grad_enabled, effect=Effect.WORLD)
declare("aten::set_grad_enabled(bool val) -> ()", lambda val: set_grad_enabled(val) and None, effect=Effect.WORLD)
declare("aten::is_autocast_enabled() -> bool", lambda: False)
declare("aten::is_autocast_cpu_enabled() -> bool", lambda: False)
declare("aten::Generator(*, Device? device=None, int? seed=None) -> Generator", _generator, effect=Effect.WORLD)
declare(
    "aten::manual_seed.generator(Generator(a!) self, int seed) -> Generator(a!)",
    Generator.manual_seed,
    effect=Effect.WORLD,
)
declare("aten::manual_seed(int seed) -> ()", lambda seed: manual_seed(seed) and None, effect=Effect.WORLD)
declare("aten::seed(Generator(a!) self) -> int", Generator.seed, effect=Effect.WORLD)
declare("aten::initial_seed(Generator self) -> int", Generator.initial_seed, effect=Effect.WORLD)
declare("prim::Print(...) -> ()", print_values, effect=Effect.WORLD)
declare("python::print(str sep, str end, str stream, bool flush, ...) -> ()", print_to, effect=Effect.WORLD)
declare(
    "python::write(str stream, str text) -> int",
    lambda stream, text: int(getattr(sys, stream).write(text)),
    effect=Effect.WORLD,
)
declare("python::flush(str stream) -> ()", _flush, effect=Effect.WORLD)
declare("prim::RaiseException(str msg, str? cls=None) -> ()", raise_exception, effect=Effect.WORLD)
declare("aten::warn(str message, int stacklevel=2) -> ()", warn, effect=Effect.WORLD)
declare("python::warn(str message, str category, int stacklevel=2) -> ()", warn_of, effect=Effect.WORLD)
declare("aten::_print(str s) -> ()", lambda text: sys.stdout.write(text) and None, effect=Effect.WORLD)
declare("prim::TimePoint() -> int", time.perf_counter_ns, effect=Effect.WORLD)
declare("prim::AddStatValue(str key, int val) -> ()", add_stat_value, effect=Effect.WORLD)
declare("prim::StrictFusion() -> ()", lambda: None, effect=Effect.WORLD)
declare("aten::is_scripting() -> bool", lambda: True)
declare("aten::_get_tracing_state() -> bool", lambda: False)
