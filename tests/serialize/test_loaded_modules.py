"""Loaded modules are scripted modules: attributes, parameters, hooks, copies, parts of other modules."""

from __future__ import annotations

import copy
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from tests.serialize.handmade import archive, instance, load, module, tensor

DATA = Path(__file__).parent.parent / "data" / "archives"
X = flambeau.tensor([[1.0, -2.0], [0.5, 3.0], [2.0, 2.0]])


def saved(program: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    flambeau.jit.save(program, file, **options)
    file.seek(0)
    return file


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.layers = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
        self.register_buffer("seen", flambeau.zeros(1))
        self.table = nn.ModuleDict({"a": nn.ReLU()})
        self.names = ["x", "y"]
        self.limits = {"low": 0.5}

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        self.seen += 1
        return self.layers(self.table["a"](self.first(x)))

    @flambeau.jit.export
    def __len__(self) -> int:
        return 7


def test_everything_of_a_module() -> None:
    original = flambeau.script(Net())
    loaded = flambeau.jit.load(saved(original))
    assert isinstance(loaded, flambeau.jit.RecursiveScriptModule)
    assert type(loaded).__name__ == "RecursiveScriptModule"
    assert [n for n, _ in loaded.named_parameters()] == [n for n, _ in original.named_parameters()]
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in loaded.parameters())
    assert [n for n, _ in loaded.named_buffers()] == ["seen"]
    assert [n for n, _ in loaded.named_modules()] == [n for n, _ in original.named_modules()]
    assert list(loaded.state_dict()) == list(original.state_dict())
    assert (loaded.names, loaded.limits, len(loaded), loaded.original_name) == (["x", "y"], {"low": 0.5}, 7, "Net")
    assert loaded.code == original.code
    assert "prim::CallMethod" in str(loaded.graph)
    assert {"first", "layers", "seen", "forward", "names"} <= set(dir(loaded))
    assert repr(loaded).splitlines()[1] == "  original_name=Net"
    with flambeau.no_grad():
        np.testing.assert_allclose(loaded(X).numpy(), original(X).numpy(), rtol=1e-6)
        assert loaded.seen.item() == original.seen.item() == 1.0
        loaded.first.weight.zero_()
        loaded.first.bias.zero_()
        np.testing.assert_allclose(loaded(X)[0].numpy(), loaded(X)[2].numpy())
        loaded.load_state_dict(original.state_dict())
        np.testing.assert_allclose(loaded(X).numpy(), original(X).numpy(), rtol=1e-6)
    assert loaded.training
    assert not loaded.eval().training
    assert not loaded.layers[0].training
    assert (len(loaded.layers), list(loaded.table)) == (2, ["a"])
    loaded.names = ["z"]
    assert loaded.names == ["z"]
    assert next(loaded.double().parameters()).dtype is flambeau.float64
    frozen = flambeau.jit.freeze(flambeau.jit.load(saved(original)).eval(), ["seen"])
    assert "weight" not in dict(frozen.named_parameters())
    wrong = {
        "object has no attribute 'other'": lambda: loaded.other,
        "Wrong type for attribute assignment of 'names'": lambda: setattr(loaded, "names", 3),
        "methods cannot be added to Net, which was loaded from an archive": lambda: loaded.define("def f(self): pass"),
        "Can't add a new parameter": lambda: loaded.register_parameter("new", nn.Parameter(flambeau.ones(1))),
    }
    for text, action in wrong.items():
        with pytest.raises((RuntimeError, AttributeError), match=text):
            action()


def test_copies() -> None:
    loaded = flambeau.jit.load(saved(flambeau.script(Net())))
    deep, shallow = copy.deepcopy(loaded), copy.copy(loaded)
    with flambeau.no_grad():
        np.testing.assert_allclose(deep(X).numpy(), loaded(X).numpy(), rtol=1e-6)
        loaded.first.weight.zero_()
        assert deep.first.weight.abs().sum() > 0
    assert shallow.first is loaded.first


