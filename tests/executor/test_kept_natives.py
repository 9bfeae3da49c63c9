"""Native functions of plans that an earlier process left, with the launches of their groups."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.codegen.graph.read_function import ReadFunction
from flambeau.codegen.inline_cache import Published
from flambeau.codegen.kept_codes import CodeWriter, NotKeptError
from flambeau.codegen.kept_launches import kept_launch
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm import loader
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.llvm.object_file import NotLinkedError
from flambeau.codegen.routines.table import Routine
from flambeau.executor.plan import ExecutionPlan

F = nn.functional
CALLS = 4
"""After which a graph without loops has native code."""


FIRST = """
import sys
from pathlib import Path
from tests.executor.test_kept_natives import CALLS, MODULES, called, given, is_read, saved
for kind in MODULES:
    content = saved(kind)
    Path(sys.argv[1], kind + ".pt").write_bytes(content)
    module, result = called(content, given(kind), CALLS)
    assert not is_read(module)
    result.numpy().tofile(Path(sys.argv[1], kind + ".answer"))
"""
SECOND = """
import sys
import flambeau
from tests.executor.test_kept_natives import given, is_read, plan_of
module = flambeau.jit.load(sys.argv[1])
x = given(sys.argv[2])
with flambeau.no_grad():
    module(x).numpy().tofile(sys.argv[3])
assert is_read(module)
assert plan_of(module).body.known is None, "the graph was read, though nothing asked for it"
assert "llvmlite.binding" not in sys.modules, "LLVM was loaded"
with flambeau.no_grad():
    assert module(x[:1]).shape[0] == 1
"""


def run(program: str, *arguments: object, cache: Path) -> None:
    """A program in a process of its own."""
    environment = {**os.environ, "FLAMBEAU_CACHE_DIR": str(cache), "FLAMBEAU_BACKGROUND": "off"}
    subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=True, env=environment)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a process left that called each module as often as it takes."""
    folder = tmp_path_factory.mktemp("left")
    run(FIRST, folder, cache=folder / "cache")
    return folder


@pytest.fixture
def cache(left: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of its cache, which is this process's."""
    shutil.copytree(left / "cache", tmp_path / "cache")
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FLAMBEAU_BACKGROUND", "off")
    return tmp_path / "cache"


def answer_of(left: Path, kind: str) -> Any:
    return np.fromfile(left / f"{kind}.answer", np.float32)


class Images(nn.Module):
    """Convolutions of several kinds, pooling, norms."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.deep = nn.Conv2d(8, 8, 3, groups=8)
        self.points = nn.Conv2d(8, 16, 1)
        self.last = nn.Linear(16, 5)

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = F.silu(self.points(self.deep(x)))
        return F.softmax(self.last(x.mean([2, 3])), -1)


class Attends(nn.Module):
    """Attention, layer norm, and what refuses some arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.widen = nn.Linear(16, 48)

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        if int(x.size(1)) > 12:
            raise ValueError("too long")
        q, k, v = self.widen(self.norm(x)).chunk(3, -1)
        return x + F.scaled_dot_product_attention(q, k, v, is_causal=True)


MODULES: dict[str, tuple[type[nn.Module], tuple[int, ...]]] = {
    "images": (Images, (2, 3, 12, 12)),
    "attends": (Attends, (2, 6, 16)),
}


def saved(kind: str) -> bytes:
    flambeau.manual_seed(3)
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(MODULES[kind][0]().eval()), stream)
    return stream.getvalue()


def given(kind: str) -> flambeau.Tensor:
    return flambeau.linspace(-1.0, 1.0, int(np.prod(MODULES[kind][1]))).reshape(*MODULES[kind][1])


def loaded(content: bytes) -> Any:
    return flambeau.jit.load(io.BytesIO(content))


def called(content: bytes, x: flambeau.Tensor, times: int = 1) -> tuple[Any, flambeau.Tensor]:
    module = loaded(content)
    with flambeau.no_grad():
        for _ in range(times):
            result = module(x)
    return module, result


def plan_of(module: Any) -> ExecutionPlan:
    plan: ExecutionPlan = module.forward._executor.plans[-1]
    return plan


def is_read(module: Any) -> bool:
    whole = plan_of(module).compiled
    return whole is not None and any(isinstance(v, ReadFunction) for v in whole.variants)


@pytest.mark.parametrize("kind", MODULES)
def test_another_process_answers_its_first_call_natively(kind: str, left: Path, tmp_path: Path) -> None:
    run(SECOND, left / f"{kind}.pt", kind, tmp_path / "answer", cache=left / "cache")
    assert np.array_equal(np.fromfile(tmp_path / "answer", np.float32), answer_of(left, kind))


