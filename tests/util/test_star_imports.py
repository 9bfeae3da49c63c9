"""A star imports what a module is for, and none of its tools."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize(
    "name", ["nn.init", "nn.utils.rnn", "nn.utils.prune", "nn.utils.parametrize", "autograd.functional", "random"]
)
def test_a_star_brings_names_of_the_module(name: str) -> None:
    module = importlib.import_module(f"flambeau.{name}")
    namespace: dict[str, object] = {}
    exec(f"from flambeau.{name} import *", namespace)
    for public in set(namespace) - {"__builtins__"}:
        value = namespace[public]
        assert getattr(value, "__module__", type(value).__module__) == module.__name__, public
