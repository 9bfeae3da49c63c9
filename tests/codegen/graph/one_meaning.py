"""How a program is held against the interpreter and the reference: results with strides and storages, what is written,
errors to the letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.executor.options import Options

Arguments = Callable[[], tuple[Any, ...]]
CALLS = 4
"""As many as it takes until a native entry serves a function without loops."""


def numbers(value: Any) -> Any:
    """A value without the tensors in it: dtype, sizes, strides, elements to the bit."""
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(numbers, value)]
    if isinstance(value, Tensor):
        return str(value.dtype), tuple(value.shape), value.stride(), repr(value.tolist())
    return type(value).__name__, repr(value)


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in a value, in order."""
    if isinstance(value, tuple | list):
        return [t for v in value for t in tensors_in(v)]
    return [value] if isinstance(value, Tensor) else []


def sharing(arguments: tuple[Any, ...], result: Any) -> list[Any]:
    """For each pair of tensors: whether they are on one storage, and where in it; of arguments also if they are one.

    Whether two results that show the same memory are one object is not part of what a function means.
    """
    given = tensors_in(arguments)
    everything = [*given, *tensors_in(result)]
    return [
        (a is b and k < len(given), a._storage is b._storage and (a.storage_offset(), b.storage_offset()))
        for k, a in enumerate(everything)
        for b in everything[k + 1 :]
    ]


def outcome(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """All that can be seen of a call."""
    before = [t._version for t in tensors_in(arguments)]
    try:
        result = call(*arguments)
    except Exception as error:
        return type(error).__name__, str(error), numbers(arguments)
    changes = [t._version != v for t, v in zip(tensors_in(arguments), before, strict=True)]
    return numbers(result), numbers(arguments), sharing(arguments, result), changes


def functions(source: str) -> dict[str, flambeau.jit.ScriptFunction]:
    """The function ``f`` of a source, by backend."""
    function = flambeau.CompilationUnit(source).f
    return {
        name: function.with_options(Options(backend=name))  # type: ignore[arg-type]
        for name in ("native", "interpreter", "reference")
    }


def agree(source: str, arguments: Arguments, *, is_native: bool = True) -> None:
    """Call a function by each backend, natively as often as it takes to go every way.

    It must have become native, from end to end unless ``is_native`` says otherwise.
    """
    by = functions(source)
    expected = outcome(by["interpreter"], arguments())
    by_definition = outcome(by["reference"], arguments())
    if len(expected) == 3:  # the interpreter adds where it happened
        assert len(by_definition) == 3, by_definition
        assert expected[1].strip().endswith(by_definition[1].strip()), (expected, by_definition)
        assert expected[2] == by_definition[2]
    else:
        same(expected, by_definition, "the reference")
    for _ in range(CALLS):
        served = calls(by["native"])
        found = outcome(by["native"], arguments())
        same(found, expected, "the entry" if calls(by["native"]) > served else "native code")
    if is_native:
        assert_native(by["native"])


def calls(function: flambeau.jit.ScriptFunction) -> int:
    """How often native entries served."""
    return sum(plan.compiled.calls for plan in function._executor.plans if plan.compiled is not None)


def same(found: Any, expected: Any, who: str) -> None:
    """Show what differs."""
    if len(found) == len(expected) == 4:
        # Native code counts a write that may happen as one that does.
        found = (*found[:3], [a and b for a, b in zip(found[3], expected[3], strict=True)])
    if found == expected:
        return
    names = ("result", "arguments", "sharing", "changes") if len(expected) == 4 else ("error", "text", "arguments")
    if len(found) != len(expected):
        raise AssertionError(f"{who} gives {found}, expected {expected}")
    different = [
        f"{name}: {a!r}, expected {b!r}" for name, a, b in zip(names, found, expected, strict=True) if a != b
    ]
    raise AssertionError(f"{who}: " + "; ".join(different))


def assert_native(function: flambeau.jit.ScriptFunction) -> None:
    """Every plan became one native function."""
    assert function._executor.plans
    for plan in function._executor.plans:
        if plan.compiled is None:
            assert plan.fast_path is not None, plan.graph
        else:
            assert plan.compiled.reason == "", plan.compiled.reason
            assert plan.compiled.variants
