"""Random modules whose attributes alias each other: frozen, they do what they did, and leave their source alone."""

from __future__ import annotations

import importlib.util
import itertools
import random
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.program.object import ScriptObject

HEAD = """
import flambeau
from flambeau import Tensor, nn

class Inner(nn.Module):
    def __init__(self, t: Tensor):
        super().__init__()
        self.register_buffer("t", t)
        self.u = flambeau.full((4,), 0.25)
        self.n = 1
        self.tables = {"a": t, "b": flambeau.ones(4)}

    def forward(self, x: Tensor) -> Tensor:
INNER

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        base = flambeau.arange(8).to(flambeau.float32)
        self.p = nn.Parameter(flambeau.full((4,), 0.5))
        self.a = base[0:4]
        self.b = base[OFFSET:LIMIT]
        self.c = flambeau.ones(4)
        self.pair = (self.c, flambeau.zeros(4))
        self.rows = [self.a, flambeau.full((4,), 2.0)]
        self.sizes = [1, 2, 3]
        self.n = 2
        self.flag = FLAG
        self.one = Inner(self.b)
        self.two = SECOND

    def helper(self, x: Tensor, y: Tensor) -> Tensor:
        y.add_(0.5)
        return x + y

    def forward(self, x: Tensor) -> Tensor:
OUTER
"""
INNER = (
    "x = x + self.t", "x = x * self.u", "self.t.add_(0.5)", "self.u = self.u + 1.0", "self.n = self.n + 1",
    "x = x + self.n", "self.u = self.t", "self.u.mul_(0.5)", "x = x + self.tables['b']", "self.tables['a'].add_(1.0)",
    "self.tables['b'] = x.clone()",
)  # fmt: skip
OUTER = (
    "x = x + self.p", "x = x * self.a", "x = x - self.b", "x = x + self.c", "x = x + self.pair[0] * self.pair[1]",
    "x = x + self.rows[1]", "x = x + self.n", "x = x + len(self.sizes) + self.sizes[0]", "x = self.one(x)",
    "x = self.two(x)", "x = x + self.one.t * self.two.n",
)  # fmt: skip
CHANGES = (
    "self.a.add_(1.0)", "self.b[0:2].mul_(0.5)", "y = self.c\n        y.sub_(1.0)", "self.pair[1].add_(x)",
    "self.rows[0].mul_(0.5)", "self.rows[1] = x.clone()", "self.sizes.append(4)", "self.n = self.n + 1",
    "self.c = self.a", "self.c = x.clone()", "x = self.helper(x, self.c)", "self.one.t.add_(1.0)", "self.two.n = 3",
    "if self.flag:\n            self.a.add_(1.0)", "if self.n > 5:\n            self.c.add_(1.0)",
    "self.pair = (self.pair[1], self.a)", "for r in self.rows:\n            r.add_(1.0)",
)  # fmt: skip
_numbers = itertools.count()


def made(seed: int, folder: Path) -> Any:
    """A module class of its own file."""
    dice = random.Random(seed)

    def body(pool: tuple[str, ...], count: int) -> str:
        lines = [dice.choice(pool) for _ in range(count)]
        return "\n".join(f"        {line}" for line in (*lines, "return x"))

    offset = dice.choice((0, 2, 4))
    text = HEAD.replace("INNER\n", body(INNER[:2] + tuple(dice.choices(INNER, k=2)), 3) + "\n")
    outer = OUTER + tuple(dice.choices(CHANGES, k=dice.choice((0, 1, 2, 4))))
    text = text.replace("OUTER\n", body(outer, 8) + "\n").replace("FLAG", str(dice.random() < 0.5))
    text = text.replace("OFFSET:LIMIT", f"{offset}:{offset + 4}")
    text = text.replace("SECOND", dice.choice(("self.one", "Inner(self.c)")))
    name = f"frozen_random_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.Outer, text


def state(value: Any) -> Any:
    """A value as plain data."""
    if isinstance(value, Tensor):
        return value.detach().numpy().tolist()
    if isinstance(value, ScriptObject):
        return {a.name: state(value.get(a.name)) for a in value.type.definition.attributes}
    if isinstance(value, list | tuple):
        return [state(v) for v in value]
    if isinstance(value, dict):
        return {k: state(v) for k, v in value.items()}
    return value


@pytest.mark.parametrize("seed", range(40))
def test_frozen_modules_do_what_they_did(seed: int, tmp_path: Path) -> None:
    cls, text = made(seed, tmp_path)
    module = cls().eval()
    scripted = flambeau.script(module)
    before = state(scripted.script_object)
    twin: nn.Module = deepcopy(scripted)
    frozen = flambeau.jit.freeze(scripted)
    again = flambeau.jit.freeze(twin)
    for k in range(5):
        x = flambeau.full((4,), float(k))
        want = twin(x.clone()).detach().numpy()
        got = frozen(x.clone()).detach().numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5, err_msg=f"{text}\n{frozen.graph}")
        np.testing.assert_allclose(again(x.clone()).detach().numpy(), want, rtol=1e-5, err_msg=text)
    assert state(scripted.script_object) == before, text
    assert_same_where_kept(state(frozen.script_object), state(twin.script_object), text)


def assert_same_where_kept(frozen: Any, unfrozen: Any, text: str) -> None:
    """What stayed of a module went through the same changes."""
    for name, value in frozen.items():
        if isinstance(value, dict):
            assert_same_where_kept(value, unfrozen[name], text)
        else:
            assert value == unfrozen[name], f"{name} differs\n{text}"
