"""Archives as files: their container, what is in them word by word, where they go, and what is refused."""

from __future__ import annotations

import io
import os
import pickletools
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, jit, nn
from flambeau.serialize.archive_writer import container_writer as container
from tests.serialize.saved_modules import CASES, Attributes, compiled, function, helper

ROOT = Path(__file__).resolve().parents[2]


def records(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None
        return {name.partition("/")[2]: file.read(name) for name in file.namelist()}


def code_of(program: Any, name: str = "tests/serialize/saved_modules") -> str:
    return records(program.save_to_buffer())[f"code/__torch__/{name}.py"].decode()


# -- the container -----------------------------------------------------------------------------------------------------


def test_records_are_aligned_and_in_order() -> None:
    data = compiled("tensors").save_to_buffer({"note": "hello"})
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        infos = file.infolist()
        for info in infos:
            names, extra = (int.from_bytes(data[info.header_offset + k : info.header_offset + k + 2], "little")
                            for k in (26, 28))  # fmt: skip
            assert (info.header_offset + 30 + names + extra) % 64 == 0
            is_code = info.filename.startswith("archive/code/")
            assert (info.compress_type == zipfile.ZIP_DEFLATED) == (is_code and info.file_size > 200)
    kinds = [info.filename.removeprefix("archive/").rpartition("/")[0] for info in infos]
    assert kinds[:2] == ["extra", "data"]
    names = [info.filename.removeprefix("archive/") for info in infos if not info.filename.startswith("archive/data/")]
    assert names == [
        "extra/note", "data.pkl", "code/__torch__/tests/serialize/saved_modules.py",
        "code/__torch__/tests/serialize/saved_modules.py.debug_pkl",
        "constants.pkl", "version", "byteorder", ".data/serialization_id",
    ]  # fmt: skip
    found = records(data)
    assert found["version"] == b"3\n"
    assert found["byteorder"] == b"little"
    assert found["extra/note"] == b"hello"
    assert len(found[".data/serialization_id"]) == 40
    assert found[".data/serialization_id"].isdigit()
    assert b"PK\x06\x06" in data
    assert b"PK\x06\x07" in data


def test_records_of_more_than_four_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "LIMIT", 100)
    found = bytearray()
    writer = container.ContainerWriter(found.extend, "a")
    contents = {"small": b"x" * 99, "large": bytes(range(256)) * 3, "empty": b"", "far": b"y" * 500}
    for name, data in contents.items():
        writer.write(name, data, deflated=name == "far")
    writer.finish()
    assert records(bytes(found)) == contents
    assert b"\xff\xff\xff\xff" in found
    with pytest.raises(RuntimeError, match="record 'small' was written already"):
        writer.write("small", b"")


@pytest.mark.parametrize("case", CASES)
def test_pickles_have_the_opcodes_that_readers_know(case: str) -> None:
    known = {
        "PROTO", "MARK", "STOP", "BININT1", "BININT2", "BININT", "LONG1", "BINFLOAT", "BINUNICODE", "NONE", "NEWTRUE",
        "NEWFALSE", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPENDS", "EMPTY_DICT",
        "SETITEMS", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "GLOBAL", "NEWOBJ", "BUILD", "REDUCE",
        "BINPERSID",
    }  # fmt: skip
    first, second = (flambeau.jit.saving.save_to_buffer(compiled(case)) for _ in range(2))
    found = records(first)
    if case not in ("tensors", "tree", "attributes", "own state", "frozen", "traced", "around"):
        assert first == second  # the others have new random tensors, or are new classes
    for name, data in found.items():
        if name.endswith("pkl"):
            used = {op.name for op, _, _ in pickletools.genops(data)}
            assert used <= known, name


def test_the_same_bytes_in_every_process() -> None:
    program = (
        "import hashlib; from tests.serialize import saved_modules as s\n"
        "for case in ('methods', 'objects', 'flow', 'tree'):\n"
        "    print(hashlib.sha256(s.compiled(case).save_to_buffer()).hexdigest())"
    )
    paths = os.pathsep.join((str(ROOT), *sys.path))
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths},
        )
        for seed in ("1", "2")
    ]  # fmt: skip
    first, second = (run.communicate()[0].split() for run in runs)
    assert [run.returncode for run in runs] == [0, 0]
    assert first == second
    assert len(first) == 4


