"""Code that came in a file computes and prints: it reaches no file, no other stream, no Python, whatever it says."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau import nn
from flambeau.jit import ArchiveError
from tests.serialize.handmade import archive, load, module

X = flambeau.tensor([1.0, 2.0])
SAVING = (
    "torch.save(x, PATH)",
    "ops.aten.save(x, PATH)",
    "(torch).save(x, PATH)",
    "torch . save(x, PATH)",
    "torch.\\\n    save(x, PATH)",
    'getattr(torch, "save")(x, PATH)',
    'getattr(getattr(ops, "aten"), "sa" "ve")(x, PATH)',
    "torch.autograd.save(x, PATH)",
    "torch.\uff53ave(x, PATH)",
    "x.save(PATH)",
    "t = torch\n  t.save(x, PATH)",
    "s = torch.save\n  s(x, PATH)",
    "a, b = torch, x\n  a.save(b, PATH)",
    "for m in (torch, ops.aten):\n    m.save(x, PATH)",
    "f = [torch.save]\n  f[0](x, PATH)",
    "(lambda a: torch.save(a, PATH))(x)",
    "[torch.save(x, PATH) for i in range(1)]",
    "fork(torch.save, x, PATH)",
    'print(f"{torch.save(x, PATH)}")',
    "assert torch.save(x, PATH) is None",
    "def g(y: Tensor) -> Tensor:\n    torch.save(y, PATH)\n    return y\n  x = g(x)",
    "try:\n    torch.save(x, PATH)\n  finally:\n    pass",
)
"""Ways to say it."""


def forward(*lines: str) -> bytes:
    body = "".join(f"\n  {line}" for line in lines)
    return archive(module(f"def forward(self: __torch__.M, x: Tensor) -> Tensor:{body}\n  return x"))


@pytest.mark.parametrize("written", SAVING)
def test_c01_no_code_of_an_archive_writes_a_file(written: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(ArchiveError) as caught:
        load(forward(written.replace("PATH", f"'{path}'")))
    assert "its code reaches outside of its memory" in str(caught.value)
    assert "aten::save" in str(caught.value)
    assert "allow={['aten::save']}".replace("{", "").replace("}", "") in str(caught.value)
    assert "line " in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def restoring(body: str) -> bytes:
    code = module(
        "def __getstate__(self: __torch__.M) -> int:\n  return 1",
        f"def __setstate__(self: __torch__.M, n: int) -> NoneType:\n  {body}\n  return None",
    )
    return archive(code, b"c__torch__\nM\n)\x81K\1b")


def test_c01_loading_writes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for call in (f'torch.save(torch.ones([2]), "{path}")', f't = torch\n  t.save(t.ones([2]), "{path}")'):
        with pytest.raises(ArchiveError, match=r"(?s)reaches outside of its memory.*aten::save"):
            load(restoring(call))
        assert not path.exists()
    with pytest.warns(UserWarning, match="jit.load"), pytest.raises(ArchiveError, match="aten::save"):
        flambeau.load(io.BytesIO(restoring(f'torch.save(torch.ones([2]), "{path}")')))


def test_c01_what_is_allowed_by_name_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out"
    loaded = load(forward(f'torch.save(x, "{path}")'), allow=["aten::save"])
    loaded(X)
    assert flambeau.load(path).tolist() == [1.0, 2.0]
    load(forward('ops.python.print_stderr("-", "!", False, 1, 2)'), allow=["python::print_stderr"])(X)
    assert capsys.readouterr().err == "1-2!"
    with pytest.raises(ArchiveError, match="python::print_stderr"):
        load(forward('ops.python.print_stderr("-", "!", False, 1, 2)'), allow=["aten::save"])
    with pytest.raises(ValueError, match=r"allow names 'aten::sav', and there is no such operator: aten::save"):
        load(forward("x = x"), allow=["aten::sav"])
    with pytest.raises(TypeError, match=r"allow takes a list of operators' names, such as \['aten::save'\]"):
        load(forward("x = x"), allow="aten::save")


@pytest.mark.parametrize(
    "name",
    ["aten::manual_seed(3)", 'prim::AddStatValue("n", 1)', 'python::write_stderr("x")', "python::flush_stderr()"],
)
def test_c01_nothing_that_the_process_shares_is_changed(name: str) -> None:
    operator = name.partition("(")[0]
    with pytest.raises(ArchiveError) as caught:
        load(forward(f"ops.{name.replace('::', '.')}"))
    assert f"{operator} (code/__torch__.py, line 6)" in str(caught.value)


def test_c01_methods_and_names_like_those_of_operators_are_nothing_to_them() -> None:
    code = module(
        "def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return (self).save(x, self.manual_seed, )",
        "def save(self: __torch__.M, x: Tensor, n: int) -> Tensor:\n"
        '  print("torch.save(x, path)")  # torch.save\n  return torch.add(x, n)',
        attributes="manual_seed : int",
    )
    assert load(archive(code, {"manual_seed": 2}))(X).tolist() == [3.0, 4.0]


PYTHON = (
    "import c01_probe",
    "import c01_probe as p",
    "from c01_probe import x as s",
    "from . import c01_probe",
    "x = x; import c01_probe",
    'with _IgnoreContextManager(x="inp:Tensor"):\n    __import__("c01_probe")',
    'with torch._IgnoreContextManager(x="inp:Tensor"):\n    print.__self__.__import__("c01_probe")',
)


@pytest.mark.parametrize("written", PYTHON)
def test_c01_nothing_is_imported_and_nothing_is_run_by_python(
    written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c01_probe.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nx = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    data = forward(written)
    with pytest.raises(ArchiveError, match=r"its code takes from Python what is not in|aten::_IgnoreContextManager"):
        load(data)
    monkeypatch.setattr("flambeau.serialize.archive_reader.operators._ODD", ())  # as if the search had found nothing
    with pytest.raises((ArchiveError, flambeau.jit.CompileError)):
        load(data)(X)
    assert not (tmp_path / "ran").exists()


def test_c01_code_that_was_printed_reaches_no_attribute_of_python() -> None:
    for written in (
        "Capsule.__class__",
        "Capsule.__init__.__globals__",
        "print.__self__",
        "len.__self__",
        "torch.attribute.__globals__",
        "inf.__class__",
        "CONSTANTS.values",
        "__torch__.__class__.__init__",
    ):
        with pytest.raises((ArchiveError, flambeau.jit.CompileError)):
            load(forward(f"y = {written}\n  print(y)"))(X)


def test_c01_standard_output_warnings_and_modes_are_there() -> None:
    """`no_grad` of an archive switches the mode of the thread; loading leaves it as it was."""
    with pytest.warns(UserWarning, match="careful"):
        load(forward('torch.warn("careful")'))(X)
    load(restoring("torch.set_grad_enabled(False)"))
    assert flambeau.is_grad_enabled()


def test_c01_operators_of_users_with_effects_are_asked_for() -> None:
    seen: list[str] = []

    @flambeau.jit.custom_op("c01::note", has_effects=True)
    def note(text: str) -> None:
        seen.append(text)

    with pytest.raises(ArchiveError, match="c01::note"):
        load(forward('ops.c01.note("x")'))
    load(forward('ops.c01.note("x")'), allow=["c01::note"])(X)
    assert seen == ["x"]


def test_c01_what_flambeau_itself_saves_is_refused_alike() -> None:
    class Loud(nn.Module):
        def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
            print("loud", file=sys.stderr)
            return x

    file = io.BytesIO()
    flambeau.jit.save(flambeau.script(Loud()), file)
    with pytest.raises(ArchiveError, match="python::print_stderr"):
        load(file.getvalue())
    assert load(file.getvalue(), allow=["python::print_stderr"])(X).tolist() == [1.0, 2.0]


def test_c21_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    for loading in (flambeau.jit.load, flambeau.load, flambeau._C.PyTorchFileReader):
        with pytest.raises(FileNotFoundError, match=r"no\.pt"):
            loading(str(tmp_path / "no.pt"))
    with pytest.raises(ValueError, match=r"The provided filename .*no\.pt does not exist: .*no\.pt"):
        flambeau.jit.load(str(tmp_path / "no.pt"))


@pytest.mark.parametrize("name", ["SystemExit", "KeyboardInterrupt", "GeneratorExit"])
def test_c01_code_of_an_archive_ends_no_process(name: str) -> None:
    loaded = load(forward(f'ops.prim.RaiseException("bye", "builtins.{name}")'))
    with pytest.raises(Exception, match="bye"):
        loaded(X)
