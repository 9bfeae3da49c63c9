"""`FLAMBEAU_CPU`: what code is made for, what is refused; and that code of one level never runs on another."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flambeau.codegen.llvm import host as hosts
from flambeau.codegen.llvm.compiler import Compiler
from flambeau.codegen.llvm.engine import Engine, engine
from flambeau.codegen.llvm.host import ProcessorError, chosen_processor, processor_of, this_host
from flambeau.codegen.llvm.nest import emit_kernel
from flambeau.codegen.llvm.processor import LEVELS, Processor, level_of
from flambeau.codegen.schedule import Schedule
from tests.codegen.kernels import pointwise

x86 = pytest.mark.skipif(this_host().level is None, reason="levels are those of x86-64")
HASWELL = level_of("x86-64-v3", "x86_64-unknown-linux-gnu")
ARM = Processor("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon,+fp-armv8")
WIDE = r"%zmm|%k[0-7]\b|%[xy]mm(?:1[6-9]|2\d|3[01])\b"
BEYOND = {
    "x86-64": rf"{WIDE}|%ymm|\tv[a-z]|\tround[sp][sd]|\tpblendv|\tpmull?d|\tpopcnt",
    "x86-64-v2": rf"{WIDE}|%ymm|\tv[a-z]",
    "x86-64-v3": WIDE,
}
"""Instructions and registers that processors of a level do not have, in assembly."""


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[Processor], None]:
    """Has this machine be another."""
    return lambda processor: monkeypatch.setattr(hosts, "this_host", lambda: processor)


def test_c00_a_level_describes_a_processor_from_which_all_else_follows() -> None:
    found = {}
    for name in LEVELS:
        processor = level_of(name, "x86_64-unknown-linux-gnu")
        assert (processor.level, processor.name) == (name, name)
        t = processor.target
        found[name] = t.vector_bits, t.vector_registers, t.has_fma, t.has_scalef
    assert found == {
        "x86-64": (128, 16, False, False),
        "x86-64-v2": (128, 16, False, False),
        "x86-64-v3": (256, 16, True, False),
        "x86-64-v4": (512, 32, True, True),
    }
    assert ARM.level is None
    assert (ARM.target.vector_bits, ARM.target.vector_registers, ARM.target.has_fma) == (128, 32, True)


def test_c00_processors_with_a_part_of_a_level_use_what_they_have() -> None:
    """An AVX-512 of the first generation, and a machine whose hypervisor hides an instruction."""
    early = Processor(HASWELL.triple, "knl", f"{HASWELL.features},+avx512f,+avx512cd")
    assert (early.level, early.target.vector_bits) == ("x86-64-v3", 256)
    hidden = Processor(HASWELL.triple, "haswell", HASWELL.features.replace("+movbe", "-movbe"))
    assert (hidden.level, hidden.target.vector_bits, hidden.target.has_fma) == ("x86-64-v2", 256, True)
    assert hidden.name != Processor(HASWELL.triple, "haswell", HASWELL.features).name


def test_c00_names_of_no_level_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CPU", "avx2")
    expected = (
        "FLAMBEAU_CPU='avx2' names no level: expected x86-64, x86-64-v2, x86-64-v3, x86-64-v4 or host; "
        "unset it to use all that this processor has"
    )
    with pytest.raises(ProcessorError) as refused:
        chosen_processor()
    assert str(refused.value) == expected
    with pytest.raises(ProcessorError):
        Engine()


def test_c00_levels_that_the_machine_does_not_have_are_refused(
    monkeypatch: pytest.MonkeyPatch, on: Callable[[Processor], None]
) -> None:
    on(HASWELL)
    monkeypatch.setenv("FLAMBEAU_CPU", "x86-64-v4")
    with pytest.raises(ProcessorError) as refused:
        Engine()
    assert str(refused.value) == (
        "FLAMBEAU_CPU='x86-64-v4' cannot be used: this processor (x86-64-v3) has no avx512bw, avx512cd, avx512dq, "
        "avx512f, avx512vl; expected x86-64-v3 or less, or unset it to use all that this processor has"
    )
    for empty in ("", "host"):
        monkeypatch.setenv("FLAMBEAU_CPU", empty)
        assert chosen_processor() == HASWELL
    on(ARM)
    assert chosen_processor() == ARM
    with pytest.raises(ProcessorError, match="cannot be used on aarch64: it names a level of x86-64; unset it"):
        processor_of("x86-64-v2")


PROGRAM = """
import math
import numpy as np, flambeau
from flambeau.codegen.llvm.engine import engine

@flambeau.script
def rows(x, w):
    return flambeau.softmax(flambeau.erf(x) @ w, 1) + flambeau.log(x * x + 1.0).sum()

