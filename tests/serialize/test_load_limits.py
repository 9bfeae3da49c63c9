"""Small files that describe much work are refused early: in little time, in little memory, naming the limit."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import flambeau
from flambeau.jit import ArchiveError, LoadLimits
from tests.serialize.handmade import archive, load, module, pickled, tensor, text, zipped

BODY = "def forward(self: __torch__.M) -> int:\n  "
CODE = module(BODY + "return 1")
ANY = module(BODY + "return 1", attributes="a : Any")
TENSOR = module("def forward(self: __torch__.M) -> Tensor:\n  return self.a", attributes="a : Tensor")
DOUBLING = b"K\1" + b"".join(b"q\0h\0\x86" for _ in range(60))
"""A tuple of 2 ** 60 numbers, each pair of which is one object named twice."""


def deflated(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as whole:
        return zipped({name: whole.read(name) for name in whole.namelist()}, zipfile.ZIP_DEFLATED)


def with_a(value: bytes, code: str = ANY, **records: bytes) -> bytes:
    return archive(code, {"a": value}, **records)


def storage(size: int) -> bytes:
    value = tensor("0", size // 4, (size // 4,), (1,))
    return deflated(with_a(value, TENSOR, data__slash__0=bytes(size)))


def named_tuples(count: int) -> str:
    first = "class P0(NamedTuple):\n  x : int\n"
    each = "class P{0}(NamedTuple):\n  x : __torch__.P{1}\n  y : __torch__.P{1}\n"
    return first + "".join(each.format(i, i - 1) for i in range(1, count))


OVERFLOW = tensor("0", 4, (2**31 - 1,) * 3, (0, 0, 0))
BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "lines": ("50,000 lines", lambda: deflated(archive(module(BODY + "x = 1\n  " * 1_000_000 + "return 1")))),
    "newlines": ("50,000 lines", lambda: deflated(archive(CODE + "\n" * 10_000_000))),
    "comments": ("50,000 lines", lambda: deflated(archive(CODE + "#\n" * 3_000_000))),
    "statements": ("300,000 words", lambda: deflated(archive(module(BODY + "x=1;" * 1_000_000 + "return 1")))),
    "literal": ("300,000 words", lambda: deflated(archive(module(BODY + "return [" + "1," * 3_000_000 + "]")))),
    "word": ("16,777,216 bytes of code", lambda: deflated(archive(module(BODY + "return " + "a" * 100_000_000)))),
    "brackets": ("too many nested", lambda: archive(module(BODY + "return " + "(" * 90_000 + "1" + ")" * 90_000))),
    "sum": ("nested", lambda: archive(module(BODY + "return " + "1+" * 100_000 + "1"))),
    "default": (
        "levels of nested code",
        lambda: archive(module(f"def f(self: M, x: int={'1+' * 3_000}1) -> int:\n  pass"), b"c__torch__\nM\n)\x81"),
    ),
    "annotation": (
        "levels of nested code",
        lambda: archive(module(f"def f(self: M, x: a{'.a' * 3_000}) -> int:\n  pass")),
    ),
    "unclosed": ("Syntax error", lambda: archive(CODE + '"' + '\\"' * 60_000)),
    "missing": (
        "and 4,980 more",
        lambda: archive(CODE + "".join(f"def f{i}() -> int:\n  return torch.n{i}()\n" for i in range(5000))),
    ),
    "instructions": ("1,000,000 instructions", lambda: deflated(with_a(b"]" * 30_000_000))),
    "memo": (
        "1,000,000 instructions",
        lambda: deflated(with_a(b"]" + b"".join(b"r" + struct.pack("<I", i) for i in range(1_100_000)))),
    ),
    "constants": (
        "1,000,000 instructions",
        lambda: deflated(archive(CODE, constants__dot__pkl=b"\x80\x02(" + b"N" * 9_000_000 + b"t.")),
    ),
    "marks": ("100,000 levels", lambda: with_a(b"(" * 100_001)),
    "text": ("67,108,864 bytes of pickle", lambda: archive(CODE, constants__dot__pkl=bytes(67_108_865))),
    "shown": ("expected a storage outside", lambda: with_a(DOUBLING + b"Q")),
    "key": ("consists of more than 1000 values", lambda: with_a(b"}" + DOUBLING + b"K\1s")),
    "set": ("consists of more than 1000 values", lambda: with_a(b"cbuiltins\nset\n]" + DOUBLING + b"a\x85R")),
    "ordered": (
        "consists of more than 1000 values",
        lambda: with_a(b"ccollections\nOrderedDict\n](" + DOUBLING + b"K\1\x86e\x85R"),
    ),
    "constant": (
        "repeats its values too often",
        lambda: archive(CODE, constants__dot__pkl=b"\x80\x02" + DOUBLING + b"\x85."),
    ),
    "types": (
        "more than 10,000 types",
        lambda: archive(module(BODY + "return 1", attributes="a : __torch__.P40") + named_tuples(41), {"a": 1}),
    ),
    "storage": ("134,217,728 bytes when inflated", lambda: storage(150 << 20)),
    "records": ("50,000 records", lambda: zipped({f"m/{i}": b"" for i in range(50_001)})),
    "elements": ("bytes of elements", lambda: with_a(OVERFLOW, TENSOR, data__slash__0=bytes(16))),
}


@pytest.mark.parametrize("name", BOMBS)
def test_c02_bombs_are_refused_early(name: str) -> None:
    message, make = BOMBS[name]
    data = io.BytesIO(make())
    start = time.process_time()
    with pytest.raises(ArchiveError) as caught:
        flambeau.jit.load(data)
    seconds = time.process_time() - start
    assert message in str(caught.value)
    assert len(str(caught.value)) < 4_000
    assert seconds < 10  # a tenth of that, as a rule; minutes before


CHILD = """
import resource, sys
import flambeau
good, *bombs = sys.argv[1:]
flambeau.jit.load(good)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in bombs:
    try:
        flambeau.jit.load(path)
    except flambeau.jit.ArchiveError:
        continue
    raise SystemExit(path)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the system counts memory otherwise")
