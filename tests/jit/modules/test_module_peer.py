"""The same modules compiled by TorchScript and here: results, state, text."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import pytest

import flambeau

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

HEAD = """
from typing import *
import {package}
from {package} import nn, Tensor, jit

def filled(module):
    for k, p in enumerate(module.parameters()):
        p.data = {package}.arange(p.numel()).to({package}.float32).reshape(p.shape) / (7.0 + k) - 1.0
    return module
"""

SOURCES = {
    "attributes and methods": """
        class M(nn.Module):
            names: List[str]
            best: Optional[int]
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
                self.count = 0
                self.names = []
                self.best = None
                self.register_buffer("mean", {package}.zeros(3))
            def helper(self, x: Tensor, k: int = 2) -> Tensor:
                return x * k
            def forward(self, x: Tensor) -> Tuple[Tensor, int]:
                self.count += 1
                self.names.append("n")
                self.mean = self.mean * 0.5 + x.sum(0)
                best = self.best
                if best is None:
                    self.best = 3
                if self.training:
                    x = self.lin(x)
                return self.helper(x) + self.helper(x, k=3) + self.mean, self.count + len(self.names)
    """,
    "containers": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)])
                self.table = nn.ModuleDict({{"a": nn.Linear(3, 3), "b": nn.ReLU()}})
                self.seq = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU()))
            def forward(self, x: Tensor) -> Tensor:
                for i, layer in enumerate(self.layers):
                    x = layer(x) + i
                for name, layer in self.table.items():
                    x = layer(x) * len(name)
                if "a" in self.table:
                    x = self.table["a"](x)
                return self.seq(x) + self.layers[-1](x) + len(self.layers)
    """,
    "hooks": """
        class Inner(nn.Module):
            def forward(self, x: Tensor, k: int) -> Tensor:
                return x * k
        def pre(self, input: Tuple[Tensor, int]) -> Tuple[Tensor, int]:
            return input[0] + 1, input[1] * 2
        def post(self, input: Tuple[Tensor, int], output: Tensor) -> Tensor:
            return output - input[0]
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
                self.inner.register_forward_pre_hook(pre)
                self.inner.register_forward_hook(post)
            def forward(self, x: Tensor) -> Tensor:
                return self.inner(x, 3) + self.inner.forward(x, 1)
    """,
    "constants and optional parts": """
        class M(nn.Module):
            k: jit.Final[int]
            __constants__ = ["scale"]
            def __init__(self, down=None):
                super().__init__()
                self.k = 3
                self.scale = 0.5
                self.down = down
                self.act = {package}.relu
            def forward(self, x: Tensor) -> Tensor:
                if self.down is not None:
                    x = self.down(x)
                return self.act(x) * self.k + self.scale
    """,
    "ignored, unused, exported": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.n = 1
            @jit.ignore
            def python(self, x: Tensor, k: int) -> int:
                return k + len({{1, 2}})
            @jit.unused
            def never(self, x: Tensor) -> Tensor:
                yield x
            @jit.export
            def more(self, m: int) -> int:
                return self.n + m
            @property
            def twice(self) -> int:
                return self.n * 2
            def forward(self, x: Tensor, go: bool = False) -> Tensor:
                if go:
                    x = self.never(x)
                return x * self.python(x, 4) + self.twice + self.more(2)
    """,
}
def made(package: str, name: str) -> Any:
    source = HEAD.format(package=package) + textwrap.dedent(SOURCES[name].format(package=package))
    filename = f"peer_{package}_{name.replace(' ', '_')}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    scope: dict[str, Any] = {"__name__": f"peer_{package}"}
    exec(compile(source, filename, "exec", dont_inherit=True), scope)
    return scope["filled"](scope["M"]())


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.detach().numpy().round(4).tolist() if hasattr(value, "detach") else value


@pytest.mark.parametrize("name", SOURCES)
def test_modules_agree(name: str) -> None:
    ours, theirs = flambeau.script(made("flambeau", name)), torch.jit.script(made("torch", name))
    values = [[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]]
    for _ in range(3):
        assert plain(ours(flambeau.tensor(values))) == plain(theirs(torch.tensor(values)))
    assert {n: plain(t) for n, t in ours.state_dict().items()} == {n: plain(t) for n, t in theirs.state_dict().items()}
    assert [n for n, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]
    assert str(ours) == str(theirs)
