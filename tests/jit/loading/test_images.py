"""Images of archives: who loads one again calls it before anything of it is read, and nobody can tell."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.codegen import available
from flambeau.codegen.llvm.object_cache import ObjectCache
from flambeau.executor.read_plan import ReadPlan
from flambeau.jit.loading import load as loading
from flambeau.jit.loading.image_record import KeptImage
from flambeau.jit.loading.loaded_module import LoadedModule
from flambeau.jit.loading.unread_module import IMAGE, vars_of
from flambeau.util.errors import ArchiveError, CompileError, ScriptError

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code")
BATCH = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


class Layer(nn.Module):
    def __init__(self, n: int, m: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.linspace(-1, 1, n * m).reshape(m, n))
        self.register_buffer("turned", flambeau.linspace(0, 1, n * m).reshape(n, m).t())

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        product: flambeau.Tensor = x @ self.weight.t() + x @ self.turned.t()
        return product.tanh()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Layer(4, 5), Layer(5, 2)
        self.drop = nn.Dropout(0.5)
        self.scale = 0.5
        self.sizes = (2, 3)
        self.table = nn.Parameter(flambeau.arange(6.0).reshape(3, 2), requires_grad=False)

    @flambeau.jit.export
    def chosen(self, x: flambeau.Tensor, at: int = 1) -> flambeau.Tensor:
        y: flambeau.Tensor = self.first(x) * self.table[at].sum()
        return y

    @flambeau.jit.export
    def mixed(
        self, x: flambeau.Tensor, pair: tuple[flambeau.Tensor, int], rows: list[flambeau.Tensor]
    ) -> flambeau.Tensor:
        y: flambeau.Tensor = self.first(x) * pair[0].sum() * pair[1] + self.sizes[1]
        for row in rows:
            y = y + row.sum()
        return y

    def forward(self, x: flambeau.Tensor, mask: flambeau.Tensor | None = None) -> flambeau.Tensor:
        y: flambeau.Tensor = self.drop(self.second(self.first(x))) * self.scale
        return y if mask is None else y * mask


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An archive that an earlier process called, as this one sees it."""
    path = tmp_path / "net.pt"
    flambeau.jit.save(flambeau.script(Net()).eval(), path)
    call_often(flambeau.jit.load(path))
    return path


def call_often(module: Any) -> None:
    x = flambeau.tensor(BATCH)
    with flambeau.no_grad():
        for _ in range(4):
            module(x)
            module.chosen(x, 2)
            module.mixed(x, (x, 2), [x, x])


def is_unread(module: Any) -> bool:
    return IMAGE in vars_of(module)


