"""What is named has code: files and modules in the documentation, extras of the package, kinds of nodes."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.ir import kinds
from flambeau.schema import registry

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "flambeau"
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
SOURCES = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
ABSENT = {"nn.attention", "nn.parallel"}
"""What pages name to say that it is not there."""
OF_USERS = (".ops.",)
"""Operators of users, in examples."""
ROOMS = "|".join(sorted(p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_c25_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for path in sorted(set(re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)`", text))):
        rooms = ("", "codegen", "codegen/graph", "testing/programs")
        places = [ROOT / path, *[PACKAGE / room / path for room in rooms]]
        assert any(p.exists() for p in places), f"{page.name} names {path}, which is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_c25_modules_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in sorted(set(re.findall(rf"`((?:{ROOMS})(?:\.[a-z_]+)+)`", text)) - ABSENT):
        assert is_there(name), f"{page.name} names {name}, which is not there"


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "language-table.md"], ids=lambda p: p.name)
def test_what_users_are_told_to_write_exists(page: Path) -> None:
    """The table of the language, whose rows run, has mistakes too."""
    text = page.read_text(encoding="utf-8")
    for name in sorted(set(re.findall(r"\bflambeau((?:\.[A-Za-z_]\w*)+)", text))):
        is_file = re.search(r"\.(py|ir|pt|md)$", name) is not None
        assert is_file or name.startswith(OF_USERS) or is_there(name[1:]), f"{page.name} names flambeau{name}"


def is_there(name: str) -> bool:
    """Whether the package has a module, or something in one, by its dotted name."""
    owner: object = flambeau
    path = "flambeau"
    for part in name.split("."):
        path = f"{path}.{part}"
        try:
            owner = importlib.import_module(path)
        except ImportError:
            if not hasattr(owner, part):
                return False
            owner = getattr(owner, part)
    return True


def test_c25_extras_are_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    modules = {"cuda": "cupy", "numba": "numba", "viz": "igraph", "safetensors": "safetensors"}
    extras = set(project["optional-dependencies"]) - {"test", "docs", "peers"}
    assert extras <= set(modules), "say here which module of the extra the package imports"
    for extra in extras:
        assert any(re.search(rf"import_module\(.{modules[extra]}|import {modules[extra]}", t) for t in SOURCES.values())


@pytest.mark.parametrize("kind", sorted(k for k in kinds.STRUCTURAL if not registry.overloads(k)))
def test_c25_kinds_of_nodes_have_code(kind: str) -> None:
    users = [path for path, text in SOURCES.items() if f'"{kind}"' in text and path.name != "kinds.py"]
    assert users, f"nothing makes, runs or reads {kind}"


def test_c25_masks_are_made_inside_programs() -> None:
    class Masked(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + nn.Transformer.generate_square_subsequent_mask(x.size(0))

    class Placed(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + nn.Transformer.generate_square_subsequent_mask(x.size(0), device=x.device, dtype=x.dtype)

    x = flambeau.zeros(3, 3)
    inf = float("inf")
    for module in (Masked(), Placed()):
        assert flambeau.script(module)(x).tolist() == [[0, -inf, -inf], [0, 0, -inf], [0, 0, 0]]
    assert nn.Transformer.generate_square_subsequent_mask(2).tolist() == [[0, -inf], [0, 0]]


@pytest.mark.parametrize("name", ["current_device", "empty_cache", "synchronize"])
def test_c25_calls_that_want_a_device_say_that_there_is_none(name: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape("ask flambeau.cuda.is_available() first")):
        getattr(flambeau.cuda, name)()