# -- what is in them ---------------------------------------------------------------------------------------------------


def test_classes_as_code() -> None:
    text = code_of(compiled("attributes"))
    assert '  __parameters__ = []\n  __buffers__ = ["maybe_tensor", ]' not in text
    for line in (
        "class Attributes(Module):", "  maybe : Optional[int]", "  either : Union[int, str]",
        "  pairs : Dict[str, Tuple[int, float]]", "  optional_tensors : List[Optional[Tensor]]",
        "  color : __torch__.tests.serialize.saved_modules.Color",
        "  point : __torch__.tests.serialize.saved_modules.Point",
        "class Color(Enum):\n  RED = 1\n  GREEN = 2", 'class Mode(Enum):\n  SUM = "sum"\n  MEAN = "mean"',
        "class Point(NamedTuple):\n  x : Tensor\n  n : int", "  _is_full_backward_hook : Optional[bool]",
    ):  # fmt: skip
        assert f"{line}\n" in text, line
    text = code_of(compiled("objects"))
    assert "class Counter:\n  count : int\n  seen : Dict[str, List[int]]\n  def __init__(" in text
    assert "(counter).note(" in text or ").note(" in text
    text = code_of(compiled("hooked"))
    assert '  __forward_pre_hooks__ = ["before", ]\n  __forward_hooks__ = ["after", ]\n' in text
    assert "__torch__.tests.serialize.saved_modules.Double.before" in text
    text = code_of(compiled("interfaces"))
    assert "class Layer(ModuleInterface):\n  def forward(self, x: Tensor) -> Tensor:\n    pass\n" in text
    assert "  layer : __torch__.tests.serialize.saved_modules.Layer\n" in text
    text = code_of(compiled("tree"))
    assert '  __annotations__["lambda"] = ' not in text
    text = code_of(compiled("methods"))
    assert "  scale : Final[float] = 0.5\n  sizes : Final[List[int]] = [1, 2]\n" in text
    assert "  label : Final[str] = CONSTANTS.c" in text
    assert "def shared(x: Tensor)" in text
    assert "class Named(NamedTuple):\n  values : List[int]\n" in text


def test_equal_names_get_numbers() -> None:
    found = records(compiled("methods").save_to_buffer())
    assert "code/__torch__/tests/serialize/saved_modules/___torch_mangle_0.py" in found
    names = list(records(compiled("tree").save_to_buffer()))
    assert "code/__torch__/flambeau/nn/layers/linear/___torch_mangle_0.py" in names


def test_functions_are_modules() -> None:
    scripted = flambeau.script(function)
    assert code_of(scripted).startswith("def helper(")
    text = records(scripted.save_to_buffer())["code/__torch__.py"].decode()
    assert text.startswith("class PlaceholderModule(Module):\n  __parameters__ = []\n  __buffers__ = []\n")
    assert "def forward(self: __torch__.PlaceholderModule,\n    x: Tensor,\n    k: int=2," in text


def test_versions_follow_the_operators() -> None:
    assert records(compiled("flow").save_to_buffer())["version"] == b"3\n"
    found = records(compiled("versions").save_to_buffer())
    assert found[".data/version"] == b"10\n"
    assert "version" not in found
    unit = jit.CompilationUnit("def f(x): return x / 2")
    assert records(unit.f.save_to_buffer())["version"] == b"4\n"


def test_inputs_of_traces_are_kept_without_their_elements() -> None:
    found = records(compiled("traced").save_to_buffer())
    assert found["traced_inputs/0"] == b""
    assert b"forward" in found["traced_inputs.pkl"]
    plain = flambeau.trace(helper, flambeau.ones(2), _store_inputs=False)
    assert "traced_inputs.pkl" not in records(plain.save_to_buffer())