def test_the_graph_is_read_when_something_else_comes(left: Path, cache: Path) -> None:
    module, result = called((left / "attends.pt").read_bytes(), given("attends"))
    assert is_read(module)
    assert np.array_equal(result.numpy().reshape(-1), answer_of(left, "attends"))
    plain, longer = MODULES["attends"][0](), flambeau.linspace(-2.0, 2.0, 3 * 9 * 16).reshape(3, 9, 16)
    plain.load_state_dict(module.state_dict())
    with flambeau.no_grad():
        assert flambeau.allclose(module(longer), plain(longer), atol=1e-5)
        with pytest.raises(Exception, match=r"too long"):
            module(flambeau.ones(1, 13, 16))
        assert np.array_equal(module(given("attends")).numpy().reshape(-1), answer_of(left, "attends"))
    assert plan_of(module).body.known is not None
    text = str(module.forward.explain())
    assert "read from the cache" in text
    assert "native from end to end" in text


def test_code_that_was_read_is_shown(left: Path, cache: Path) -> None:
    module, _ = called((left / "attends.pt").read_bytes(), given("attends"))
    assert is_read(module)
    assert "define i64 @flambeau_function" in module.forward.llvm_ir
    assert "flambeau_function" in module.forward.asm


def test_weights_that_change_are_seen(left: Path, cache: Path) -> None:
    x = given("images")
    module, _ = called((left / "images.pt").read_bytes(), x)
    assert is_read(module)
    plain = MODULES["images"][0]().eval()
    with flambeau.no_grad():
        module.first.weight.mul_(2.0)
        plain.load_state_dict(module.state_dict())
        assert flambeau.allclose(module(x), plain(x), atol=1e-5)


def test_code_that_is_gone_is_made_again(left: Path, cache: Path) -> None:
    for path in cache.rglob("*.object"):
        if b"\x7fELF" in path.read_bytes():
            path.unlink()
    module, result = called((left / "images.pt").read_bytes(), given("images"))
    assert np.allclose(result.numpy().reshape(-1), answer_of(left, "images"), atol=1e-5)
    assert plan_of(module).compiled is not None


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
def test_what_others_may_write_is_not_loaded(left: Path, cache: Path) -> None:
    for path in cache.rglob("*.object"):
        path.chmod(0o666)
    module, result = called((left / "images.pt").read_bytes(), given("images"))
    assert not is_read(module)
    assert np.allclose(result.numpy().reshape(-1), answer_of(left, "images"), atol=1e-5)


def test_threads_that_are_set_later_hold(left: Path, cache: Path) -> None:
    before = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(2)
        module, result = called((left / "images.pt").read_bytes(), given("images"), 3)
        assert is_read(module)
        assert np.array_equal(result.numpy().reshape(-1), answer_of(left, "images"))
    finally:
        flambeau.set_num_threads(before)


def routine_launch(words: list[int], kept: Any) -> Launch:
    code = engine().link("define void @f(ptr %a, i64 %b, i64 %c) { ret void }", ("f",), {})
    return Launch((), words, 1, None, routine=Routine(code, "f", kept))


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (([0, 1 << 40], ()), ([0, 1 << 40], ()), "a word may be an address"),
        (([0, 1], ()), ([0, 2], ()), "a word differs from call to call"),
        (([0], (np.ones(2, np.int32),)), ([0], (np.zeros(2, np.int32),)), "a table differs from call to call"),
        (([0], (np.ones(2),)), ([0], (np.ones(3),)), "its tables are too large, or differ from call to call"),
        (([0], (object(),)), ([0], (object(),)), "it points to a object"),
    ],
)  # fmt: skip
def test_a_launch_that_may_hold_addresses_is_not_kept(first: Any, second: Any, why: str) -> None:
    known = Published(routine_launch(*first), (), ())
    with pytest.raises(NotKeptError, match=re.escape(why)):
        kept_launch(known, lambda launch: routine_launch(*second), CodeWriter())


def test_a_launch_that_nobody_can_make_again_is_not_kept() -> None:
    with pytest.raises(NotKeptError, match="what made it is not known"):
        kept_launch(Published(routine_launch([0], ()), (), ()), lambda launch: None, CodeWriter())


def test_words_outside_of_code_are_not_written() -> None:
    if not loader.is_supported():
        pytest.skip("another linker")
    damaged = loader.Prelinked(bytes(4096), ((0, 4096, 1),), ((4090, 0),), (), ({},))
    with pytest.raises(NotLinkedError, match="a word lies outside of the memory"):
        loader.load(damaged, [()], [lambda name: None])
    unknown = loader.Prelinked(bytes(4096), ((0, 4096, 1),), (), ((0, 0, "f", 0),), ({},))
    with pytest.raises(NotLinkedError, match="symbol f is not defined"):
        loader.load(unknown, [()], [lambda name: None])
