"""What a type checker says of a user's file: the derived functions and methods are known to it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau

ROOT = Path(__file__).resolve().parent.parent
RIGHT = """
from typing import assert_type

import flambeau
import flambeau.fft as transforms
import flambeau.nn.functional as F
from flambeau import Tensor, nn
from flambeau.ir import parse_ir
from flambeau.linalg import LinAlgError, det
from flambeau.jit import RecursiveScriptModule, ScriptFunction

x = flambeau.randn(2, 3)
assert_type(flambeau.tanh(x), Tensor)
assert_type(x.relu().sum(0), Tensor)
assert_type(x + 1, Tensor)
assert_type(x[0, 1:], Tensor)
assert_type(x.shape[0], int)
assert_type(flambeau.topk(x, 2), tuple[Tensor, Tensor])


@flambeau.script
def halve(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = flambeau.mul(x, 0.5)
    return x


@flambeau.script(backend="interpreter", max_plans=4)
def plain(x: Tensor) -> Tensor:
    return x


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inner(x)
        return y.tanh()


halving: ScriptFunction[[Tensor, int], Tensor] = halve
assert_type(halve(x, 2), Tensor)
@flambeau.script(backend="interpreter")
def counted(n: int) -> list[int]:
    return list(range(n))


@flambeau.script(backend="interpreter")
class Pair:
    def __init__(self, a: int) -> None:
        self.a = a


def more(x: Tensor, /) -> Tensor:
    return x + 1


assert_type(flambeau.script(Model()), RecursiveScriptModule)
assert_type(counted(2), list[int])
assert_type(Pair(3), Pair)
assert_type(flambeau.trace(more, x), ScriptFunction[[Tensor], Tensor])
assert_type(F.softmax(F.hardswish(x, inplace=False), dim=-1), Tensor)
assert_type(det(x), Tensor)
assert_type(transforms.fft(x), Tensor)
assert issubclass(LinAlgError, Exception)
assert_type(F.relu(x) * F.linear(x, x), Tensor)
assert_type(x.float().long().T, Tensor)
assert_type([row.sum() for row in x], list[Tensor])
assert_type(flambeau.einsum("ij->i", x), Tensor)
assert_type(F.layer_norm(x, x.shape[1:]), Tensor)
x.requires_grad_().sum().backward()
x.register_hook(lambda g: g * 2).remove()
wide = x.to(flambeau.float, copy=True).type(flambeau.double)
loader = flambeau.utils.data.DataLoader(flambeau.utils.data.TensorDataset(x), batch_size=2)
print(wide, loader, flambeau.load("weights.pt"), isinstance(x.untyped_storage(), flambeau.UntypedStorage))
print(halve(x, 2), halve.graph, halve.explain(), plain(x))
print(parse_ir(str(halve.graph)), flambeau.trace(halve, x))
"""
WRONG = """
import flambeau

x = flambeau.ones(3)
flambeau.tanh("text")
x.no_such_method()
flambeau.no_such_function(x)
x.sum(dim="rows")
flambeau.script(3)
flambeau.script(lambda v: v)(1, 2)
x.sum().backwards()
"""


def check(folder: Path, text: str) -> tuple[int, str]:
    """Exit status and output of mypy for one file, the package's own cache in use."""
    pytest.importorskip("mypy", reason="a checker of types, not needed to run anything")
    path = folder / "user_file.py"
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.returncode, done.stdout + done.stderr


def test_right_and_wrong_uses(tmp_path: Path) -> None:
    status, text = check(tmp_path, RIGHT)
    assert status == 0, text
    status, text = check(tmp_path, WRONG)
    lines = {int(number) for number in re.findall(r"user_file\.py:(\d+): error", text)}
    assert status == 1, text
    assert lines == {5, 6, 7, 8, 9, 10, 11}, text


def test_every_public_name_is_known(tmp_path: Path) -> None:
    """What `import *` and completion offer is there for a type checker too."""
    modules = (flambeau, flambeau.nn.functional, flambeau.linalg)
    lines = [*(f"import {module.__name__}" for module in modules), "x = flambeau.ones(3)"]
    for module in modules:
        public_names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
        lines += [f"{module.__name__}.{public}" for public in sorted(public_names) if public != "annotations"]
    lines += [f"x.{public}" for public in dir(flambeau.Tensor) if not public.startswith("_")]
    status, text = check(tmp_path, "\n".join(lines))
    assert status == 0, text
