"""Weights as safetensors files: tensors by name, and nothing that could be run.

The library of that name (`pip install flambeau[safetensors]`) reads and writes the format; the functions are those of
its module for PyTorch.

    utils.safetensors.save_file(model.state_dict(), "model.safetensors")
    model.load_state_dict(utils.safetensors.load_file("model.safetensors"))
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import numpy as np

from flambeau.nn.module import Module
from flambeau.schema.dtype import ALL
from flambeau.tensor.tensor import Tensor, wrap

NEEDED: Final = "safetensors files need the library of that name: pip install safetensors"
NAMES: Final = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
    "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64", "uint16": "U16", "uint32": "U32",
    "uint64": "U64",
}  # fmt: skip
"""What the format calls our dtypes."""
SHARED: Final = (
    "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them "
    "again: {names}. A potential way to correctly save your model is to use `save_model`"
)
Path = str | os.PathLike[str]


def save_file(tensors: Mapping[str, Tensor], filename: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors to a file.

    Args:
        tensors: by name; their memory may not overlap.
        filename: the file.
        metadata: texts by name, written with them.

    Raises ImportError without the library, RuntimeError for tensors that share memory, ValueError for other values and
    for dtypes that the format does not have.
    """
    arrays = _arrays(tensors)
    _library(".numpy").save_file(arrays, filename, metadata=_checked(metadata))


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of such a file."""
    return bytes(_library(".numpy").save(_arrays(tensors), metadata=_checked(metadata)))


def load_file(filename: Path, device: str = "cpu") -> dict[str, Tensor]:
    """The tensors in a file. Raises ImportError without the library, its `SafetensorError` for a broken file."""
    with open(filename, "rb") as file:
        return load(file.read())


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a file."""
    by_name = {NAMES[d.name]: d for d in ALL if d.name in NAMES}
    tensors = {}
    for name, entry in _library().deserialize(data):
        dtype = by_name.get(entry["dtype"])
        if dtype is None:
            raise ValueError(f"{name}: there are no tensors of dtype {entry['dtype']} here")
        elements = np.frombuffer(bytearray(entry["data"]), dtype.numpy)
        tensors[name] = wrap(elements.reshape(entry["shape"]))
    return tensors


def save_model(model: Module, filename: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a model's state. Of tensors that are one, the first is written, and the metadata says what others are."""
    state, kept, noted = model.state_dict(), {}, dict(metadata or {})
    owners: dict[Any, str] = {}
    for name in sorted(state):
        tensor = state[name]
        key = (tensor._storage.address, tensor.storage_offset(), tuple(tensor.shape), tensor.dtype)
        owner = owners.setdefault(key, name) if tensor.numel() else name
        if owner == name:
            kept[name] = tensor.contiguous()
        else:
            noted[name] = owner
    save_file(kept, filename, noted or None)


def load_model(model: Module, filename: Path, strict: bool = True) -> tuple[set[str], list[str]]:
    """Load a model's state; the names that were missing and that were not expected.

    Raises RuntimeError as `load_state_dict` does, if `strict`. Names that the file's metadata says are others count as
    there.
    """
    tensors = load_file(filename)
    noted = _metadata(filename)
    tensors |= {name: tensors[owner] for name, owner in noted.items() if owner in tensors and name not in tensors}
    result = model.load_state_dict(tensors, strict=strict)
    return set(result.missing_keys), list(result.unexpected_keys)


def _metadata(filename: Path) -> dict[str, str]:
    """What a file says besides its tensors."""
    with _library().safe_open(filename, framework="numpy") as file:
        return file.metadata() or {}


def _library(part: str = "") -> Any:
    try:
        return import_module("safetensors" + part)
    except ImportError:
        raise ImportError(NEEDED) from None


def _checked(metadata: Mapping[str, str] | None) -> dict[str, str] | None:
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ValueError(f"metadata are texts by name, but {key!r} is {value!r}")
    return None if metadata is None else dict(metadata)


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Tensors as the library takes them. Raises ValueError and RuntimeError for those that it may not have."""
    names_by_storage: dict[int, list[str]] = {}
    arrays = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected Tensor but received {type(tensor)}")
        if tensor.numel():
            names_by_storage.setdefault(tensor._storage.identity, []).append(name)
        if tensor.dtype.name not in NAMES:
            raise ValueError(f"Key `{name}`: the format has no tensors of dtype {tensor.dtype.name}")
        arrays[name] = tensor.detach().contiguous()._array
    shared = [names for names in names_by_storage.values() if len(names) > 1]
    if shared:
        raise RuntimeError(SHARED.format(names=shared))
    return arrays
