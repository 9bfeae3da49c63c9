"""`flambeau.save`: tensors and plain values around them as a file that `torch.load(weights_only=True)` reads.

The container is that of archives. The pickle says nothing of types: lists are lists, dicts are dicts.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any, Final

import numpy as np

from flambeau.nn.parameter import Parameter
from flambeau.ops.language.declare import declare
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import Effect
from flambeau.schema.types import ANY, Type
from flambeau.serialize.archive_format import DATA, PLAIN_VERSION
from flambeau.serialize.archive_writer.container_writer import ContainerWriter
from flambeau.serialize.archive_writer.output import Target, folder_of, opened
from flambeau.serialize.archive_writer.pickled_values import ValuePickler
from flambeau.serialize.archive_writer.storage_writer import write_parts, write_tensor
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor
from flambeau.util.depth import deep_recursion
from flambeau.util.progress import progress
from flambeau.util.user_code import warn_user

NO_OLDER_FORMAT: Final = "flambeau.save writes a ZIP file, as PyTorch does since 1.6: the format before is not written"
HINT: Final = (
    ". Save a scripted module with flambeau.jit.save, the state of any other as flambeau.save(m.state_dict(), f)"
)


def save(
    obj: Any, f: Target, pickle_module: Any = None, pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:  # fmt: skip
    """Write tensors, or lists, tuples and dicts with tensors in them, to a file.

    Numbers (those of NumPy as Python's), texts, bytes, bools, None, devices, dtypes, sizes, sets and counters may be
    among them. Tensors that share memory share it again when they are loaded, and what is there twice is there once.
    `flambeau.load` and `torch.load` read the file.

    Args:
        obj: what to save.
        f: a path, or something open for writing bytes. A path has its new file when all is written, and keeps what it
            had if that fails.
        pickle_module: without meaning: values are written without one.
        pickle_protocol: without meaning: it is 2, which all readers know.
        _use_new_zipfile_serialization: False warns: what is written is a ZIP file.

    Raises RuntimeError for values of other kinds, naming where they are, and for a directory that does not exist.

    >>> import io, flambeau
    >>> file = io.BytesIO()
    >>> flambeau.save({"weight": flambeau.ones(2), "step": 3}, file)
    >>> file.getvalue()[:2]
    b'PK'
    """
    if not _use_new_zipfile_serialization:
        warn_user(NO_OLDER_FORMAT, UserWarning)
    with progress("saving") as tell:
        pickler = PlainPickler()
        with deep_recursion():
            pickler.write(obj)
        tell("writing")
        with opened(f) as sink:
            writer = ContainerWriter(sink, folder_of(f))
            writer.write(f"{DATA}.pkl", pickler.finish())
            for key, data in pickler.storages.records.items():
                writer.write(f"{DATA}/{key}", data)
            writer.finish(PLAIN_VERSION)


save.language_form = "save"  # type: ignore[attr-defined]  # how the compiler knows it
declare("aten::save(t item, str filename) -> ()", save, effect=Effect.WORLD, doc="write a value to a file")


class _SameNames:
    def renamed(self, type_: Type) -> Type:
        return type_


class PlainPickler(ValuePickler):
    """Writes values without their types."""

    hint = HINT
    is_program = False

    def __init__(self) -> None:
        super().__init__(_SameNames())

    def write(self, value: Any, type_: Type = ANY) -> None:
        """Write a value. Raises RuntimeError for what has no form, naming where it is."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, DType):
            self.stream.name("torch", value.name)
        elif isinstance(value, Size):
            self.stream.name("torch", "Size")
            self._tuple(tuple(value), ANY)
            self.stream.close_tuple(1)
            self.stream.reduce()
        else:
            super().write(value)

    def _anew(self, value: Any, type_: Type) -> None:
        if isinstance(value, Parameter):
            attributes = value.__dict__
            self.stream.name("torch._utils", "_rebuild_parameter_with_state" if attributes else "_rebuild_parameter")
            self.stream.begin_tuple()
            write_tensor(self.stream, value.detach(), self.storages, is_program=False)
            self.stream.plain(value.requires_grad)
            self._ordered()
            if attributes:
                super()._anew(attributes, ANY)
            self.stream.end_tuple()
            self.stream.reduce()
        elif isinstance(value, Tensor) and value.__dict__:
            self.stream.name("torch._tensor", "_rebuild_from_type_v2")
            self.stream.begin_tuple()
            write_parts(self.stream, value, self.storages, is_program=False, between=("torch", "Tensor"))
            super()._anew(value.__dict__, ANY)
            self.stream.end_tuple()
            self.stream.reduce()
        elif isinstance(value, Tensor | list | dict):
            super()._anew(value, ANY)
        elif isinstance(value, set):
            self._made_of("builtins", "set", list(value))
        elif isinstance(value, bytes):
            self._call("_codecs", "encode", (value.decode("latin1"), "latin1"))
        else:
            raise self.without_form(value)

    def type_within(self, type_: Type, kind: type[Type], value: Any) -> Type:
        """Nothing: types are not written."""
        return ANY

    def _list(self, value: list[Any], type_: Type) -> None:
        self._items(value, ANY)

    def _made_of(self, module: str, name: str, items: list[Any] | dict[Any, Any]) -> None:
        """What a class makes of a list or a dict."""
        self.stream.name(module, name)
        super()._anew(items, ANY)
        self.stream.close_tuple(1)
        self.stream.reduce()

    def _dict(self, value: dict[Any, Any], type_: Type) -> None:
        if isinstance(value, Counter):
            self._made_of("collections", "Counter", dict(value))
            return
        if isinstance(value, OrderedDict):
            self._ordered()
        else:
            self.stream.empty_dict()
        self.stream.begin_items()
        self._pairs(value.items(), ANY, ANY)
        self.stream.end_dict()

    def _ordered(self) -> None:
        self.stream.name("collections", "OrderedDict")
        self.stream.empty_tuple()
        self.stream.reduce()

