"""Methods with several signatures: each is compiled, a call takes the first that fits."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import jit, nn
from tests.jit.modules.module_support import BACKENDS

SHIFT = 1


class Scale(nn.Module):
    @jit._overload_method
    def forward(self, x: int, by: int = 2) -> int: ...

    @jit._overload_method
    def forward(self, x: str) -> str: ...  # noqa: F811

    def forward(self, x: Any, by: int = 2) -> Any:  # noqa: F811
        """Numbers are scaled, texts repeated."""
        if isinstance(x, int):
            return x * by + SHIFT
        return x + x


class Uses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = Scale()

    @jit._overload_method
    def twice(self, x: int) -> int:
        pass

    @jit._overload_method
    def twice(self, x: float) -> float:  # noqa: F811
        pass

    def twice(self, x: Any) -> Any:  # noqa: F811
        return x + x

    def forward(self, n: int) -> tuple[int, int, str, int, float]:
        return self.scale(n), self.scale(n, by=3), self.scale("ab"), self.twice(n), self.twice(0.5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_takes_the_first_that_fits(backend: Any) -> None:
    scripted = flambeau.script(Uses(), backend=backend, verify=True)
    for _ in range(3):
        assert scripted(3) == Uses()(3) == (7, 10, "abab", 6, 1.0)
    assert 'prim::CallMethod[name="forward__1"]' in str(scripted.graph)


class NoFit(Uses):
    def forward(self, n: int) -> Any:  # type: ignore[override]
        return self.scale([n])


class WithoutBody(nn.Module):
    @jit._overload_method
    def forward(self, x: int) -> int: ...


class CallsWithoutBody(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = WithoutBody()

    def forward(self, x: int) -> int:
        return self.inner(x)


class Untyped(nn.Module):
    @jit._overload_method
    def twice(self, x): ...  # type: ignore[no-untyped-def]

    def twice(self, x: Any) -> Any:  # noqa: F811
        return x

    def forward(self, x: int) -> Any:
        return self.twice(x)


class OtherDefault(nn.Module):
    @jit._overload_method
    def twice(self, x: int = 3) -> int: ...

    def twice(self, x: Any = 4) -> Any:  # noqa: F811
        return x

    def forward(self) -> Any:
        return self.twice()


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (NoFit, ["Arguments for call are not valid", "int x", "str x"]),
        (CallsWithoutBody, ['Implementation for the method "forward" is missing.']),
        (Untyped, ["Please explicitly add type annotations to overloaded functions"]),
        (OtherDefault, ["must equal to the default parameter"]),
    ],
)
def test_refusals(make: Any, fragments: list[str]) -> None:
    with pytest.raises(RuntimeError) as caught:
        flambeau.script(make())
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_a_declaration_has_no_body() -> None:
    with pytest.raises(RuntimeError, match="Only `pass` statement or"):

        @jit._overload_method
        def forward(self: Any, x: int) -> int:
            return x


def test_a_class_that_is_declared_again_has_overloads_of_its_own() -> None:
    def declare(factor: int) -> Any:
        class Scale(nn.Module):
            @jit._overload_method
            def forward(self, x: int) -> int: ...
            @jit._overload_method
            def forward(self, x: float) -> float: ...  # noqa: F811
            def forward(self, x):  # noqa: F811
                return x * factor

        return Scale

    class Uses(nn.Module):
        def __init__(self, scale: nn.Module) -> None:
            super().__init__()
            self.scale = scale

        def forward(self, n: int, x: float):
            return self.scale(n), self.scale(x)

    first, second = (flambeau.script(Uses(declare(k)())) for k in (2, 3))
    assert first(3, 1.5) == (6, 3.0)
    assert second(3, 1.5) == (9, 4.5)