@flambeau.script
def loop(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += (i % 7) * 0.5
    return total

x = flambeau.from_numpy(np.linspace(-2, 2, 40 * 33, dtype=np.float32).reshape(40, 33))
w = flambeau.from_numpy(np.linspace(-1, 1, 33 * 50, dtype=np.float32).reshape(33, 50))
for _ in range(4):
    answer = rows(x, w), loop(1000)
wide = x.numpy().astype(np.float64)
erf = np.vectorize(math.erf)(wide) @ w.numpy()
want = np.exp(erf) / np.exp(erf).sum(1, keepdims=True) + np.log(wide * wide + 1).sum()
np.testing.assert_allclose(answer[0].numpy(), want, rtol=1e-5)
assert answer[1] == sum(i % 7 * 0.5 for i in range(1000))
print(engine().processor.name, "from cache" in str(rows.explain()))
print(rows.asm, loop.asm)
"""


def said_at(level: str, directory: Path) -> tuple[str, str, str]:
    """(the processor, whether code came from the cache, all assembly) of a process of its own."""
    environment = {**os.environ, "FLAMBEAU_CPU": level, "FLAMBEAU_CACHE_DIR": str(directory)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    head, _, asm = done.stdout.partition("\n")
    name, from_cache = head.split()
    return name, from_cache, asm


@x86
def test_c00_machines_with_different_processors_share_a_directory(tmp_path: Path) -> None:
    """Each level compiles its own code at first, finds it again later, and has no instruction of a higher one."""
    levels = [name for name in LEVELS if name != "x86-64" and LEVELS[name] <= LEVELS[this_host().level or ""]]
    for level, from_cache in [*((name, "False") for name in reversed(levels)), (levels[0], "True")]:
        *said, asm = said_at(level, tmp_path)
        assert said == [level, from_cache]
        assert "flambeau" in asm
        assert not re.search(BEYOND.get(level, "nothing"), asm)
    # Somebody puts the code of one level in the place of another's: the files say whose they are.
    by_level: dict[str, list[Path]] = {}
    for place in tmp_path.glob("*/*.object"):
        for level in levels:
            if f"{level}\n".encode() in place.read_bytes()[:256]:
                by_level.setdefault(level, []).append(place)
    assert set(by_level) == set(levels)
    high, low = by_level[levels[-1]], by_level[levels[0]]
    for k, place in enumerate(low):
        place.write_bytes(high[k % len(high)].read_bytes())
    if high is not low:
        assert said_at(levels[0], tmp_path)[:2] == (levels[0], "False")


@x86
@pytest.mark.parametrize("level", list(LEVELS)[:3])
@pytest.mark.parametrize(
    "op", ["exp", "log", "log1p", "tanh", "erf", "erfc", "sin", "pow", "floordiv", "round", "lgamma"]
)
def test_c00_code_for_a_level_has_no_instruction_of_a_higher_one(level: str, op: str) -> None:
    """Compiled for whatever level, executed nowhere."""
    processor = level_of(level, this_host().triple)
    arity = 2 if op in ("pow", "floordiv") else 1
    for dtype in ("float32", "float64"):
        lanes = 2 * processor.target.vector_bits // (32 if dtype == "float32" else 64)
        kernel = pointwise(op, (dtype,) * arity)
        unit = frozenset(b.name for b in kernel.buffers)
        schedule = Schedule(vector_axis=kernel.axes[-1], lanes=lanes, unit=unit)
        text = emit_kernel(kernel, schedule, processor.target, "test_kernel").text
        asm = Compiler(processor).assembly(text, optimise=False)
        assert "test_kernel:" in asm
        assert not re.search(BEYOND[level], asm)
        if op not in ("pow", "floordiv"):  # which are exact by the C library's own
            assert not re.search(r"\bfmaf?\b", asm), "a call for each lane"


def test_c00_code_is_shared_by_processors_of_one_kind_only() -> None:
    other = Processor(HASWELL.triple, "skylake", HASWELL.features)
    names = {
        Engine(p).identity for p in (HASWELL, other, Processor(HASWELL.triple, "skylake", HASWELL.features + ",+adx"))
    }
    assert len(names) == 3
    assert engine().identity == Engine().identity


def test_c00_a_program_says_what_is_wrong_with_the_variable() -> None:
    program = (
        "import flambeau\nu = flambeau.CompilationUnit('def f(x):\\n    return x.exp() + 1\\n')\nu.f(flambeau.ones(3))"
    )
    environment = {**os.environ, "FLAMBEAU_CPU": "haswell"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ProcessorError: FLAMBEAU_CPU='haswell' names no level" in done.stderr.splitlines()[-1]
