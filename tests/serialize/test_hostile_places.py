"""What an archive says of places is text, and no such file is opened; what is malformed ends in one kind of error."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau.jit import ArchiveError
from tests.serialize.handmade import archive, load, module, pickled, tensor, text

BODY = "def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  "
posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
CHILD = """
import os, stat, sys, warnings
import flambeau
flambeau.jit.load(sys.argv[1])(flambeau.ones(2))
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
for path in sys.argv[2:]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            flambeau.jit.load(path)(flambeau.ones(2))
        except Exception as error:
            str(error)
        for one in seen:
            warnings.formatwarning(one.message, one.category, one.filename, one.lineno)
print([name for name in opened if os.path.exists(name) and stat.S_ISFIFO(os.stat(name).st_mode)])
"""


def debug(filename: str, source: str) -> bytes:
    """A table that says that all of the code comes from a file."""
    entry = (0, (((0,), 1, 1), 0, len(source)), 0)
    return b"\x80\x02" + pickled(("FORMAT_WITH_STRING_TABLE", (source, filename), (entry,))) + b"."


@posix
def test_c03_no_file_that_an_archive_names_is_opened(tmp_path: Path) -> None:
    """Pipes stand where the names lead: whoever opens one waits for ever."""
    names = ("code/__torch__.py", "user.py", "<unknown>", "<string>")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        os.mkfifo(tmp_path / name)
    warn = module(BODY + 'torch.warn("careful")\n  return x')
    where = str(tmp_path / "user.py")
    files = {
        "good": archive(module(BODY + "return x")),
        "syntax": archive(module(BODY + "return (x")),
        "indent": archive(module(BODY + "return x\n return x")),
        "tabs": archive(module(BODY + "if x:\n\t  pass\n        pass")),
        "string": archive(module(BODY + "return 'x")),
        "words": archive(module(BODY + "return self.lambda from")),
        "comment": archive(module("def forward(self: __torch__.M, x):\n  # type: (Tensor -> Tensor\n  return x")),
        "class": archive("class M(Module:\n  pass"),
        "escape": archive(module(BODY + 'y = "\\\\d\\d"\n  return x')),
        "undefined": archive(module(BODY + "return nothing(x)")),
        "fails": archive(module(BODY + "return torch.mm(x, x)")),
        "warns": archive(warn),
        "warns elsewhere": archive(warn, **{"code__slash____torch____dot__py.debug_pkl": debug(where, "warn()")}),
    }
    paths = []
    for name, data in files.items():
        paths.append(tmp_path / f"{name}.pt")
        paths[-1].write_bytes(data)
    command = [sys.executable, "-c", CHILD, *map(str, paths)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout == "[]\n"


@posix
def test_c03_texts_of_users_open_no_file_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("<string>")
    os.mkfifo("<unknown>")
    for source in ("def f(x:\n  return", "def f(x):\n  return (x", "def f(x):\n  # type: (Tensor -> int\n  return x"):
        with pytest.raises(flambeau.jit.CompileError):
            flambeau.CompilationUnit(source)


def test_c03_places_of_archives_are_shown_as_what_they_are() -> None:
    code = module(BODY + 'torch.warn("careful")\n  return x')
    places = {"code__slash____torch____dot__py.debug_pkl": debug("/etc/user.py", "warn()\n")}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        load(archive(code, **places))(flambeau.ones(2))
    assert seen[0].filename == "</etc/user.py>"


A = module("def forward(self: __torch__.M) -> Tensor:\n  return self.a", attributes="a : Tensor")
FOUR = {"data__slash__0": bytes(16)}
MALFORMED: dict[str, tuple[str, bytes]] = {
    "device of a storage": (
        "record 'data.pkl': storage '0': Expected one of cpu",
        archive(A, {"a": tensor("0", 4, (4,), (1,), place="toaster")}, **FOUR),
    ),
    "number of a device": (
        "record 'data.pkl': storage '0': ",
        archive(A, {"a": tensor("0", 4, (4,), (1,), place="cuda:x")}, **FOUR),
    ),
    "device": ("Expected one of cpu", archive(A, {"a": b"ctorch\ndevice\n" + text("toaster") + b"\x85R"})),
    "device in a default": (
        "Expected one of cpu",
        archive(module('def f(self: __torch__.M, d: Device=torch.device("toaster")) -> int:\n  return 1')),
    ),
    "device in a constant": (
        "Expected one of cpu",
        archive(
            module(
                "def f(self: __torch__.M) -> int:\n  return 1", attributes='d : Final[Device] = torch.device("toaster")'
            )
        ),
    ),
    "constants of one name": (
        "attempting to add constant 'k'",
        archive(module(attributes="k : Final[float] = 1.5\nk : Final[float] = 2.5")),
    ),
    "attributes of one name": ("'a'", archive(module(attributes="a : int\na : float"))),
    "constant and attribute": ("'a'", archive(module(attributes="a : int\na : Final[int] = 2"))),
    "attribute and constant": ("'a'", archive(module(attributes="a : Final[int] = 2\na : int"))),
    "methods of one name": ("already defined", archive(module(*["def f(self: __torch__.M) -> int:\n  return 1"] * 2))),
    "members of one name": (
        "class E(Enum)",
        archive(module(attributes="e : __torch__.E") + "class E(Enum):\n  A = 1\n  A = 2\n"),
    ),
    "parameters of one name": (
        "two parameters of one name",
        archive(module("def f(self: __torch__.M, x: int, x: int) -> int:\n  return 1")),
    ),
    "large number": (
        "expected a literal",
        archive(module(f"def f(self: __torch__.M, x: int={1 << 64}) -> int:\n  return 1")),
    ),
    "large attribute": (
        "expected a number of 64 bits, got one of 72",
        archive(module(attributes="a : int"), {"a": b"\x8a\x09" + bytes(8) + b"\1"}),
    ),
    "list of parameters": (
        "expected a list of names",
        archive("class M(Module):\n  __parameters__ = 3\n  training : bool\n"),
    ),
    "list of hooks": (
        "expected a list of names",
        archive("class M(Module):\n  __forward_hooks__ = [[]]\n  training : bool\n"),
    ),
    "no parts of a type": ("", archive(module(attributes="a : List[]"))),
    "a type that is none": ("", archive(module(attributes="a : 3"), {"a": 3})),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_c03_what_is_malformed_is_said_in_one_kind_of_error(name: str) -> None:
    message, data = MALFORMED[name]
    with pytest.raises(ArchiveError) as caught:
        load(data)
    assert message in str(caught.value)


def test_c03_what_restoring_raises_is_the_archives_error() -> None:
    for body in (
        'ops.prim.RaiseException("no", "builtins.SystemExit")',
        'ops.prim.RaiseException("no", "builtins.KeyboardInterrupt")',
        'ops.prim.RaiseException("no", "builtins.KeyError")',
        "print([1][3])",
        "print(torch.floordiv(1, 0))",
        "print(torch.zeros([1000000000000000]))",
        'print(int("a"))',
        "print({1: 2}[3])",
    ):
        code = module(
            "def __getstate__(self: __torch__.M) -> int:\n  return 1",
            f"def __setstate__(self: __torch__.M, n: int) -> NoneType:\n  {body}\n  return None",
        )
        with pytest.raises(ArchiveError, match=r"__setstate__ of __torch__\.M failed"):
            load(archive(code, b"c__torch__\nM\n)\x81K\1b"))


def test_c03_map_location_that_is_none_is_the_callers_error() -> None:
    data = archive(A, {"a": tensor("0", 4, (4,), (1,), place="cuda:0")}, **FOUR)
    assert flambeau.jit.load(io.BytesIO(data), "cpu").a.tolist() == [0.0] * 4
    with pytest.raises(ArchiveError, match="pass map_location='cpu'"):
        load(data)


def packed(weight: bytes | None, bias: Any) -> bytes:
    """An archive that holds the packed weight of a convolution."""
    name = "__torch__.torch.classes.quantized"
    numbers = [2, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0]
    state = b"c%s\nConv2dPackedParamsBase\n)\x81" % name.encode() + pickled((3, numbers, [None, weight, bias])) + b"b"
    forward = "def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return ops.quantized.conv2d(x, self.p, 0.1, 0)"
    code = module(forward, attributes=f"p : {name}.Conv2dPackedParamsBase")
    return archive(code, {"p": state}, data__slash__0=bytes(16), data__slash__1=bytes((1, 2, 3, 4)))


def test_packed_weights_and_biases_are_looked_at_while_loading() -> None:
    floats = tensor("0", 4, (1, 1, 2, 2), (4, 4, 2, 1))
    storage = pickled(("storage", b"ctorch\nQInt8Storage\n", "1", "cpu", 4)) + b"Q"
    scheme = (b"ctorch\nper_tensor_affine\n", 0.1, 0)
    parts = (storage, 0, (1, 1, 2, 2), (4, 4, 2, 1), scheme, False, b"ccollections\nOrderedDict\n)R")
    weight = b"ctorch._utils\n_rebuild_qtensor\n" + pickled(parts) + b"R"
    x = flambeau.quantize_per_tensor(flambeau.ones(1, 1, 3, 3), 0.1, 0, flambeau.quint8)
    assert load(packed(weight, None))(x).shape == (1, 1, 2, 2)
    for wrong, bias, message in (
        (floats, None, "expected a weight of qint8, got flambeau.float32"),
        (None, None, "expected a weight of qint8, got NoneType"),
        (weight, True, "expected a bias of 1 elements, or None, got bool"),
        (weight, floats, r"expected a bias of 1 elements, or None, got a tensor of sizes \[1, 1, 2, 2\]"),
    ):
        with pytest.raises(ArchiveError, match=message):
            load(packed(wrong, bias))
