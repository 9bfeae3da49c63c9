"""How the tests of loops run a program: natively, by the interpreter, and by Python itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import flambeau
from flambeau import Tensor


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call gives or raises, and what is then in its arguments, to the bit."""
    given = [flambeau.from_numpy(a.copy()) if isinstance(a, np.ndarray) else a for a in args]
    return outcome_on(f, given)


def outcome_on(f: Callable[..., Any], given: list[Any]) -> tuple[Any, ...]:
    """The same on arguments that may share memory."""
    try:
        result: Any = bits(f(*given))
    except Exception as error:
        result = (type(error), str(error).strip().splitlines()[-1])
    return result, [bits(a) for a in given if isinstance(a, Tensor)]


def bits(value: Any) -> Any:
    """A value that compares equal only to the same bits; one nan is as good as another."""
    if isinstance(value, tuple | list):
        return [bits(v) for v in value]
    if isinstance(value, Tensor):
        array = value.numpy()
        clean = np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array
        return array.dtype.str, array.shape, clean.tobytes()
    if isinstance(value, float):
        return "nan" if value != value else value.hex()
    return type(value), value


def native_functions(script: Any) -> list[Any]:
    """The whole-graph functions that a script has become."""
    whole = script._executor._latest.compiled
    assert whole is not None
    assert not whole.reason
    return list(whole.variants)


def agree(f: Callable[..., Any], *argument_lists: tuple[Any, ...], python: bool = True) -> Any:
    """Hold native code against the interpreter, and against Python unless its numbers are wider."""
    native, plain = flambeau.script(f), flambeau.script(f, backend="interpreter")
    for args in argument_lists:
        found = outcome(native, args)
        assert found == outcome(plain, args), args
        if python and not isinstance(found[0], tuple):
            assert found == outcome(f, args), args
    return native
