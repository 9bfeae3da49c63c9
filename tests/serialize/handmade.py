"""Archives put together by hand, from code and pickles."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest

import flambeau
from flambeau.program.written import GivenUpError
from flambeau.serialize.archive_reader.written_code import WrittenFunction

EMPTY_TUPLE = b"\x80\x02)."
"""The pickle of no constants."""


def text(value: str) -> bytes:
    """The instruction that gives a text."""
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def pickled(value: Any) -> bytes:
    """The instructions that give a value; bytes are instructions already."""
    match value:
        case bytes():
            return value
        case bool():
            return b"\x88" if value else b"\x89"
        case int():
            return b"J" + struct.pack("<i", value)
        case float():
            return b"G" + struct.pack(">d", value)
        case str():
            return text(value)
        case None:
            return b"N"
        case tuple():
            return b"(" + b"".join(map(pickled, value)) + b"t"
        case list():
            return b"](" + b"".join(map(pickled, value)) + b"e"
        case dict():
            return b"}(" + b"".join(pickled(k) + pickled(v) for k, v in value.items()) + b"u"
    raise TypeError(type(value))


def instance(name: str, state: Mapping[str, Any]) -> bytes:
    """The instructions that give an object of a class."""
    module, _, short = name.rpartition(".")
    return f"c{module}\n{short}\n".encode() + b")\x81" + pickled(dict(state)) + b"b"


def tensor(key: str, count: int, sizes: tuple[int, ...], strides: tuple[int, ...], **options: Any) -> bytes:
    """The instructions that give a tensor of a storage of floats."""
    kind, offset, grad = options.get("kind", "FloatStorage"), options.get("offset", 0), options.get("grad", False)
    place = options.get("place", "cpu")
    storage = pickled(("storage", f"ctorch\n{kind}\n".encode(), key, place, count)) + b"Q"
    hooks = b"ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n" + pickled((storage, offset, sizes, strides, grad, hooks)) + b"R"


def archive(code: str, state: Mapping[str, Any] | bytes | None = None, **records: Any) -> bytes:
    """An archive whose module is of class `M` of the code; `records` replace others, or leave them out if None."""
    root = state if isinstance(state, bytes) else instance("__torch__.M", {"training": True, **(state or {})})
    found: dict[str, Any] = {
        "data.pkl": b"\x80\x02" + root + b".",
        "code/__torch__.py": code,
        "constants.pkl": EMPTY_TUPLE,
        "version": "3\n",
        **{name.replace("__slash__", "/").replace("__dot__", "."): data for name, data in records.items()},
    }
    return zipped({f"m/{name}": data for name, data in found.items() if data is not None})


def zipped(records: Mapping[str, bytes | str], method: int = zipfile.ZIP_STORED) -> bytes:
    """A ZIP file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        for name, data in records.items():
            made.writestr(name, data)
    return file.getvalue()


def module(*methods: str, attributes: str = "") -> str:
    """The code of a module `M` with `training` and some methods."""
    lines = ["class M(Module):", "  __parameters__ = []", "  __buffers__ = []", "  training : bool"]
    lines += [f"  {line}" for line in attributes.splitlines()]
    return "\n".join([*lines, *(f"  {line}" for m in methods for line in m.splitlines())]) + "\n"


def load(data: bytes, **options: Any) -> Any:
    """The module of an archive."""
    return flambeau.jit.load(io.BytesIO(data), **options)


def run(*lines: str, takes: str = "x: Tensor", gives: str = "Tensor", state: Mapping[str, Any] | None = None,
        attributes: str = "") -> Any:  # fmt: skip
    """A loaded module whose `forward` has these lines."""
    head = f"def forward(self: __torch__.M, {takes}) -> {gives}:"
    return load(archive(module("\n".join([head, *(f"  {line}" for line in lines)]), attributes=attributes), state))


def never_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have graphs answer all calls of loaded programs, the first too."""

    def give_up(self: WrittenFunction, arguments: Any, *, records: bool) -> None:
        raise GivenUpError("a test wants the graph")

    monkeypatch.setattr(WrittenFunction, "run", give_up)