# -- where they go -----------------------------------------------------------------------------------------------------


def test_paths_streams_and_extra_files(tmp_path: Path) -> None:
    scripted = flambeau.script(nn.ReLU())
    files = {"a.txt": "text ü", "deep/b.bin": b"\x00\xff"}
    scripted.save(tmp_path / "net.v2.pt", _extra_files=files)
    jit.save(scripted, str(tmp_path / "again.pt"), files)
    scripted._c.save(tmp_path / "handle.pt")
    with (tmp_path / "stream.pt").open("wb") as file:
        jit.save(scripted, file, _extra_files=files)
    names = {p.name: zipfile.ZipFile(p).namelist()[0].partition("/")[0] for p in tmp_path.iterdir()}
    assert names == {"net.v2.pt": "net.v2", "again.pt": "again", "handle.pt": "handle", "stream.pt": "archive"}
    found = records((tmp_path / "net.v2.pt").read_bytes())
    assert found["extra/a.txt"] == "text ü".encode()
    assert found["extra/deep/b.bin"] == b"\x00\xff"
    assert scripted._c.save_to_buffer() == scripted.save_to_buffer()


class Slow:
    """A stream that takes a few bytes at a time, as unbuffered files may."""

    def __init__(self) -> None:
        self.found = bytearray()

    def write(self, data: memoryview) -> int:
        self.found += data[:700]
        return min(len(data), 700)


class Silent:
    def __init__(self) -> None:
        self.found = bytearray()

    def write(self, data: memoryview) -> None:
        self.found += data


def test_streams_that_take_pieces_or_say_nothing() -> None:
    scripted = flambeau.script(nn.Linear(30, 30))
    for stream in (Slow(), Silent()):
        jit.save(scripted, stream)  # type: ignore[arg-type]
        assert bytes(stream.found) == scripted.save_to_buffer()


