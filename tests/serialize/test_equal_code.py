"""Methods with equal code over equal classes are compiled once, and each has the graph that its own code says."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.ir.walk import blocks
from flambeau.serialize.archive_reader import code_unit, equal_code
from tests.serialize.handmade import zipped


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE", "off")


class Block(nn.Module):
    def __init__(self, width: int, wanted: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, wanted)
        self.scale = wanted

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer(x)
        if x.dim() == 1:
            raise ValueError("rows wanted")
        return x.relu() * self.scale


WIDTHS = (4, 8, 2, 3)


def saved(edit: Callable[[str, str], str] | None = None) -> bytes:
    """An archive of three blocks, whose code may be edited, record by record."""
    flambeau.manual_seed(1)
    stream = io.BytesIO()
    pairs = pairwise(WIDTHS)
    flambeau.jit.save(flambeau.script(nn.Sequential(*[Block(one, other) for one, other in pairs])), stream)
    if edit is None:
        return stream.getvalue()
    with zipfile.ZipFile(stream) as file:
        records: dict[str, bytes | str] = {}
        for name in file.namelist():
            content: bytes | str = file.read(name)
            records[name] = edit(name, content.decode()) if name.endswith(".py") else content  # type: ignore[union-attr]
    return zipped(records)


def loaded(content: bytes) -> Any:
    return flambeau.jit.load(io.BytesIO(content))


def told(module: Any) -> list[Any]:
    """Graphs of all methods, with the places of their nodes."""
    graphs = []
    for inner in module.modules():
        graph = inner.script_object.type.definition.methods["forward"].graph
        places = [(str(node.range), node.range.text) for block in blocks(graph.body) for node in block if node.range]
        graphs.append((str(graph), places))
    return graphs


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that are compiled of their text."""
    names: list[str] = []
    compile_def = code_unit.compile_def

    def noted(*args: Any, **options: Any) -> Any:
        names.append(re.sub(r"___torch_mangle_\d+\.", "", options["name"]))
        return compile_def(*args, **options)

    monkeypatch.setattr(code_unit, "compile_def", noted)
    return names


def test_equal_layers_are_compiled_once(compiled: list[str]) -> None:
    module = loaded(saved())
    x = flambeau.ones(2, 4)
    with flambeau.no_grad():
        module.forward.compile(x)
        result = module(x)
    assert sorted(name.rpartition(".")[0].rpartition(".")[2] for name in compiled) == ["Block", "Linear", "Sequential"]
    flambeau.manual_seed(1)
    expected = nn.Sequential(*[Block(one, other) for one, other in pairwise(WIDTHS)])
    assert flambeau.allclose(result, expected(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("has_places", [True, False])
def test_a_copy_is_what_its_own_code_says(has_places: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(name: str, code: str) -> str:
        return code.replace("    return", "    \n    return")  # what the tables of places say is no longer so

    content = saved() if has_places else saved(edit)
    copies = told(loaded(content))
    assert len({text for text, _ in copies}) == len(copies)  # each has classes of its own
    monkeypatch.setattr(equal_code.EqualCode, "copy", lambda self, key, code: None)
    assert told(loaded(content)) == copies


def test_constants_that_the_code_looks_at_are_part_of_it(compiled: list[str]) -> None:
    numbers = iter(range(2, 100))

    def edit(name: str, code: str) -> str:
        if "class Block" not in code:
            return code
        constant = f"  scale : int\n  k : Final[int] = {next(numbers)}\n"
        return code.replace("  scale : int\n", constant).replace("return torch.mul(", "return (self).k * torch.mul(")

    plain, module = loaded(saved()), loaded(saved(edit))
    x = flambeau.ones(2, 4)
    with flambeau.no_grad():
        module.forward.compile(x)
        plain.forward.compile(x)
        y = plain[2](plain[1](plain[0](x) * 2) * 3) * 4
        assert flambeau.allclose(module(x), y)
    assert compiled.count("__torch__.tests.serialize.test_equal_code.Block.forward") == 1 + len(WIDTHS) - 1


def test_one_class_in_two_roles_is_no_other_class_in_each() -> None:
    """Where one method has one class twice, and another has two classes that look the same, each keeps its own."""

    class Pair(nn.Module):
        def __init__(self, one: nn.Module, other: nn.Module) -> None:
            super().__init__()
            self.one, self.other = one, other

        def forward(self, x: Tensor) -> Tensor:
            return self.one(x) + self.other(x)

    flambeau.manual_seed(2)
    both = nn.Sequential(
        Pair(nn.Linear(4, 4), nn.Linear(4, 4)),
        Pair(nn.Linear(4, 1), nn.Linear(4, 4)),
        Pair(nn.Linear(4, 4), nn.Linear(4, 4)),
    )
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(both), stream)
    x = flambeau.ones(2, 4)
    module = loaded(stream.getvalue())
    copies = told(module)
    with flambeau.no_grad():
        assert flambeau.allclose(module(x), both(x), rtol=1e-5, atol=1e-6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equal_code.EqualCode, "copy", lambda self, key, code: None)
        assert told(loaded(stream.getvalue())) == copies


def test_a_graph_that_somebody_edits_is_not_copied() -> None:
    module = loaded(saved())
    edited = module[0].graph
    for node in list(edited.nodes()):
        if node.kind() == "aten::relu":
            node.output().replaceAllUsesWith(next(node.inputs()))
    assert "%x" in str(module[1].graph)
    texts = [str(module[k].forward.graph) for k in range(1, 3)]
    assert all("aten::relu" in text for text in texts)
    x = flambeau.tensor([[-1.0, 1.0, 2.0, -3.0]])
    with flambeau.no_grad():
        assert bool((module[1](module[0](x).abs()) >= 0).all())


def test_errors_name_the_place_in_the_own_code() -> None:
    module = loaded(saved())
    module(flambeau.ones(2, 4))
    with pytest.raises(ValueError, match=r"(?s)test_equal_code\.py.*raise.*rows wanted"):
        module[2](flambeau.ones(2))
