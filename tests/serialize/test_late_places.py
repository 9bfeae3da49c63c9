"""Places of an archive's code in the user's file: looked up when something asks where it is."""

from __future__ import annotations

import copy
import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import flambeau
from flambeau import nn
from flambeau.serialize.archive_reader import equal_code, source_ranges
from flambeau.serialize.archive_reader.permissions import Permissions
from flambeau.util.late_range import LateRange
from flambeau.util.source import Source, SourceRange
from tests.serialize.handmade import never_as_written


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))


class Layer(nn.Module):
    tag: Final[int]

    def __init__(self, tag: int) -> None:
        super().__init__()
        self.tag = tag
        self.weight = nn.Parameter(flambeau.ones(2))

    def forward(self, x: flambeau.Tensor, n: int) -> flambeau.Tensor:
        if n > 3:
            raise ValueError("too many")
        return x * self.weight + n


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(1), Layer(2), Layer(3)])

    def forward(self, x: flambeau.Tensor, n: int) -> flambeau.Tensor:
        for layer in self.layers:
            x = layer(x, n)
        return x


class Quiet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 3), nn.Linear(3, 1)

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        y = self.second(self.first(x).relu()) * 2.0 + 1.0
        return y.abs() - y.exp() + y.sum()


def saved(module: nn.Module | None = None) -> bytes:
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(module or Stack()), stream)
    return stream.getvalue()


def loaded(content: bytes) -> Any:
    return flambeau.jit.load(io.BytesIO(content))


def changed(content: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return stream.getvalue()


def refuse_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("a table of places was read")

    monkeypatch.setattr(source_ranges, "read_plain", refuse)


def failure(module: Any) -> str:
    with pytest.raises(ValueError, match="too many") as error:
        module(flambeau.ones(2), 4)
    return str(error.value)


def test_a_first_answer_reads_no_table_of_places(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Quiet())
    answers = []
    with monkeypatch.context() as patch, flambeau.no_grad():
        refuse_tables(patch)
        for _ in range(2):  # compiled; read from the cache
            module = loaded(content)
            answers.append(module(flambeau.ones(1, 2)).tolist())
    assert module.explain().first_calls == 1
    assert answers[0] == answers[1]
    assert "test_late_places.py" in str(module.graph)


def test_errors_show_the_users_file() -> None:
    content = saved()
    for _ in range(3):  # compiled; read from the cache
        module = loaded(content)
        text = failure(module)
        assert "test_late_places.py" in text
        assert 'raise ValueError("too many")' in text
        assert "test_late_places.py" in str(module.graph)
        assert "test_late_places.py" in str(module.layers[2].graph)


def test_graphs_read_from_the_cache_have_places() -> None:
    content = saved()
    first = loaded(content)
    first(flambeau.ones(2), 1)
    again = loaded(content)
    again(flambeau.ones(2), 1)
    assert str(again.graph) == str(first.graph)
    assert str(again.layers[1].graph) == str(first.layers[1].graph)
    assert str(again.inlined_graph) == str(first.inlined_graph)


@pytest.mark.parametrize(
    "table",
    [b"no pickle", b"\x80\x02K\x01.", b"\x80\x02" + pickle.dumps((("x", 1),), 2)[2:],
     b"\x80\x02" + pickle.dumps(((0, (([99], 7, 3), 0, 5), 0),), 2)[2:]],
)  # fmt: skip
def test_a_broken_table_leaves_places_in_the_code(table: bytes) -> None:
    content = changed(saved(), lambda name, data: table if name.endswith(".debug_pkl") else data)
    for _ in range(2):
        module = loaded(content)
        assert module(flambeau.ones(2), 1).tolist() == [4.0, 4.0]
        text = failure(module)
        assert "too many" in text
        assert "code/__torch__" in text


def test_copies_of_graphs_are_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    never_as_written(monkeypatch)
    content = saved()
    checked, made = [], []
    check, made_copy = Permissions.check, equal_code.EqualCode.copy

    def counted(self: Permissions, graph: Any, title: str) -> None:
        checked.append(graph)
        check(self, graph, title)

    def noted(self: Any, key: Any, code: Any) -> Any:
        graph = made_copy(self, key, code)
        made.append(graph is not None)
        return graph

    monkeypatch.setattr(Permissions, "check", counted)
    monkeypatch.setattr(equal_code.EqualCode, "copy", noted)
    loaded(content)(flambeau.ones(2), 1)
    assert made == [False, True, True]
    assert len(checked) == 2  # that of `Stack`, and of the first layer


def test_nothing_is_copied_of_what_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved()

    def refuse(self: Permissions, graph: Any, title: str) -> None:
        if any(node.op == "aten::mul" for node in graph.all_nodes()):
            raise flambeau.jit.ArchiveError("refused")

    monkeypatch.setattr(Permissions, "check", refuse)
    never_as_written(monkeypatch)
    module = loaded(content)
    for layer in module.layers:
        with pytest.raises(flambeau.jit.ArchiveError, match="refused"):
            layer(flambeau.ones(2), 1)


def test_late_ranges_are_ranges() -> None:
    written, shown = Source("a = 1\n", "<code>"), Source("b = 22\n", "<user>", 7)
    asked: list[SourceRange] = []

    def find(known: SourceRange) -> SourceRange:
        asked.append(known)
        return shown.range(4, 6)

    late = LateRange(written.range(0, 1), find)
    assert not asked
    assert (late.text, str(late), late.start, late.end) == ("22", "<user>:7:4", 4, 6)
    assert len(asked) == 1
    assert late == shown.range(4, 6)
    assert shown.range(4, 6) == late
    assert late != shown.range(4, 5)
    assert late != "something else"
    assert len({late, shown.range(4, 6)}) == 1
    assert type(pickle.loads(pickle.dumps(late))) is SourceRange
    assert copy.deepcopy(late) == late
    assert late.union(shown.range(0, 1)).text == "b = 22"
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        late.other  # noqa: B018