def test_a_failed_save_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.pt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    scripted = flambeau.script(nn.ReLU())
    monkeypatch.setattr(container.ContainerWriter, "finish", _fail)
    with pytest.raises(OSError, match="disk full"):
        scripted.save(path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["net.pt"]
    monkeypatch.undo()
    link = tmp_path / "link.pt"
    link.symlink_to(path)
    scripted.save(link)
    assert link.is_symlink()
    assert path.read_bytes() == path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o640
    assert records(path.read_bytes())["data.pkl"]


def _fail(*args: Any) -> None:
    raise OSError("disk full")


def test_records_one_by_one(tmp_path: Path) -> None:
    writer = flambeau._C.PyTorchFileWriter(str(tmp_path / "x.zip"))
    writer.write_record("a", b"12345", 3)
    writer.write_record("b/c", "text")
    writer.set_min_version(7)
    assert not (tmp_path / "x.zip").exists()
    assert writer.archive_name() == "x"
    writer.write_end_of_file()
    found = records((tmp_path / "x.zip").read_bytes())
    assert found["a"] == b"123"
    assert found["b/c"] == b"text"
    assert found[".data/version"] == b"7\n"
    with pytest.raises(RuntimeError, match="write_end_of_file was called"):
        writer.write_record("d", b"")
    with pytest.raises(ValueError, match="oh"), flambeau._C.PyTorchFileWriter(str(tmp_path / "y.zip")):
        raise ValueError("oh")
    assert [p.name for p in tmp_path.iterdir()] == ["x.zip"]


# -- what is refused ---------------------------------------------------------------------------------------------------


class Bad(nn.Module):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    def forward(self, x: Tensor) -> Tensor:
        return x


@jit.ignore
def stays_python(x: int) -> int:
    return x


def calls_python(x: int) -> int:
    return stays_python(x) + 1


class OnlyGet(nn.Module):
    @jit.export
    def __getstate__(self) -> int:
        return 3

    def forward(self, x: Tensor) -> Tensor:
        return x


class WrongSet(OnlyGet):
    @jit.export
    def __setstate__(self, state: str) -> None:
        pass


class Base:
    def __init__(self) -> None:
        self.n = 1

    def get(self) -> int:
        return self.n


class Derived(Base):
    def get(self) -> int:
        return 2


class Knot(nn.Module):
    rows: dict[str, Any]

    def __init__(self) -> None:
        super().__init__()
        self.rows = {}

    def forward(self, x: Tensor) -> Tensor:
        return x


def uses_open_class(n: int) -> int:
    return Base().get() + n


def tries(n: int) -> int:
    try:
        return 3 // n
    except ZeroDivisionError:
        return 0


REFUSED = [
    (lambda: flambeau.script(tries), RuntimeError, "cannot save a program with a try block: archives have no form"),
    (lambda: flambeau.script(calls_python), RuntimeError, "Could not export Python function call 'stays_python'"),
    (lambda: flambeau.script(calls_python), RuntimeError, "mark it with @flambeau.jit.unused"),
    (lambda: flambeau.script(calls_python), RuntimeError, "return stays_python"),
    (lambda: flambeau.script(OnlyGet()), RuntimeError, "it has __getstate__ but no __setstate__"),
    (lambda: flambeau.script(WrongSet()), RuntimeError, "'__getstate__' takes self alone and returns int"),
    (lambda: flambeau.script(uses_open_class), RuntimeError, "archives say nothing of inheritance"),
    (lambda: flambeau.script(Bad({1, 2})), RuntimeError, "archives have no form for sets; keep a dict"),
    (lambda: nn.ReLU(), TypeError, "jit.save takes a scripted or traced module or function, not a ReLU"),
    (lambda: 3, TypeError, "not a int; script it first"),
    (lambda: flambeau.script(nn.ReLU()).forward, TypeError, "not a PromotedMethod"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals(number: int) -> None:
    make, kind, message = REFUSED[number]
    with pytest.raises(kind) as caught:
        jit.save(make(), io.BytesIO())
    assert message in str(caught.value)


def test_values_without_a_form() -> None:
    scripted = flambeau.script(Knot())
    held = scripted.script_object.get("rows")
    held["self"] = held
    with pytest.raises(RuntimeError, match=r"cannot save rows\['self'\]: the dict there is reached from itself"):
        scripted.save_to_buffer()
    held["self"] = [jit.fork(helper, flambeau.ones(1))]
    with pytest.raises(RuntimeError, match=r"cannot save rows\['self'\]\[0\]: a value of type Future has no form"):
        scripted.save_to_buffer()


def test_files_that_cannot_be(tmp_path: Path) -> None:
    scripted = flambeau.script(nn.ReLU())
    with pytest.raises(RuntimeError, match=r"Parent directory .*missing does not exist"):
        scripted.save(tmp_path / "missing" / "x.pt")
    with pytest.raises(TypeError, match="cannot save to a int: pass a path"):
        jit.save(scripted, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'n' is a int; files are texts or bytes"):
        scripted.save_to_buffer({"n": 3})  # type: ignore[dict-item]


def test_values_are_those_at_the_time() -> None:
    module = flambeau.script(Attributes())
    before = module.save_to_buffer()
    module.whole = 77
    assert records(before)["data.pkl"] != records(module.save_to_buffer())["data.pkl"]


def long_program(x: Tensor) -> Tensor:
    # A source of some lines, which most places in the code name.
    y = x * 2 + 1
    y = y * 2 + 1
    y = y * 2 + 1
    y = y * 2 + 1
    return y * 2 + 1


def test_sources_are_written_once() -> None:
    scripted = flambeau.script(long_program)
    [table] = [data for name, data in records(scripted.save_to_buffer()).items() if name.endswith("debug_pkl")]
    lists = [code.name for code, _, _ in pickletools.genops(table) if code.name == "REDUCE"]
    assert 1 <= len(lists) <= 2, "of the program, and of what is nowhere"
    loaded = jit.load(io.BytesIO(scripted.save_to_buffer()))
    ranges = {str(node.range).rpartition("test_save.py")[2] for node in loaded.graph.nodes() if node.op == "aten::mul"}
    assert len(ranges) == 5
