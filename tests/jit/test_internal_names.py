"""Names that programs import from `torch._jit_internal`, and from `torch.overrides`."""

from __future__ import annotations

from typing import Any

import pytest
from flambeau._jit_internal import List, Optional, boolean_dispatch  # type: ignore[import-not-found]
from flambeau.overrides import handle_torch_function, has_torch_function  # type: ignore[import-not-found]

import flambeau


def both(x, again: bool = False):  # type: ignore[no-untyped-def]
    return x, x + 1


def one(x, again: bool = False):  # type: ignore[no-untyped-def]
    return x


either = boolean_dispatch("again", 1, False, both, one, __name__, "either")


def test_one_of_two_functions_in_programs() -> None:
    def f(x):  # type: ignore[no-untyped-def]
        y, z = either(x, again=True)
        return either(x) + y + z

    x = flambeau.ones(2)
    assert f(x).tolist() == flambeau.script(f)(x).tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="only one function can have a docstring"):
        boolean_dispatch("again", 1, False, print, len, "", "")


def test_types_of_typing() -> None:
    def f(x: Optional[List[int]]) -> int:
        return 0 if x is None else len(x)

    scripted = flambeau.script(f)
    assert (scripted(None), scripted([1, 2])) == (0, 2)


def test_functions_that_classes_of_tensors_answer() -> None:
    class Counted(flambeau.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func.__name__, len(args)

    def scaled(x: Any, by: float) -> Any:
        if not flambeau.jit.is_scripting() and has_torch_function((x,)):
            return handle_torch_function(scaled, (x,), x, by)
        return x * by

    x = flambeau.ones(1)
    assert scaled(x, 2.0).item() == 2
    assert scaled(x.as_subclass(Counted), 2.0) == ("scaled", 2)
    with pytest.raises(TypeError, match=r"no mode and no class of \(Tensor\) answers calls of scaled"):
        handle_torch_function(scaled, (x,), x, 2.0)
