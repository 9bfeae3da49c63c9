"""What commands are given: the function that `FILE.py:FN` or `model.pt:method` names, and its arguments as Python."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import flambeau
from flambeau.jit.function import ScriptFunction
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.tools.command_errors import REPORTED, CommandError

EXPECTED: Final = "expected FILE.py:FN or model.pt, got {target!r}; for example examples/nbody.py:energy"


def load_target(target: str) -> tuple[ScriptFunction, ModuleType]:
    """The function that `FILE.py:FN` names, scripted, and its Python module. Raises CommandError when there is none.

    Of an archive, `model.pt` or `model.pt:sub.method`, it is the method, of the module by default `forward`.
    """
    path, _, name = target.rpartition(":")
    archive = next((Path(p) for p in (target, path) if p and _is_archive(Path(p))), None)
    if archive is not None:
        return _method_of_archive(archive, target[len(str(archive)) + 1 :]), ModuleType(archive.stem)
    if not path or not name:
        raise CommandError(_no_target(Path(target)))
    module = load_module(Path(path))
    function: Any = module
    for part in name.split("."):
        if not hasattr(function, part):
            raise CommandError(f"{path} has no {name!r}; it defines {_known(module)}")
        function = getattr(function, part)
    if not callable(function) or isinstance(function, type):
        kind = "class" if isinstance(function, type) else type(function).__name__
        hint = f"name a function or an instance of a module. {path} defines {_known(module)}"
        raise CommandError(f"{name} is a {kind}; {hint}")
    scripted: Any = flambeau.script(function)
    entry: Any = scripted.forward if isinstance(scripted, RecursiveScriptModule) else scripted
    return entry, module


def _no_target(path: Path) -> str:
    """What is said of a file that is named alone, and is no archive."""
    if path.suffix in (".pt", ".pth"):
        is_there = path.is_file()
        return f"{path} is no TorchScript archive, which is a ZIP file" if is_there else f"there is no file {path}"
    if path.suffix != ".py" or not path.is_file():
        return EXPECTED.format(target=str(path))
    known = _known(load_module(path))
    return f"say which function of {path} is meant, {path}:FN; it defines {known}"


def _is_archive(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def load_archive(path: Path) -> RecursiveScriptModule:
    """The module of an archive. Raises CommandError for a file that is none."""
    if not _is_archive(path):
        raise CommandError(_no_target(path) if path.suffix in (".pt", ".pth") else f"{path} is no model.pt")
    module: RecursiveScriptModule = flambeau.jit.load(path)
    return module


def _method_of_archive(path: Path, name: str) -> ScriptFunction:
    """A method of the module in an archive, by its dotted name."""
    method: Any = load_archive(path)
    for part in name.split(".") if name else ():
        if not hasattr(method, part):
            raise CommandError(f"{path} has no {name!r}; at {part!r} there is {', '.join(_parts(method)) or 'nothing'}")
        method = getattr(method, part)
    if isinstance(method, RecursiveScriptModule) and "forward" in method.script_object.type.definition.methods:
        method = method.forward
    if not isinstance(method, ScriptFunction):
        raise CommandError(f"{name or path} is no method; there are {', '.join(_parts(method)) or 'none in it'}")
    return method


def _parts(target: Any) -> list[str]:
    script_object = getattr(target, "script_object", None)
    return [] if script_object is None else [*script_object.type.definition.methods, *target._modules]


def _known(module: ModuleType) -> str:
    """What of a Python module can be shown."""
    names = [
        name
        for name, value in vars(module).items()
        if isinstance(value, ScriptFunction | flambeau.nn.Module)
        or (callable(value) and not isinstance(value, type) and getattr(value, "__module__", "") == module.__name__)
    ]
    return ", ".join(names) or "nothing that can be shown"


def load_module(path: Path) -> ModuleType:
    """Run a Python file as a module. Raises CommandError if it is none or fails."""
    if not path.is_file():
        raise CommandError(f"there is no file {path}")
    name = path.stem if path.stem not in sys.modules else f"_shown_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} is no Python file: its name should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except REPORTED:
        raise
    except Exception as error:
        raise CommandError(f"running {path} failed: {type(error).__name__}: {error}") from error
    return module


def evaluated_arguments(text: str, module: ModuleType) -> Sequence[Any]:
    """The arguments that `text` says, with the names of the file. Raises CommandError if they are none.

    >>> evaluated_arguments("3, limit", type("module", (), {"limit": 5}))
    (3, 5)
    """
    scope = {"flambeau": flambeau, "Tensor": flambeau.Tensor, **vars(module)}
    try:
        arguments = eval(f"({text},)" if text.strip() else "()", scope)
    except Exception as error:
        raise CommandError(f"--args {text!r} is no list of arguments: {type(error).__name__}: {error}") from error
    assert isinstance(arguments, tuple)
    return arguments
