"""Outlines of classes: who loads an archive again reads what its classes consist of, and parses none of its code."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flambeau
from flambeau import nn
from flambeau.executor import stored
from flambeau.jit import LoadLimits
from flambeau.serialize.archive_reader import class_outlines, code_unit
from flambeau.util.errors import ArchiveError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))


class Part(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.tensor([1.0, -2.0]))
        self.register_buffer("shift", flambeau.tensor([0.5, 0.25]))

    def forward(self, x: flambeau.Tensor, scale: float = 2.0, *, names: list[str] | None = None) -> flambeau.Tensor:
        return (x * self.weight + self.shift) * scale + (0 if names is None else len(names))


class Whole(nn.Module):
    table: dict[str, list[int]]

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Part(), Part()])
        self.table = {"a": [1, 2]}
        self.rounds = 3

    @flambeau.jit.export
    def size(self, key: str) -> int:
        return len(self.table[key]) * self.rounds

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        for part in self.parts:
            x = part(x, names=["n"])
        return x


def saved(module: nn.Module) -> bytes:
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(module), stream)
    return stream.getvalue()


def loaded(content: bytes, **options: Any) -> Any:
    return flambeau.jit.load(io.BytesIO(content), **options)


def told(module: Any) -> tuple[Any, ...]:
    """What can be seen of a module without a graph."""
    kinds = [type(m).__name__ for m in module.modules()]
    schemas = [str(m.forward.schema) for m in module.modules() if hasattr(m, "forward")]
    states = [(n, v.tolist(), v.requires_grad) for n, v in module.state_dict(keep_vars=True).items()]
    return kinds, schemas, states, module.table, module.rounds


def refuse_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("code was parsed")

    monkeypatch.setattr(code_unit, "CodeFile", refuse)


def test_who_loads_an_archive_again_parses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Whole())
    first = loaded(content)
    x = flambeau.tensor([1.0, 2.0])
    first.forward.compile(x)
    first.size.compile("a")
    expected = first(x).tolist(), first.size("a"), told(first)
    refuse_parsing(monkeypatch)
    again = loaded(content)
    assert told(again) == expected[2]
    assert (again(x).tolist(), again.size("a")) == expected[:2]


def test_bodies_are_parsed_when_something_asks_for_them() -> None:
    content = saved(Whole())
    first = loaded(content)
    again = loaded(content)
    assert not again.script_object.type.definition.methods["forward"].is_compiled
    assert (again.code, str(again.graph)) == (first.code, str(first.graph))
    with pytest.raises(KeyError, match="b"):
        again.size("b")


def test_code_that_differs_has_outlines_of_its_own() -> None:
    content = saved(Whole())
    loaded(content)
    broken = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b"rounds : int", b"rounds : in t") if name.endswith(".py") else data)
    with pytest.raises(ArchiveError, match=r"rounds : in t"):
        loaded(broken.getvalue())


def test_other_limits_are_looked_at_anew() -> None:
    content = saved(Whole())
    loaded(content)
    with pytest.raises(ArchiveError, match="more than 1 levels of nested code"):
        loaded(content, limits=LoadLimits(code_nesting=1))
    with pytest.raises(ArchiveError, match="more than 2 lines"):
        loaded(content, limits=LoadLimits(lines=2))


class Pair(NamedTuple):
    x: flambeau.Tensor
    y: flambeau.Tensor


class Paired(nn.Module):
    def forward(self, pair: Pair) -> flambeau.Tensor:
        return pair.x + pair.y


def test_what_no_outline_can_hold_is_read_from_the_code() -> None:
    content = saved(Paired())
    pair = Pair(flambeau.ones(2), flambeau.ones(2))
    for _ in range(2):
        assert loaded(content)(pair).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "entry", [3, ([], {"a": ()}), ([], {"__torch__": (True, (("n", 7, False, False),), (), ((), ()), ())})]
)
def test_another_entry_in_its_place_is_no_outline(entry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Whole())
    expected = told(loaded(content))
    read = stored.CacheEntry.read

    def other(self: stored.CacheEntry) -> Any:
        kept = read(self)
        if not isinstance(kept, tuple) or not isinstance(kept[0], list):
            return kept
        if isinstance(entry, tuple):  # the same classes, of which nothing is there
            return entry[0], {name: next(iter(entry[1].values())) for name in kept[1]}
        return entry

    monkeypatch.setattr(class_outlines.CacheEntry, "read", other)
    assert told(loaded(content)) == expected
