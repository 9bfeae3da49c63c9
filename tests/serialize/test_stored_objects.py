"""Objects of archives in the cache on disk: who loads an archive again makes its objects without its pickles."""

from __future__ import annotations

import copy
import io
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.executor import stored
from flambeau.jit import LoadLimits
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.nn import Parameter
from flambeau.serialize.archive_reader import program, stored_objects
from flambeau.util.errors import ArchiveError
from tests.serialize.handmade import archive, tensor


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))


class Inner(nn.Module):
    label: Final[str]

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.arange(3.0 * rows).reshape(rows, 3))
        self.register_buffer("turned", flambeau.arange(6.0).reshape(2, 3).t())
        self.register_buffer("nothing", flambeau.zeros(0, 3))
        self.register_buffer("number", flambeau.tensor(7))
        self.label = "inner"
        self.rate = 0.25

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        return (x @ self.weight.t()).sum(-1, keepdim=True) * self.rate + self.turned[0, 0] + self.number


class Outer(nn.Module):
    names: dict[str, list[int]]

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Inner(2), Inner(4)
        self.again = self.first
        self.tied = self.first.weight
        self.rows = nn.Parameter(self.second.weight.detach()[1:], requires_grad=False)
        self.names = {"a": [1, 2], "b": []}
        self.pair = (3, "x")
        self.maybe = flambeau.jit.Attribute(None, int | None)
        self.parts = nn.ModuleList([nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 1), nn.ReLU())])

    @flambeau.jit.export
    def grow(self, n: int) -> int:
        self.names["a"].append(n)
        return len(self.names["a"])

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        y = self.first(x) + self.second(x) * self.again(x) + self.tied.sum() - self.rows.sum()
        for part in self.parts:
            x = part(x)
        return y + x


def saved(module: nn.Module) -> bytes:
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(module), stream)
    return stream.getvalue()


def loaded(content: bytes, **options: Any) -> Any:
    return flambeau.jit.load(io.BytesIO(content), **options)


def seen(module: Any) -> Any:
    """What can be seen of a module without a call."""
    state = module.state_dict(keep_vars=True)
    about = [
        (n, v.tolist(), v.dtype, v.stride(), v.storage_offset(), v.requires_grad, type(v) is Parameter)
        for n, v in state.items()
    ]
    rest = copy.deepcopy(module.names), module.pair, module.maybe, module.first.rate, module.first.label
    return about, rest, [(n, m.original_name) for n, m in module.named_modules()], module.training


def refuse_pickles(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("a pickle was read")

    monkeypatch.setattr(program, "read_with_storages", refuse)


def changed(content: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The archive with other records."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return stream.getvalue()


def test_who_loads_an_archive_again_reads_no_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Outer())
    x = flambeau.arange(6.0).reshape(2, 3)
    first = loaded(content)
    expected = seen(first), first(x).tolist(), [first.grow(5), first.grow(6)]
    refuse_pickles(monkeypatch)
    for _ in range(2):
        again = loaded(content)
        assert seen(again) == expected[0]
        assert again(x).tolist() == expected[1]
        assert [again.grow(5), again.grow(6)] == expected[2]


def test_it_is_saved_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Outer())
    expected = loaded(content).save_to_buffer()
    refuse_pickles(monkeypatch)
    assert loaded(content).save_to_buffer() == expected


@pytest.mark.parametrize("is_kept", [False, True])
def test_tensors_share_what_they_shared(is_kept: bool) -> None:
    content = saved(Outer())
    for _ in range(1 + is_kept):
        module = loaded(content)
    assert module.tied is module.first.weight
    assert module.again is module.first
    assert module.rows.untyped_storage().data_ptr() == module.second.weight.untyped_storage().data_ptr()
    assert not module.rows._is_view()
    assert module.second.weight.is_leaf
    with flambeau.no_grad():
        module.rows.fill_(9.0)
    assert module.second.weight[1:].tolist() == [[9.0] * 3] * 3
    module(flambeau.ones(1, 3)).sum().backward()
    assert module.second.weight.grad is not None
    assert module.rows.grad is None


def test_gradients_are_those_of_who_read_the_pickles() -> None:
    content = saved(Outer())
    gradients = []
    for _ in range(2):
        module = loaded(content)
        module(flambeau.arange(6.0).reshape(2, 3)).sum().backward()
        gradients.append([(n, p.grad.tolist()) for n, p in module.named_parameters() if p.grad is not None])
    assert gradients[0] == gradients[1]
    assert len(gradients[0]) == 6