def test_hooks_run_around_calls_from_python_and_from_programs() -> None:
    inner = flambeau.jit.load(DATA / "hooks_script.pt")

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
            return self.inner(x) - self.inner.forward(x)

    with flambeau.no_grad():
        expected = (inner.l(X * 2) + 1).numpy()
        np.testing.assert_allclose(inner(X).numpy(), expected, rtol=1e-5)
        scripted = flambeau.script(Outer())
        np.testing.assert_allclose(scripted(X).numpy(), expected - inner.l(X).numpy(), rtol=1e-4, atol=1e-6)
        again = flambeau.jit.load(saved(scripted))
        np.testing.assert_allclose(again(X).numpy(), scripted(X).numpy())
        np.testing.assert_allclose(copy.deepcopy(inner)(X).numpy(), expected, rtol=1e-5)


def test_functions_and_extra_files_and_kinds_of_sources(tmp_path: Path) -> None:
    @flambeau.script
    def twice(x: flambeau.Tensor, n: int) -> flambeau.Tensor:
        return x * n

    path = tmp_path / "twice.pt"
    flambeau.jit.save(twice, path, _extra_files={"note": "hi", "raw": b"\xff\x00"})
    before = path.read_bytes()
    wanted: dict[str, Any] = {"note": "", "raw": ""}
    with path.open("rb") as file:
        sources = (path, str(path), io.BytesIO(before), file)
        for source in sources:
            loaded = flambeau.jit.load(source, _extra_files=wanted)
            assert loaded(flambeau.ones(1), 3).item() == 3.0
    assert wanted == {"note": b"hi", "raw": b"\xff\x00"}
    also: dict[str, Any] = {"note": ""}
    flambeau._C._get_model_extra_files_from_buffer(io.BytesIO(before), also)
    flambeau._C._get_model_extra_files(str(path), also)
    assert also == {"note": b"hi"}
    behind = io.BytesIO(b"xyz" + before)
    behind.read(3)
    assert flambeau.jit.load(behind)(flambeau.ones(1), 2).item() == 2.0
    reader = flambeau._C.PyTorchFileReader(str(path))
    assert reader.get_record("extra/note") == b"hi"
    assert reader.has_record("version")
    assert {"data.pkl", "code/__torch__.py"} <= set(reader.get_all_records())
    assert (reader.archive_name(), len(reader.serialization_id())) == ("twice", 40)
    offset = reader.get_record_offset("extra/note")
    assert before[offset : offset + reader.get_record_size("extra/note")] == b"hi"
    absent = {"note": "", "other": "stays"}
    flambeau.jit.load(path, _extra_files=absent)
    assert absent == {"note": b"hi", "other": "stays"}
    wrong = {
        "expected a file, got a directory": lambda: flambeau.jit.load(tmp_path),
        "map_location should be either None, string, device or a dict": lambda: flambeau.jit.load(path, 3),
        "expected a path or a file object, got int": lambda: flambeau.jit.load(3),
        "expected a file opened in binary mode": lambda: flambeau.jit.load(io.StringIO("x")),
    }
    for text, action in wrong.items():
        with pytest.raises((RuntimeError, ValueError, TypeError)) as caught:
            action()
        assert text in str(caught.value)


def test_writing_does_not_reach_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = flambeau.script(nn.Linear(64, 64))
    path = tmp_path / "m.pt"
    model.save(path)
    before = path.read_bytes()
    path.chmod(0o444)
    for limit in (1 << 30, 1000):  # read whole, and mapped
        monkeypatch.setattr("flambeau.serialize.archive_reader.container_reader.MAPPED_ABOVE", limit)
        loaded, other = flambeau.jit.load(path), flambeau.jit.load(path)
        with flambeau.no_grad():
            loaded.weight.fill_(3.0)
            assert loaded.weight.sum().item() == 3.0 * 64 * 64
            np.testing.assert_array_equal(other.weight.detach().numpy(), model.weight.detach().numpy())
    assert path.read_bytes() == before


