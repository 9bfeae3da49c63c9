"""What is seen from outside: printing, warnings, exceptions, time, the process's generator and counters."""

from __future__ import annotations

import builtins
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, TextIO

from flambeau.backends import cudnn
from flambeau.cuda.devices import device_count, is_available
from flambeau.ops.language.declare import declare
from flambeau.ops.language.text import value_text
from flambeau.schema.device import Device
from flambeau.schema.opdef import Effect
from flambeau.tensor.autocast import get_autocast_dtype, is_autocast_cpu_enabled, is_autocast_enabled
from flambeau.tensor.grad_mode import is_grad_enabled, set_grad_enabled
from flambeau.tensor.random import Generator, manual_seed
from flambeau.util.counters import add_stat_value
from flambeau.util.errors import GuardError, NeedsObjectError, ScriptError


def print_values(*values: Any) -> None:
    """One line on the current `sys.stdout`, values separated by blanks."""
    sys.stdout.write(" ".join(map(value_text, values)) + "\n")


def _print_to(stream: Callable[[], TextIO | None], sep: str, end: str, flush: bool, *values: Any) -> None:
    """Values separated by `sep` and ended by `end`, to what the stream is now."""
    out = stream()
    if out is not None:  # as `print` does where there is no such stream
        out.write(sep.join(map(value_text, values)) + end)
        if flush:
            out.flush()


def _write(stream: Callable[[], TextIO], text: str) -> int:
    return int(stream().write(text))


def _flush(stream: Callable[[], TextIO]) -> None:
    stream().flush()


_OF_OUR_OWN = {kind.name: kind for kind in (GuardError, NeedsObjectError)}


def raise_exception(message: str, class_name: str | None = None) -> NoReturn:
    """Raise ScriptError: qualified class name (RuntimeError where there is none) and what there is of a message.

    The guard of a trace raises GuardError, a method without its object that needs it NeedsObjectError.
    """
    name = class_name or "RuntimeError"
    kind = _OF_OUR_OWN.get(name, ScriptError)
    raise kind(f"{name}: {message}" if message else name)


def warn(message: str, stacklevel: int) -> None:
    """A UserWarning from Python's own machinery."""
    warnings.warn(message, stacklevel=stacklevel)


def warn_of(message: str, category: str, stacklevel: int) -> None:
    """A warning of a class of Python's own, by its qualified name; a UserWarning for classes of others."""
    category_class = getattr(builtins, category.rpartition(".")[2], None)
    known = isinstance(category_class, type) and issubclass(category_class, Warning)
    warnings.warn(message, category_class if known else UserWarning, stacklevel=stacklevel)


def _generator(device: Device | None = None, seed: int | None = None) -> Generator:
    generator = Generator() if device is None else Generator(device)
    return generator if seed is None else generator.manual_seed(seed)


declare("aten::retains_grad(Tensor self) -> bool", lambda tensor: bool(getattr(tensor, "retains_grad", False)))
declare("aten::is_grad_enabled() -> bool", is_grad_enabled, effect=Effect.ORDERED)
for _name, _asked in (
    ("cuda_is_available() -> bool", is_available), ("cuda_device_count() -> int", device_count),
    ("cudnn_is_available() -> bool", cudnn.is_available),
):  # fmt: skip
    declare(f"flambeau::{_name}", _asked, effect=Effect.ORDERED)
    _asked.operator_name = f"flambeau::{_name.partition('(')[0]}"  # type: ignore[attr-defined]  # how programs ask
declare(
    "aten::set_grad_enabled(bool val) -> ()",
    lambda val: set_grad_enabled(val) and None,
    effect=Effect.ORDERED,
    is_about_tensor=True,
)
declare("aten::is_autocast_enabled() -> bool", is_autocast_enabled, effect=Effect.ORDERED)
declare(
    "aten::get_autocast_dtype(str device_type) -> ScalarType", lambda kind: get_autocast_dtype(kind).code,
    effect=Effect.ORDERED,
)  # fmt: skip
declare("aten::is_autocast_cpu_enabled() -> bool", is_autocast_cpu_enabled, effect=Effect.ORDERED)
declare("aten::Generator(*, Device? device=None, int? seed=None) -> Generator", _generator, effect=Effect.ORDERED)
declare(
    "aten::manual_seed.generator(Generator(a!) self, int seed) -> Generator(a!)",
    Generator.manual_seed,
    effect=Effect.ORDERED,
)
declare("aten::manual_seed(int seed) -> ()", lambda seed: manual_seed(seed) and None, effect=Effect.WORLD)
declare("aten::seed(Generator(a!) self) -> int", Generator.seed, effect=Effect.ORDERED)
declare("aten::initial_seed(Generator self) -> int", Generator.initial_seed, effect=Effect.ORDERED)
declare("prim::Print(...) -> ()", print_values, effect=Effect.ORDERED)
for _suffix, _of, _effect in (
    ("", lambda: sys.stdout, Effect.ORDERED),
    ("_stderr", lambda: sys.stderr, Effect.WORLD),
):
    declare(f"python::print{_suffix}(str sep, str end, bool flush, ...) -> ()", partial(_print_to, _of), effect=_effect)
    declare(f"python::write{_suffix}(str text) -> int", partial(_write, _of), effect=_effect)
    declare(f"python::flush{_suffix}() -> ()", partial(_flush, _of), effect=_effect)
declare("prim::RaiseException(str msg, str? cls=None) -> ()", raise_exception, effect=Effect.ORDERED)
declare("aten::warn(str message, int stacklevel=2) -> ()", warn, effect=Effect.ORDERED)
declare("python::warn(str message, str category, int stacklevel=2) -> ()", warn_of, effect=Effect.ORDERED)
declare("aten::_print(str s) -> ()", lambda text: sys.stdout.write(text) and None, effect=Effect.ORDERED)
declare("prim::TimePoint() -> int", time.perf_counter_ns, effect=Effect.ORDERED)
declare("prim::AddStatValue(str key, int val) -> ()", add_stat_value, effect=Effect.WORLD)
declare("prim::StrictFusion() -> ()", lambda: None, effect=Effect.ORDERED)
declare("aten::is_scripting() -> bool", lambda: True)
declare("aten::_get_tracing_state() -> bool", lambda: False)