def test_elements_are_those_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Outer())
    loaded(content)
    refuse_pickles(monkeypatch)

    def halved(name: str, data: bytes) -> bytes:
        is_first = name.endswith("/data/0")
        return (np.frombuffer(data, np.float32) / 2).tobytes() if is_first else data

    other = loaded(changed(content, halved))
    values = {n: v.tolist() for n, v in loaded(content).state_dict().items()}
    differing = [n for n, v in other.state_dict().items() if v.tolist() != values[n]]
    assert differing
    assert all(np.array_equal(np.array(values[n]) / 2, other.state_dict()[n].numpy()) for n in differing)


def test_a_broken_record_is_refused_in_the_same_words() -> None:
    content = saved(Outer())
    damaged = bytearray(content)
    at = content.index(np.arange(6, dtype=np.float32).tobytes())
    damaged[at + 4] ^= 1
    messages = []
    for _ in range(2):
        with pytest.raises(ArchiveError) as error:
            loaded(bytes(damaged))
        messages.append(str(error.value))
        loaded(content)
    assert messages[0] == messages[1]
    assert "do not have the checksum" in messages[0]


def test_a_record_of_another_size_is_refused_in_the_same_words() -> None:
    content = saved(Outer())
    short = changed(content, lambda name, data: data[:-4] if name.endswith("/data/0") else data)
    messages = []
    for _ in range(2):
        with pytest.raises(ArchiveError) as error:
            loaded(short)
        messages.append(str(error.value))
        loaded(content)
    assert messages[0] == messages[1]
    assert "bytes for" in messages[0]


def test_other_pickles_have_objects_of_their_own() -> None:
    module = Outer()
    content = saved(module)
    loaded(content)
    module.names = {"c": [7]}
    assert loaded(saved(module)).names == {"c": [7]}
    assert loaded(content).names == {"a": [1, 2], "b": []}


def test_limits_hold_for_what_is_kept() -> None:
    content = saved(Outer())
    loaded(content)
    for limits, text in ((LoadLimits(pickle_opcodes=5), "instructions"), (LoadLimits(pickle_bytes=9), "bytes")):
        with pytest.raises(ArchiveError, match=text):
            loaded(content, limits=limits)


def test_devices_have_objects_of_their_own() -> None:
    content = saved(Outer())
    devices = []
    for location in (None, "meta", None, "meta", "cpu", lambda storage, place: None, "cpu"):
        module = loaded(content, map_location=location)
        devices.append({p.device.type for p in module.parameters()})
    assert devices == [{"cpu"}, {"meta"}, {"cpu"}, {"meta"}, {"cpu"}, {"cpu"}, {"cpu"}]


class Restored(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 1.0

    @flambeau.jit.export
    def __getstate__(self) -> tuple[float, bool]:
        return self.scale * 2, self.training

    @flambeau.jit.export
    def __setstate__(self, state: tuple[float, bool]) -> None:
        print("restored")
        self.scale = state[0] + 1
        self.training = state[1]

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        return x * self.scale


def test_code_that_restores_objects_runs_each_time(capfd: pytest.CaptureFixture[str]) -> None:
    content = saved(Restored())
    for _ in range(3):
        assert loaded(content)(flambeau.ones(1)).tolist() == [3.0]
    assert capfd.readouterr().out == "restored\n" * 3


class Listing(nn.Module):
    parts: list[flambeau.Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.parts = [flambeau.ones(2), flambeau.zeros(1)]

    def forward(self, n: int) -> flambeau.Tensor:
        return self.parts[n]


def test_what_is_not_kept_is_read_each_time() -> None:
    content = saved(Listing())
    for _ in range(2):
        assert loaded(content)(0).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: 3,
        lambda kept: kept[:-1],
        lambda kept: (("__torch__.Nobody",), *kept[1:]),
        lambda kept: (*kept[:3], [(0, 0, 999)], *kept[4:]),
        lambda kept: (*kept[:6], [(0, 1 << 40, *one[2:]) for one in kept[6]]),
        lambda kept: (*kept[:5], [(record, "int7", n) for record, _, n in kept[5]], kept[6]),
        lambda kept: (kept[0], kept[1][:-1], *kept[2:]),
    ],
)  # fmt: skip
def test_another_entry_in_its_place_is_ignored(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Outer())
    expected = seen(loaded(content))
    read = stored.CacheEntry.read
    asked = []

    def other(self: stored.CacheEntry) -> Any:
        kept = read(self)
        if not isinstance(kept, tuple) or len(kept) != 7:
            return kept
        asked.append(kept)
        return change(kept)

    monkeypatch.setattr(stored_objects.CacheEntry, "read", other)
    assert seen(loaded(content)) == expected
    assert asked