def test_tensors_share_and_have_strides() -> None:
    storage = np.arange(6, dtype=np.float32).tobytes()
    pair = b"](" + tensor("0", 6, (2, 3), (3, 1)) + tensor("0", 6, (3, 2), (1, 3), offset=0)
    pair += (
        tensor("0", 6, (4,), (0,), offset=5) + tensor("0", 6, (), (), offset=2) + tensor("0", 6, (0, 3), (3, 1)) + b"e"
    )
    code = module(
        "def forward(self: __torch__.M) -> List[Tensor]:\n  return self.parts", attributes="parts : List[Tensor]"
    )
    loaded = load(archive(code, {"parts": pair}, data__slash__0=storage))
    whole, turned, repeated, scalar, empty = loaded()
    assert turned.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert (turned.stride(), repeated.stride(), repeated.tolist()) == ((1, 3), (0,), [5.0] * 4)
    assert (scalar.item(), tuple(empty.shape)) == (2.0, (0, 3))
    whole[0, 1] = 9.0
    assert turned[1, 0].item() == 9.0


def test_places_and_traced_shapes() -> None:
    code = module("def forward(self: __torch__.M) -> Tensor:\n  return self.a", attributes="a : Tensor")
    made = archive(code, {"a": tensor("0", 1, (1,), (1,), place="cuda:0")}, data__slash__0=b"\0\0\x80\x3f")
    for place in ("cpu", flambeau.device("cpu"), {"cuda:0": "cpu"}):
        assert load(made, map_location=place)().item() == 1.0
    with pytest.raises(
        flambeau.jit.ArchiveError, match="was on device 'cuda:0', which Flambeau cannot load to: pass map_"
    ):
        load(made)
    traced = flambeau.jit.load(DATA / "lstmcell_trace.pt", _restore_shapes=True)
    plain = flambeau.jit.load(DATA / "lstmcell_trace.pt")
    assert "Float(" in str(traced.graph.parameters[1].static_type)
    assert str(plain.graph.parameters[1].static_type) == "Tensor"


def test_states_go_through_the_methods_for_them() -> None:
    loaded = flambeau.jit.load(DATA / "getstate_script.pt")
    again = flambeau.jit.load(saved(loaded))
    assert again.k == loaded.k + 1  # __setstate__ adds one each time
    np.testing.assert_allclose(again.w.detach().numpy(), loaded.w.detach().numpy(), rtol=1e-6)


def test_places_in_the_users_file_survive() -> None:
    loaded = flambeau.jit.load(DATA / "hooks_script.pt")
    again = flambeau.jit.load(saved(loaded))
    for one in (loaded, again):
        assert "corpus_models.py:" in str(one.graph)
    assert str(again.graph).replace("___torch_mangle_0.", "") == str(loaded.graph)
    with pytest.raises(flambeau.jit.ExecutionError) as caught:
        loaded(flambeau.ones(5))
    assert "corpus_models.py" in str(caught.value)


def test_what_programs_say_of_safety_and_mapping_changes_nothing(tmp_path: Path) -> None:
    flambeau.save({"w": flambeau.ones(2)}, tmp_path / "values.pt")
    for given in ({"weights_only": True}, {"weights_only": False}, {"mmap": True}, {"weights_only": None}):
        assert flambeau.load(tmp_path / "values.pt", "cpu", **given)["w"].tolist() == [1.0, 1.0]
    evil = io.BytesIO()
    with zipfile.ZipFile(evil, "w") as archive:
        archive.writestr("archive/data.pkl", b"cposix\nsystem\n(S'true'\ntR.")
        archive.writestr("archive/version", "3\n")
    with pytest.raises(flambeau.jit.ArchiveError, match=r"it names posix\.system"):
        flambeau.load(io.BytesIO(evil.getvalue()), weights_only=False)