def as_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module as it is loaded where there is no image."""
    with monkeypatch.context() as within:
        within.setattr(loading, "_unread", lambda *_: None)
        return flambeau.jit.load(path)


def test_calls_need_nothing_of_the_archive(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = as_read(path, monkeypatch)

    def refuse(*_: Any) -> Any:
        raise AssertionError("the archive was read")

    monkeypatch.setattr(loading, "read_program", refuse)
    module = flambeau.jit.load(path)
    x = flambeau.tensor(BATCH)
    with flambeau.no_grad():
        for args in ((x,), (x, None), (x.clone(),)):
            assert module(*args).tolist() == expected(*args).tolist()
        assert module(x=x).tolist() == module.forward(x).tolist() == expected(x).tolist()
        assert module.eval()(BATCH).tolist() == expected(x).tolist()
        assert module.chosen(x, at=2).tolist() == expected.chosen(x, 2).tolist()
        assert module.chosen(x).tolist() == expected.chosen(x).tolist()
        mixed = (x, (x, 2), [x, x])
        assert module.mixed(*mixed).tolist() == module.mixed(*mixed).tolist() == expected.mixed(*mixed).tolist()
    with flambeau.inference_mode():
        assert module(x).is_inference()
    assert is_unread(module)


@pytest.mark.parametrize("change", ["fewer", "apart", "turned", "one", "none", "read-only", "double", "array"])
def test_calls_of_other_kinds_are_answered(path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    wide = np.linspace(0, 1, 48, dtype=np.float32).reshape(6, 8)
    fixed = BATCH.copy()
    fixed.flags.writeable = False
    x = {
        "fewer": BATCH[:2], "apart": wide[::2, ::2], "turned": wide.T[:, :4], "one": BATCH[:1], "none": BATCH[:0],
        "read-only": fixed, "double": BATCH.astype(np.float64), "array": BATCH,
    }[change]  # fmt: skip
    answers = []
    for module in (as_read(path, monkeypatch), flambeau.jit.load(path)):
        with flambeau.no_grad():
            module(flambeau.tensor(BATCH))
            try:
                answers.append([module(x if change == "array" else flambeau.from_numpy(x)).tolist() for _ in range(2)])
            except RuntimeError as error:
                answers.append([str(error)])
            answers[-1].append(module(flambeau.tensor(BATCH)).tolist())
    assert answers[0] == answers[1]


def seen(module: Any) -> Any:
    """All that there is to see."""
    state = module.state_dict(keep_vars=True)
    tensors = [(n, v.tolist(), v.dtype, v.stride(), v.requires_grad, type(v), v._version) for n, v in state.items()]
    names = [(n, m.original_name, m.training, type(m)) for n, m in module.named_modules()]
    return tensors, names, module.code, str(module.graph), repr(module), dir(module), module.scale, module.__class__


def refused(kind: type[Exception], call: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(kind) as error:
        call(*args)
    return str(error.value)


LOOKS: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "state": lambda m: [v.tolist() for v in m.state_dict().values()],
    "parameters": lambda m: [p.tolist() for p in m.parameters()],
    "names": lambda m: [n for n, _ in m.named_modules()],
    "code": lambda m: (m.code, m.forward.code, m.chosen.code),
    "graph": lambda m: str(m.graph),
    "schema": lambda m: str(m.forward.schema),
    "attribute": lambda m: m.scale,
    "layer": lambda m: m.first(flambeau.tensor(BATCH)).tolist(),
    "no attribute": lambda m: hasattr(m, "nothing"),
    "training": lambda m: (m.train().training, m.drop.training, m.eval().drop.training),
    "dict": lambda m: sorted(vars(m)),
    "dir": dir,
    "copy": lambda m: copy.copy(m)(flambeau.tensor(BATCH)).tolist(),
    "deepcopy": lambda m: copy.deepcopy(m)(flambeau.tensor(BATCH)).tolist(),
    "double": lambda m: m.double()(flambeau.tensor(BATCH).double()).tolist(),
    "saved": lambda m: m.save_to_buffer(),
    "frozen": lambda m: flambeau.jit.freeze(m)(flambeau.tensor(BATCH)).tolist(),
    "set": lambda m: (m.__setattr__("scale", 2.0), m(flambeau.tensor(BATCH)).tolist()),
    "wrong value": lambda m: refused(RuntimeError, setattr, m, "scale", "much"),
    "new attribute": lambda m: (m.__setattr__("note", "mine"), m.note),
    "deleted": lambda m: refused(RuntimeError, delattr, m, "scale"),
    "wrong argument": lambda m: refused(RuntimeError, m, "x"),
    "no argument": lambda m: refused(RuntimeError, m),
    "too many": lambda m: refused(RuntimeError, m, 1, 2, 3),
    "hook": lambda m: refused(RuntimeError, m.register_forward_hook, print),
    "pickled": lambda m: refused(TypeError, pickle.dumps, m),
    "wrong mode": lambda m: refused(ValueError, m.train, 1),
    "in a module": lambda m: nn.Sequential(m)(flambeau.tensor(BATCH)).tolist(),
    "kinds": lambda m: (isinstance(m, nn.Module), isinstance(m, dict), m.__class__, m.forward.__class__),
    "asking in a list": lambda m: (
        m.mixed(
            flambeau.tensor(BATCH), (flambeau.ones(1), 2), [flambeau.tensor([1.0], requires_grad=True)]
        ).requires_grad
    ),
    "gradients": lambda m: (m(flambeau.tensor(BATCH)).sum().backward(), m.first.weight.grad.tolist()),
    "asking": lambda m: m(flambeau.tensor(BATCH, requires_grad=True)).requires_grad,
    "double argument": lambda m: refused(RuntimeError, m, flambeau.tensor(BATCH).double()),
    "traced": lambda m: refused(RuntimeError, flambeau.jit.trace, lambda x: m(x) + 1, flambeau.tensor(BATCH)),
}


@pytest.mark.parametrize("is_called", [False, True])
def test_whoever_looks_sees_what_there_is(path: Path, monkeypatch: pytest.MonkeyPatch, is_called: bool) -> None:
    for name, look in LOOKS.items():
        module, expected = flambeau.jit.load(path), as_read(path, monkeypatch)
        assert is_unread(module), name
        for one in (module, expected) if is_called else ():
            with flambeau.no_grad():
                one(flambeau.tensor(BATCH))
        assert look(module) == look(expected), name
        assert name == "kinds" or not is_unread(module), name
        assert seen(module) == seen(expected), name
        with flambeau.no_grad():
            x = flambeau.tensor(BATCH, dtype=module.first.weight.dtype)
            assert module(x).tolist() == expected(x).tolist(), name


def test_methods_stay_the_objects_that_they_are(path: Path) -> None:
    module = flambeau.jit.load(path)
    forward, name = module.forward, module.forward.__name__
    assert forward is module.forward
    module = flambeau.jit.load(path)
    forward = module.forward
    with flambeau.no_grad():
        expected = forward(flambeau.tensor(BATCH)).tolist()
        assert module.scale == 0.5
        assert forward is module.forward
        assert forward.__name__ == name == "forward"
        assert forward(flambeau.tensor(BATCH)).tolist() == expected
        module.first.weight.zero_()
        module.second.turned.fill_(2.0)
        assert forward(flambeau.tensor(BATCH)).tolist() != expected
        assert forward(flambeau.tensor(BATCH)).tolist() == module(flambeau.tensor(BATCH)).tolist()


def test_a_method_outlives_its_module(path: Path) -> None:
    forward = flambeau.jit.load(path).forward
    with flambeau.no_grad():
        expected = forward(flambeau.tensor(BATCH)).tolist()
        assert "tanh" in flambeau.jit.load(path).first.code
        assert "second" in forward.code
        assert forward(flambeau.tensor(BATCH)).tolist() == expected


def test_nothing_of_an_unread_module_stays(path: Path) -> None:
    module = flambeau.jit.load(path)
    with flambeau.no_grad():
        module(flambeau.tensor(BATCH))
    gone = [weakref.ref(module), weakref.ref(module.forward)]
    gc.disable()
    try:
        del module
        assert [one() for one in gone] == [None, None]
    finally:
        gc.enable()


def test_it_is_told_what_ran(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    for module in (as_read(path, monkeypatch), flambeau.jit.load(path)):
        with flambeau.no_grad():
            for _ in range(3):
                module(flambeau.tensor(BATCH))
        graph = str(flambeau.jit.last_executed_optimized_graph())
        explained = module.explain(measure=False)
        told.append((graph, explained.name, [(c.cause, c.calls) for c in explained.compilations]))
        with flambeau.no_grad():
            module(flambeau.tensor(BATCH))
        assert str(flambeau.jit.last_executed_optimized_graph()) == graph
    assert told[0] == told[1]


class Failing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(flambeau.arange(12.0).reshape(3, 4), requires_grad=False)

    def forward(self, x: flambeau.Tensor, at: int) -> flambeau.Tensor:
        if at == 7:
            raise ValueError("seven")
        return x * self.table[at].sum() + self.table


def test_errors_are_the_programs_own(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "failing.pt"
    flambeau.jit.save(flambeau.script(Failing()), other)
    module = flambeau.jit.load(other)
    x = flambeau.tensor(BATCH)
    for _ in range(4):
        module(x, 1)
    for at, kind in ((9, IndexError), (7, ScriptError)):
        messages = []
        for module in (as_read(other, monkeypatch), flambeau.jit.load(other)):
            assert module(x, 2).tolist() == (x * module.table[2].sum() + module.table).tolist()
        unread = flambeau.jit.load(other)
        for module in (as_read(other, monkeypatch), unread):
            module(x, 1)
            with pytest.raises(kind) as error:
                module(x, at)
            messages.append(str(error.value))
            assert module(x, 0).shape == (3, 4)
        assert messages[0] == messages[1]


def test_damaged_files_are_refused_when_they_are_loaded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = path.read_bytes()
    assert is_unread(flambeau.jit.load(io.BytesIO(content)))
    generator = np.random.default_rng(0)
    outcomes = []
    for at in generator.integers(0, len(content), 100).tolist():
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        outcome = []
        for is_kept in (True, False):
            try:
                file: Any = io.BytesIO(damaged)
                module = flambeau.jit.load(file) if is_kept else as_read(file, monkeypatch)
                with flambeau.no_grad():
                    outcome.append(str(module(flambeau.tensor(BATCH)).tolist()))
            except (ArchiveError, CompileError) as error:
                outcome.append(str(error))
        assert outcome[0] == outcome[1], at
        outcomes.append(outcome[0])
    assert sum("checksum" in text for text in outcomes) > 10
    for cut in (1, 22, 100, len(content) // 2):
        with pytest.raises(ArchiveError):
            flambeau.jit.load(io.BytesIO(content[:-cut]))


def test_images_are_of_one_file(path: Path, tmp_path: Path) -> None:
    x = flambeau.tensor(BATCH)
    with flambeau.no_grad():
        module = flambeau.jit.load(path)
        expected = module(x).tolist()
        module.first.weight.mul_(2.0)
        module.save(path)
        changed = flambeau.jit.load(path)
        assert not is_unread(changed)
        assert changed(x).tolist() == module(x).tolist() != expected


def test_what_was_changed_in_the_first_process_is_no_part(tmp_path: Path) -> None:
    changes: list[Callable[[Any], Any]] = [
        lambda m: setattr(m, "scale", 3.0),
        lambda m: setattr(m.first, "weight", nn.Parameter(flambeau.zeros(5, 4))),
        lambda m: m.second.weight.data.zero_(),
        lambda m: m.train(),
        lambda m: m.requires_grad_(False),
    ]
    for number, change in enumerate(changes):
        path = tmp_path / f"{number}.pt"
        net = Net().eval()
        net.scale = 0.5 + number
        flambeau.jit.save(flambeau.script(net), path)
        expected = net(flambeau.tensor(BATCH)).tolist()
        first = flambeau.jit.load(path)
        change(first)
        call_often(first)
        with flambeau.no_grad():
            assert np.allclose(flambeau.jit.load(path)(flambeau.tensor(BATCH)).tolist(), expected), number
        module = flambeau.jit.load(path)
        assert module.training is False
        assert np.allclose(module(flambeau.tensor(BATCH)).tolist(), expected), number
        assert module(flambeau.tensor(BATCH)).requires_grad


def test_options_of_loading(path: Path) -> None:
    files = {"labels": ""}
    assert not is_unread(flambeau.jit.load(path, _extra_files=files))
    assert is_unread(flambeau.jit.load(path, "cpu"))
    assert {p.device.type for p in flambeau.jit.load(path, "meta").parameters()} == {"meta"}
    assert not is_unread(flambeau.jit.load(path, limits=flambeau.jit.LoadLimits(lines=99_999)))
    with path.open("rb") as file:
        module = flambeau.jit.load(file)
    assert is_unread(module)
    os.unlink(path)
    assert module.scale == 0.5
    with flambeau.inference_mode():
        assert not is_unread(flambeau.jit.load(io.BytesIO(module.save_to_buffer())))


def test_it_is_read_apart_from_what_is_around(path: Path) -> None:
    module = flambeau.jit.load(path)
    with flambeau.inference_mode():
        module(flambeau.tensor(BATCH))
        assert not module.first.weight.is_inference()
        assert flambeau.is_inference_mode_enabled()
    module = flambeau.jit.load(path)
    with flambeau.device("meta"):
        assert module.first.weight.device.type == "cpu"
        assert flambeau.zeros(1).device.type == "meta"


def test_threads_read_it_once(path: Path) -> None:
    for _ in range(5):
        module = flambeau.jit.load(path)
        start = threading.Barrier(6)
        found: list[Any] = []

        def look(number: int, module: Any = module, start: Any = start, found: Any = found) -> None:
            start.wait()
            with flambeau.no_grad():
                called = module(flambeau.tensor(BATCH)).tolist() if number % 2 else None
            found.append((module.first, module.forward, called))

        threads = [threading.Thread(target=look, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 6
        assert len({id(first) for first, _, _ in found}) == len({id(method) for _, method, _ in found}) == 1
        assert len({str(called) for _, _, called in found if called}) == 1
        assert type(module) is LoadedModule


def test_files_of_the_cache_may_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = flambeau.jit.load(path)
    called = flambeau.jit.load(path)
    with flambeau.no_grad():
        expected = called(flambeau.tensor(BATCH)).tolist()
        monkeypatch.setattr(ObjectCache, "load", lambda *_: None)
        assert module(flambeau.tensor(BATCH)).tolist() == expected
        assert called(flambeau.tensor(BATCH)).tolist() == expected
    assert called.code == module.code
    assert str(called.graph_for(flambeau.tensor(BATCH))) == str(module.graph_for(flambeau.tensor(BATCH)))


def test_a_broken_image_is_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with flambeau.no_grad():
        expected = flambeau.jit.load(path)(flambeau.tensor(BATCH)).tolist()
    real = KeptImage.read
    records: list[Any] = [None, (), (1, 2), "image", ((1, "", ()), "Net", False, [])]
    for broken in records:
        monkeypatch.setattr(KeptImage, "read", lambda _, broken=broken: real(broken))
        module = flambeau.jit.load(path)
        assert not is_unread(module)
        with flambeau.no_grad():
            assert module(flambeau.tensor(BATCH)).tolist() == expected


def test_what_is_linked_while_it_is_read_has_its_graph(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = flambeau.jit.load(path)
    forward = module.forward
    real = ReadPlan.serves

    def read_meanwhile(plan: ReadPlan, arguments: Any) -> bool:
        assert module.scale == 0.5
        return real(plan, arguments)

    monkeypatch.setattr(ReadPlan, "serves", read_meanwhile)
    with flambeau.no_grad():
        expected = as_read(path, monkeypatch)(flambeau.tensor(BATCH[:2])).tolist()
        assert forward(flambeau.tensor(BATCH[:2])).tolist() == module(flambeau.tensor(BATCH[:2])).tolist() == expected
