"""`flambeau.jit.save`: scripted modules and functions as TorchScript archives, which PyTorch loads too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, Any

from flambeau.ir.clone import clone_graph
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.schema.function import Argument
from flambeau.schema.types import BOOL
from flambeau.serialize.archive_format import PLACEHOLDER
from flambeau.serialize.archive_writer.archive import Archive, ExtraFiles, Program, archive_of
from flambeau.serialize.archive_writer.output import folder_of, opened
from flambeau.util.errors import CompileError
from flambeau.util.progress import progress
from flambeau.util.record import replace

NOT_COMPILED = "jit.save takes a scripted or traced module or function, not a {kind}; script it first"
EXTRA_FILE = "_extra_files: '{name}' is a {kind}; files are texts or bytes"


def save(m: Any, f: str | os.PathLike[str] | IO[bytes], _extra_files: ExtraFiles | None = None) -> None:
    """Write a scripted or traced module or function to a file.

    Args:
        m: the module or function. Of a module everything in it is saved: parameters, buffers, attributes, submodules,
            and the methods that are compiled. A function becomes a module whose `forward` it is.
        f: a path, or something open for writing bytes. A path has its new file when all is written, and keeps what it
            had if that fails.
        _extra_files: files to put beside, by name: texts or bytes.

    Raises:
        RuntimeError: the directory does not exist, or something has no form in archives: calls of Python functions,
            sets or futures in attributes, objects that contain themselves.
        TypeError: `m` is not compiled.

    >>> import io, flambeau
    >>> file = io.BytesIO()
    >>> save(flambeau.script(flambeau.nn.Linear(3, 2)), file, {"note": "untrained"})
    >>> file.getvalue()[:4]
    b'PK\\x03\\x04'
    """
    shown = os.fspath(f) if isinstance(f, str | os.PathLike) else "a program"
    with progress(f"saving {shown}") as tell:
        archive = _archive(m, _extra_files)
        tell("writing")
        with opened(f) as sink:
            archive.write(sink, folder_of(f))


def save_to_buffer(m: Any, _extra_files: ExtraFiles | None = None) -> bytes:
    """What `save` would write to a file.

    >>> import flambeau
    >>> len(save_to_buffer(flambeau.script(flambeau.nn.ReLU()))) > 500
    True
    """
    archive = bytearray()
    _archive(m, _extra_files).write(archive.extend, folder_of(None))
    return bytes(archive)


def _archive(m: Any, extra_files: ExtraFiles | None) -> Archive:
    files = dict(extra_files or {})
    for name, text in files.items():
        if not isinstance(text, str | bytes):
            raise TypeError(EXTRA_FILE.format(name=name, kind=type(text).__name__))
    m = getattr(m, "ours", m)
    script_object = vars(m).get("script_object") if hasattr(m, "__dict__") else None
    function = getattr(m, "script_function", None)
    if isinstance(script_object, ScriptObject):
        root = script_object
    elif isinstance(function, Function) and not hasattr(m, "owner"):
        root = placeholder(function)
    else:
        raise TypeError(NOT_COMPILED.format(kind=type(m).__name__))
    inputs: Mapping[str, list[Any]] = vars(m).get("_traced_inputs", {})
    return archive_of(Program(root, _complete, inputs, files))


def placeholder(function: Function) -> ScriptObject:
    """A module whose `forward` is the function."""
    definition = ClassDefinition(PLACEHOLDER, is_module=True)
    definition.add_attribute("training", BOOL)
    graph = clone_graph(function.graph)
    own = Argument("_self" if any(a.name == "self" for a in function.schema.arguments) else "self", definition.type)
    graph.body.add_parameter(own.type, own.name, 0)
    schema = replace(function.schema, arguments=(own, *function.schema.arguments))
    definition.add_method("forward", Function(f"{PLACEHOLDER}.forward", graph, schema))
    return ScriptObject(definition.type, [True])


def _complete(definition: ClassDefinition) -> None:
    """Compile all methods of a user's class; those that cannot be are no part of the program."""
    compile_all = getattr(definition.source, "compile_all", None)
    if compile_all is not None:
        try:
            compile_all()
        except CompileError:
            return
