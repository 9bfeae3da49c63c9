"""A module made of a graph as a package of Python: its code, its state and its submodules in a folder.

Submodules are pickled, and unpickled by who imports the package: which is trusted as any code is that is imported.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from flambeau.nn.module import Module
from flambeau.util.inversions import PACKAGE

BAD_NAME: Final = "to_folder: a class cannot be called {name!r}"
NOT_IMPORTED: Final = (
    "to_folder: the code names {name}, a {kind} that no module has under its name, so that the package could not "
    "import it"
)
_HEAD: Final = """\
import pickle
from math import inf, nan
from pathlib import Path

import flambeau
from flambeau import device
"""
_CLASS: Final = '''

class {name}(flambeau.nn.Module):
    """What a graph of Python code does."""

    def __init__(self):
        super().__init__()
        folder = Path(__file__).parent
        state = flambeau.load(folder / "state_dict.pt")
{attributes}
        self.train({training})
'''
_CHILD: Final = '        self.add_module("{name}", pickle.loads((folder / "{name}.pkl").read_bytes()))'
_PARAMETER: Final = (
    '        self.register_parameter("{name}", flambeau.nn.Parameter(state["{name}"], requires_grad={asks}))'
)
_BUFFER: Final = '        self.register_buffer("{name}", state["{name}"], persistent={persistent})'


def write_package(module: Any, folder: Path, name: str) -> None:
    """Write the package. Raises ValueError for what no class can be called, RuntimeError for code that names what no
    module has."""
    if not name.isidentifier():
        raise ValueError(BAD_NAME.format(name=name))
    written = module.graph.python_code("self")
    imports = "".join(f"{line}\n" for line in _imports(written.globals))
    folder.mkdir(parents=True, exist_ok=True)
    state = {**module.state_dict(), **dict(module.named_buffers(recurse=False))}
    PACKAGE.implementation.save(state, folder / "state_dict.pt")
    for child_name, child in module.named_children():
        (folder / f"{child_name}.pkl").write_bytes(pickle.dumps(child))
    attributes = "\n".join(_attributes(module))
    code = "\n".join(f"    {line}".rstrip() for line in written.src.strip().splitlines())
    text = f"{_HEAD}{imports}{_CLASS.format(name=name, attributes=attributes, training=module.training)}\n{code}\n"
    (folder / "module.py").write_text(text, encoding="utf-8")
    (folder / "__init__.py").write_text(f"from .module import {name} as {name}\n", encoding="utf-8")


def _attributes(module: Module) -> Iterator[str]:
    """The lines that make what the module has."""
    for name, _ in module.named_children():
        yield _CHILD.format(name=name)
    for name, one in module.named_parameters(recurse=False):
        yield _PARAMETER.format(name=name, asks=one.requires_grad)
    kept = module.state_dict()
    for name, _ in module.named_buffers(recurse=False):
        yield _BUFFER.format(name=name, persistent=name in kept)


def _imports(names: Mapping[str, Any]) -> Iterator[str]:
    """The lines that import what code names from outside. Raises RuntimeError for what cannot be imported."""
    for name, value in sorted(names.items()):
        if isinstance(value, ModuleType):
            yield f"import {value.__name__}" + ("" if value.__name__ == name else f" as {name}")
        elif name not in ("inf", "nan", "device"):
            home, own = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
            if home is None or getattr(sys.modules.get(home), own, None) is not value:
                raise RuntimeError(NOT_IMPORTED.format(name=name, kind=type(value).__name__))
            yield f"from {home} import {own} as {name}"