def test_calls_make_no_modules_of_submodules() -> None:
    content = saved(Outer())
    made: list[str] = []
    init = RecursiveScriptModule.__init__

    def counted(self: Any, *args: Any) -> None:
        made.append(args[-1])
        init(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RecursiveScriptModule, "__init__", counted)
        module = loaded(content)
        module(flambeau.ones(1, 3))
        assert made == ["Outer"]
        assert len(list(module.children())) == 3
        assert made == ["Outer", "Inner", "Inner", "ModuleList"]
        assert module.parts[1][0] is module.parts[1][0]
        module.eval()
        assert len(made) == 8
    assert not any(m.training for m in module.modules())
    assert len({id(m) for m in module.modules()}) == len(made)


def test_threads_are_given_one_module() -> None:
    module = loaded(saved(Outer()))
    barrier = threading.Barrier(4)
    answers: list[Any] = []

    def ask() -> None:
        barrier.wait()
        answers.append([id(m) for m in module.modules()])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [answers[0]] * 4


def test_copies_have_submodules_of_their_own() -> None:
    module = loaded(saved(Outer()))
    x = flambeau.ones(1, 3)
    deep, shallow = copy.deepcopy(module), copy.copy(module)
    assert deep(x).tolist() == shallow(x).tolist() == module(x).tolist()
    assert deep.first is not module.first
    assert deep.first is deep.again
    assert shallow.first is module.first
    with flambeau.no_grad():
        deep.first.weight.fill_(0.0)
    assert module.first.weight.tolist() != deep.first.weight.tolist()


def test_methods_of_classes_are_made_when_something_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Outer())
    first = loaded(content)
    x = flambeau.arange(3.0).reshape(1, 3)
    expected = first(x).tolist()
    again = loaded(content)
    inner = again.script_object.get("first").type.definition
    assert "methods" not in vars(inner)
    assert again.first(x).tolist() == first.first(x).tolist()
    assert "methods" in vars(inner)
    assert str(again.first.forward.schema) == str(first.first.forward.schema)
    assert again(x).tolist() == expected
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        inner.other  # noqa: B018


class Mine(nn.Module):
    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        return flambeau.ops.stored_objects.twice(x)


def test_operators_of_users_are_looked_for_each_time() -> None:
    library = flambeau.library.Library("stored_objects", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    content = saved(Mine())
    for _ in range(2):
        assert loaded(content)(flambeau.ones(1)).tolist() == [2.0]
    library._destroy()
    with pytest.raises(ArchiveError, match="stored_objects::twice"):
        loaded(content)


def test_code_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Outer())
    loaded(content)

    def refuse(*_: Any) -> Any:
        raise AssertionError("code was looked at")

    monkeypatch.setattr(program, "objections", refuse)
    assert loaded(content).pair == (3, "x")


def test_a_record_that_is_read_as_two_dtypes_stays_two() -> None:
    code = (
        'class M(Module):\n  __parameters__ = []\n  __buffers__ = ["a", "b", ]\n  training : bool\n  a : Tensor\n'
        "  b : Tensor\n  def forward(self: __torch__.M) -> Tensor:\n    return self.a\n"
    )
    content = np.array([1.5, 2.5], np.float32).tobytes()
    state = {"a": tensor("0", 2, (2,), (1,)), "b": tensor("0", 2, (2,), (1,), kind="IntStorage")}
    for _ in range(2):
        module = loaded(archive(code, state, data__slash__0=content))
        assert (module.a.dtype, module.a.tolist()) == (flambeau.float32, [1.5, 2.5])
        assert (module.b.dtype, module.b.tolist()) == (flambeau.int32, np.frombuffer(content, np.int32).tolist())