def test_values_are_loaded_as_they_were_saved() -> None:
    row = flambeau.arange(6.0)
    value = {"a": row[1:4], "b": [row, (1, "é", None, 2.5, True, 1j)], "dtype": flambeau.ones(2).to(flambeau.bfloat16)}
    file = io.BytesIO()
    flambeau.save(value, file)
    file.seek(0)
    found = flambeau.load(file)
    assert found["b"][1] == (1, "é", None, 2.5, True, 1j)
    assert found["dtype"].dtype is flambeau.bfloat16
    found["b"][0][1] = 7.0
    assert found["a"].tolist() == [7.0, 2.0, 3.0]
    module_file = saved(flambeau.script(nn.ReLU()))
    with pytest.warns(UserWarning, match="looks like a TorchScript archive dispatching to 'flambeau.jit.load'"):
        assert isinstance(flambeau.load(module_file), flambeau.jit.RecursiveScriptModule)
    file.seek(0)
    with pytest.raises(
        flambeau.jit.ArchiveError, match=r"a file of values: flambeau.load reads it|no record 'version'"
    ):
        flambeau.jit.load(file)


def test_state_dicts_of_torch_are_loaded() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    file = io.BytesIO()
    torch.save({"state": module.state_dict(), "step": 3, "size": torch.Size([1, 2]), "kind": torch.float16}, file)
    file.seek(0)
    found = flambeau.load(file)
    assert (found["step"], tuple(found["size"]), found["kind"]) == (3, (1, 2), flambeau.float16)
    assert list(found["state"]) == list(module.state_dict())
    np.testing.assert_array_equal(found["state"]["0.weight"].numpy(), module[0].weight.detach().numpy())
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    with pytest.raises(flambeau.jit.ArchiveError, match=r"it names torch.+Sequential, which is neither"):
        flambeau.load(file)


def test_an_instance_without_its_attribute() -> None:
    code = module("def forward(self: __torch__.M) -> int:\n  return 1", attributes="n : int")
    cases = {
        "object of __torch__.M has no attribute 'n'": instance("__torch__.M", {"training": True}),
        "expected attribute 'n' of __torch__.M to be of type int, got str": instance(
            "__torch__.M", {"training": True, "n": "x"}
        ),
        "expected the attributes of __torch__.M as a dict, got int": b"c__torch__\nM\n)\x81K\1b",
    }
    for text, root in cases.items():
        with pytest.raises(flambeau.jit.ArchiveError, match=text):
            load(archive(code, root))


@flambeau.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass  # type: ignore[return]


class AddOne(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Triple(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 3


class Chosen(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.by_name = nn.ModuleDict({"a": AddOne(), "b": Triple()})
        self.in_order = nn.ModuleList([AddOne(), Triple()])
        self.alike = nn.ModuleList([Triple(), Triple()])

    def forward(self, x: Tensor, k: str, i: int) -> Tensor:
        first: Step = self.by_name[k]  # type: ignore[assignment]
        second: Step = self.in_order[i]  # type: ignore[assignment]
        return self.alike[i](second.forward(first.forward(x)))  # type: ignore[no-any-return]


def test_containers_indexed_by_variables() -> None:
    module = flambeau.script(Chosen())
    once = flambeau.jit.load(io.BytesIO(module.save_to_buffer()))
    twice = flambeau.jit.load(io.BytesIO(once.save_to_buffer()))
    for one in (module, once, twice):
        assert one(flambeau.ones(1), "b", 0).tolist() == [12.0]
        assert one(flambeau.ones(1), "a", -1).tolist() == [18.0]
        with pytest.raises(KeyError, match="c"):
            one(flambeau.ones(1), "c", 0)


def test_extra_files_are_bytes() -> None:
    stored = flambeau.script(nn.ReLU()).save_to_buffer({"a.txt": "hello", "b.bin": b"\x00\x01"})
    found: dict[str, Any] = {"a.txt": "", "b.bin": None}
    flambeau.jit.load(io.BytesIO(stored), _extra_files=found)
    assert found == {"a.txt": b"hello", "b.bin": b"\x00\x01"}
