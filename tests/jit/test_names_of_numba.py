"""Those who come from Numba are told what to write for what it has and programs here have not."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.util import names_of_numba


def double(x):
    return x + x


@pytest.mark.parametrize("option", names_of_numba.OPTIONS)
def test_options(option: str) -> None:
    with pytest.raises(TypeError) as caught:
        flambeau.script(double, **{option: True})  # type: ignore[call-overload]
    expected = f"script() got an unexpected keyword argument '{option}': {names_of_numba.OPTIONS[option]}"
    assert str(caught.value) == expected
    with pytest.raises(TypeError, match=f"'{option}'"):
        flambeau.script(**{option: True})  # type: ignore[call-overload]


def test_other_options() -> None:
    with pytest.raises(TypeError, match=r"^script\(\) got an unexpected keyword argument 'fast'$"):
        flambeau.script(double, fast=True)  # type: ignore[call-overload]


@pytest.mark.parametrize("attribute", names_of_numba.ATTRIBUTES)
def test_attributes(attribute: str) -> None:
    function = flambeau.script(double)
    with pytest.raises(AttributeError, match=f"has no attribute '{attribute}': Numba's {attribute} is ") as caught:
        getattr(function, attribute)
    assert caught.value.name == attribute
    ours = names_of_numba.ATTRIBUTES[attribute].partition("(")[0]
    assert hasattr(function, ours)
    assert not hasattr(function, attribute)


def test_other_attributes() -> None:
    with pytest.raises(AttributeError, match=r"object has no attribute 'nonsense'$"):
        flambeau.script(double).nonsense  # noqa: B018


@pytest.mark.parametrize("name", names_of_numba.FUNCTIONS)
def test_functions(name: str) -> None:
    assert not hasattr(flambeau, name)
    with pytest.raises(AttributeError) as caught:
        getattr(flambeau, name)
    assert str(caught.value).endswith(f"has no attribute '{name}': {names_of_numba.FUNCTIONS[name]}")


def test_signatures() -> None:
    with pytest.raises(TypeError, match=r"not a str: .* annotate the parameters: def f\(x: float\) -> float"):
        flambeau.script("f8(f8)")