def test_c02_bombs_take_little_memory(tmp_path: Path) -> None:
    paths = [tmp_path / "good.pt", *(tmp_path / f"{name}.pt" for name in BOMBS)]
    for path, make in zip(paths, (lambda: archive(CODE), *(make for _, make in BOMBS.values())), strict=True):
        path.write_bytes(make())
    command = [sys.executable, "-c", CHILD, *map(str, paths)]
    megabytes = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert megabytes < 200


def test_c02_callers_set_limits() -> None:
    code = module(BODY + "x = 1\n  " * 60_000 + "return 1")
    with pytest.raises(ArchiveError, match=r"pass limits=LoadLimits\(lines=\.\.\.\) with a larger number"):
        load(archive(code))
    assert load(archive(code), limits=LoadLimits(lines=100_000)).training
    with pytest.raises(ArchiveError, match="its code has more than 3 lines"):
        load(archive(CODE), limits=LoadLimits(lines=3))
    with pytest.raises(ArchiveError, match="it has more than 3 records"):
        load(archive(CODE), limits=LoadLimits(records=3))
    with pytest.raises(ArchiveError, match="more than 5 instructions"):
        load(archive(CODE), limits=LoadLimits(pickle_opcodes=5))
    with pytest.raises(ArchiveError, match="more than 10 bytes of elements"):
        load(with_a(tensor("0", 4, (4,), (1,)), TENSOR, data__slash__0=bytes(16)), limits=LoadLimits(expanded_bytes=10))
    with pytest.raises(ArchiveError, match="more than 0 levels of nested values"):
        flambeau.load(
            io.BytesIO(zipped({"m/data.pkl": b"\x80\x02(t.", "m/version": "3\n"})), limits=LoadLimits(pickle_nesting=0)
        )
    with pytest.raises(ValueError, match=r"LoadLimits\(lines=\.\.\.\) takes a number from 0 on, got -1"):
        LoadLimits(lines=-1)
    with pytest.raises(TypeError):
        LoadLimits(3)  # type: ignore[misc]


def test_c02_what_is_long_and_honest_is_read() -> None:
    long = module(BODY + "x = [" + ", ".join(map(str, range(10_000))) + "]\n  return torch.len(x)")
    assert load(archive(long))() == 10_000
    code = module(BODY + "return torch.len(self.a)", attributes="a : Dict[str, int]")
    words = {f"word{i}": i for i in range(200_000)}
    assert load(archive(code, {"a": pickled(words)}))() == 200_000
    pairs = module(BODY + "return torch.len(self.a)", attributes="a : List[Tuple[int, str]]")
    assert (
        load(archive(pairs, {"a": b"](" + b"".join(b"K\1X\1\0\0\0a\x86" for _ in range(100_000)) + b"e"}))() == 100_000
    )
    shared = module(BODY + "return torch.len(self.a)", attributes="a : " + "List[" * 30 + "int" + "]" * 30)
    lists = b"]q\0"
    for depth in range(1, 30):
        lists = b"](" + lists + b"h" + bytes([depth - 1]) + b"eq" + bytes([depth])
    assert load(archive(shared, {"a": lists}))() == 2  # each list is looked at once, however often it is named


def test_c02_a_list_keeps_the_type_that_it_was_given_as() -> None:
    """What was looked at cannot be changed behind, nor be something else for another attribute."""
    code = module(BODY + "return 1", attributes="a : List[int]\nb : List[float]")
    state = b"}(" + text("training") + b"\x88" + text("a") + b"]q\0K\1a" + text("b") + b"h\0u"
    with pytest.raises(ArchiveError, match=r"is a List\[float\], and the same object is a List\[int\] elsewhere"):
        load(archive(code, b"c__torch__\nM\n)\x81" + state + b"b"))
    code = module(BODY + "return 1", attributes="a : List[int]")
    state = b"}(" + text("training") + b"\x88" + text("a") + b"]q\0K\1au"
    later = b"h\0" + text("x") + b"a"
    root = b"(" + b"c__torch__\nM\n)\x81" + state + b"b" + later + b"t"
    with pytest.raises(ArchiveError, match="it changes a list or dict after an object was given it"):
        load(archive(code, root))
